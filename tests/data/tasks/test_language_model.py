import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.batching import batches
from keras_attn.data.tasks.language_model import language_model
from keras_attn.text.byte import ByteTokenizer
from keras_attn.text.character import CharacterTokenizer

PAD, END = 0, 3


def texts(*documents):
    return tf.data.Dataset.from_tensor_slices({"text": list(documents)})


def letters(text):
    return ByteTokenizer()(text).numpy().tolist()


def test_the_next_window_goes_on_where_the_last_stopped():
    windows = language_model(texts("abc", "defg"), ByteTokenizer(), length=4)
    (first, first_labels), (second, labels) = windows.as_numpy_iterator()
    assert first["tokens"].tolist() == [*letters("abc"), END]
    assert first_labels.tolist() == [*letters("bc"), END, *letters("d")]
    assert first_labels[-1] == second["tokens"][0]
    assert labels.tolist() == [*letters("efg"), END]


def test_packed_labels_stop_at_the_end_of_a_document():
    windows = language_model(
        texts("a", "bc", "d"), ByteTokenizer(), length=6, packed=True
    )
    (first, first_labels), (second, _) = windows.as_numpy_iterator()
    assert first["tokens"].tolist() == [
        *letters("a"),
        END,
        *letters("bc"),
        END,
        PAD,
    ]
    assert first["segments"].tolist() == [1, 1, 2, 2, 2, 0]
    assert first_labels.tolist() == [END, PAD, *letters("c"), END, PAD, PAD]
    assert second["segments"].tolist() == [1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("packed", [False, True])
def test_without_segments_the_ids_come_alone(packed):
    windows = language_model(
        texts("abcdef"),
        ByteTokenizer(),
        length=3,
        packed=packed,
        segments=False,
    )
    ids = tf.TensorSpec((3,), tf.int32)
    assert windows.element_spec == (ids, ids)
    tokens, labels = next(iter(windows))
    assert tokens.numpy().tolist() == letters("abc")
    assert labels.numpy().tolist() == letters("bcd")


@pytest.mark.parametrize("packed", [False, True])
def test_a_document_of_a_megabyte_is_read_whole(packed, rng):
    text = rng.integers(32, 127, 2**20).astype("uint8").tobytes()
    windows = language_model(
        texts(b"first", text, b"last"),
        ByteTokenizer(),
        length=4096,
        packed=packed,
    )
    real = [
        inputs["tokens"][inputs["segments"] > 0]
        for inputs, _ in windows.as_numpy_iterator()
    ]
    read = np.concatenate(real)
    # END is 3, and the bytes of the text begin at 5.
    assert bytes((read[read > 3] - 5).astype("uint8")) == (
        b"first" + text + b"last"
    )
    assert (read == END).sum() == 3


def test_batches_of_windows_have_known_shapes():
    windows = language_model(texts("abcdefghij"), ByteTokenizer(), length=3)
    inputs, labels = batches(windows, 2).element_spec
    assert inputs["tokens"].shape == inputs["segments"].shape == (2, 3)
    assert labels.shape == (2, 3)


def test_no_texts_give_no_windows():
    windows = language_model(texts("a").take(0), ByteTokenizer(), length=3)
    assert list(windows) == []


def test_the_corpus_is_read_as_a_stream():
    endless = texts("abc", "de").repeat()
    windows = language_model(endless, ByteTokenizer(), length=5)
    assert len(list(windows.take(30))) == 30


@pytest.mark.parametrize("packed", [False, True])
def test_a_saved_iterator_resumes_at_the_same_window(packed, tmp_path):
    data = texts(*[str(number) * 3 for number in range(40)])

    def dataset():
        windows = language_model(
            data, ByteTokenizer(), length=5, packed=packed, segments=False
        )
        return batches(windows, 2, shuffle=4)

    whole = [tokens.numpy().tolist() for tokens, _ in dataset()]
    iterator = iter(dataset())
    seen = [next(iterator)[0].numpy().tolist() for _ in range(6)]
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    resumed = iter(dataset())
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    assert seen + [tokens.numpy().tolist() for tokens, _ in resumed] == whole
    assert len(whole) > 10


def test_only_packed_windows_need_padding():
    tokenizer = CharacterTokenizer(["[UNK]", "[END]", "a", "b"])
    windows = language_model(texts("ab", "a"), tokenizer, length=2)
    assert [tokens["tokens"].numpy().tolist() for tokens, _ in windows] == [
        [2, 3],
        [1, 2],
    ]
    with pytest.raises(ValueError, match="no PAD token"):
        language_model(texts("ab"), tokenizer, length=2, packed=True)


@pytest.mark.parametrize("length", [0, -1, 2.5])
def test_a_length_that_is_none_is_refused(length):
    with pytest.raises(ValueError, match="`length` must be an integer of at"):
        language_model(texts("a"), ByteTokenizer(), length=length)
