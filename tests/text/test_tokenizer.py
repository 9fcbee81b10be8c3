import pytest
import tensorflow as tf

from keras_attn.text import ByteTokenizer
from keras_attn.text import CharacterTokenizer
from keras_attn.text import Tokenizer
from keras_attn.text.special_tokens import DEFAULT

PAD, UNKNOWN, START, END, MASK = range(5)


@pytest.fixture
def tokenizer():
    return CharacterTokenizer([*DEFAULT, *"abc"])  # a is 5


def test_special_tokens_have_their_ids(tokenizer):
    assert tokenizer.pad_id == PAD and tokenizer.start_id == START
    assert tokenizer.end_id == END and tokenizer.mask_id == MASK
    assert tokenizer.unknown_id == UNKNOWN


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({}, [[START, 5, 6, END, PAD], [START, END, PAD, PAD, PAD]]),
        ({"start": False}, [[5, 6, END, PAD, PAD], [END, PAD, PAD, PAD, PAD]]),
        ({"end": False}, [[START, 5, 6, PAD, PAD], [START] + [PAD] * 4]),
        ({"start": False, "end": False}, [[5, 6] + [PAD] * 3, [PAD] * 5]),
    ],
)
def test_rows_are_framed_and_padded(tokenizer, options, rows):
    texts = ["ab", ""]
    assert tokenizer.to_dense(texts, 5, **options).numpy().tolist() == rows
    ids = tokenizer(texts)
    assert tokenizer.to_dense(ids, 5, **options).numpy().tolist() == rows
    one = tokenizer.to_dense("ab", 5, **options)
    assert one.numpy().tolist() == rows[0]
    dense = tf.constant([[5, 6]])
    one = tokenizer.to_dense(dense, 5, **options)
    assert one.numpy().tolist() == rows[:1]


def test_a_text_that_is_too_long_is_an_error_unless_it_may_be_cut(tokenizer):
    assert tokenizer.to_dense("abc", 5).shape == (5,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="truncate=True"):
        tokenizer.to_dense(["a", "abc"], 4)
    rows = tokenizer.to_dense(["abc", "a"], 4, truncate=True).numpy().tolist()
    assert rows == [[START, 5, 6, END], [START, 5, END, PAD]]
    rows = tokenizer.to_dense(["abc"], 2, truncate=True).numpy().tolist()
    assert rows == [[START, END]]


def test_the_length_of_rows_is_known_before_they_are_made(tokenizer):
    texts = tf.data.Dataset.from_tensor_slices(["ab", "c"]).batch(2)
    rows = texts.map(lambda text: tokenizer.to_dense(text, 7))
    assert rows.element_spec.shape[1] == 7


def test_no_row_gives_no_row(tokenizer):
    assert tokenizer.to_dense(tf.zeros([0], tf.string), 4).shape == (0, 4)


def test_room_for_the_frame_is_needed(tokenizer):
    with pytest.raises(ValueError, match="room for START and END"):
        tokenizer.to_dense(["a"], 1)


def test_a_grid_of_texts_has_no_rows(tokenizer):
    with pytest.raises(ValueError, match="ids of 3 axes"):
        tokenizer.to_dense([["a"], ["b"]], 4)


def test_padding_needs_a_token():
    tokenizer = CharacterTokenizer(["a", "[UNK]", "[END]"])
    assert tokenizer.pad_id is None
    with pytest.raises(ValueError, match=r'special_tokens=\{"pad": ...\}'):
        tokenizer.to_dense(["a"], 4, start=False)
    with pytest.raises(ValueError, match="no START token"):
        tokenizer.to_dense(["a"], 4)


def test_special_tokens_are_left_out_of_text_unless_asked_for(tokenizer):
    ids = [[START, 5, MASK, UNKNOWN, 6, END, PAD]]
    assert tokenizer.detokenize(ids).numpy().tolist() == [b"a[UNK]b"]
    kept = tokenizer.detokenize(ids, keep_special=True).numpy().tolist()
    assert kept == [b"[START]a[MASK][UNK]b[END][PAD]"]


def test_numbers_are_not_text(tokenizer):
    with pytest.raises(ValueError, match=r"takes strings.*int32"):
        tokenizer([1, 2])
    with pytest.raises(ValueError, match="axis of tokens"):
        tokenizer.detokenize(5)


def test_the_number_of_axes_must_be_known(tokenizer):
    unknown = tf.TensorSpec(None, tf.string)
    with pytest.raises(ValueError, match="number of axes"):
        tf.function(tokenizer).get_concrete_function(unknown)


def test_a_saved_model_carries_the_vocabulary_as_an_asset(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = tokenizer
    module.go = tf.function(
        lambda text: tokenizer.to_dense(text, 4),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path / "model"))
    assets = list((tmp_path / "model" / "assets").iterdir())
    assert [path.name for path in assets] == ["characters.txt"]
    (tmp_path / "model").rename(tmp_path / "moved")
    loaded = tf.saved_model.load(str(tmp_path / "moved"))
    assert loaded.go(["ab"]).numpy().tolist() == [[START, 5, 6, END]]


def test_one_kind_does_not_load_another(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    with pytest.raises(ValueError, match="holds a CharacterTokenizer, not a"):
        ByteTokenizer.load(tmp_path)
    assert isinstance(Tokenizer.load(tmp_path), CharacterTokenizer)
