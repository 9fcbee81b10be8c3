import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline import windows

PAD, END = 0, 9


def documents(*rows):
    ragged = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
    dataset = tf.data.Dataset.from_tensor_slices(ragged)
    return dataset.map(lambda row: row)


def written(dataset):
    return [
        (
            inputs["tokens"].tolist(),
            inputs["segments"].tolist(),
            labels.tolist(),
        )
        for inputs, labels in dataset.as_numpy_iterator()
    ]


def test_contiguous_windows_by_hand():
    data = documents([1, 2, 3, END], [4, END], [END], [5, 6, END])
    assert written(windows.contiguous(data, 4, PAD)) == [
        ([1, 2, 3, END], [1, 1, 1, 1], [2, 3, END, 4]),
        ([4, END, END, 5], [1, 1, 2, 3], [END, END, 5, 6]),
        ([6, END, PAD, PAD], [1, 1, 0, 0], [END, PAD, PAD, PAD]),
    ]


def test_packed_windows_by_hand():
    data = documents([1, 2, END], [3, END], [4, END], [5, 6, 7, 8, 1, 2, END])
    assert written(windows.packed(data, 5, PAD)) == [
        ([1, 2, END, 3, END], [1, 1, 1, 2, 2], [2, END, PAD, END, PAD]),
        ([4, END, PAD, PAD, PAD], [1, 1, 0, 0, 0], [END, PAD, PAD, PAD, PAD]),
        ([5, 6, 7, 8, 1], [1, 1, 1, 1, 1], [6, 7, 8, 1, 2]),
        ([2, END, PAD, PAD, PAD], [1, 1, 0, 0, 0], [END, PAD, PAD, PAD, PAD]),
    ]


def test_a_document_follows_the_last_piece_of_a_long_one():
    data = documents([1, 2, 3, 4, END], [5, END], [6, END])
    assert written(windows.packed(data, 4, PAD)) == [
        ([1, 2, 3, 4], [1, 1, 1, 1], [2, 3, 4, END]),
        ([END, 5, END, PAD], [1, 2, 2, 0], [PAD, END, PAD, PAD]),
        ([6, END, PAD, PAD], [1, 1, 0, 0], [END, PAD, PAD, PAD]),
    ]


@pytest.mark.parametrize("make", [windows.contiguous, windows.packed])
def test_shapes_are_known_before_the_first_window(make):
    ids = tf.TensorSpec((3,), tf.int32)
    spec = make(documents([1, END]), 3, PAD).element_spec
    assert spec == ({"tokens": ids, "segments": ids}, ids)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_contiguous_windows_hold_the_stream(length, count, rng):
    rows = [
        [*rng.integers(1, 9, rng.integers(0, 12)), END] for _ in range(count)
    ]
    stream = np.concatenate(rows)
    out = written(windows.contiguous(documents(*rows), length, PAD))
    tokens = np.concatenate([window[0] for window in out])
    labels = np.concatenate([window[2] for window in out])
    size = len(stream) - 1
    assert tokens[:size].tolist() == stream[:-1].tolist()
    assert labels[:size].tolist() == stream[1:].tolist()
    assert not labels[size:].any()
    assert len(out) == -(-size // length)
    numbers = np.repeat(np.arange(count), [len(row) for row in rows])
    for start, (_, segments, _) in enumerate(out):
        real = numbers[start * length : (start + 1) * length]
        assert segments[: len(real)] == (real - real[0] + 1).tolist()
        assert not any(segments[len(real) :])


@pytest.mark.parametrize("length", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_packed_windows_hold_every_document(length, count, rng):
    rows = [
        [*rng.integers(1, 9, rng.integers(0, 12)).tolist(), END]
        for _ in range(count)
    ]
    read, foretold = [], []
    for tokens, segments, labels in written(
        windows.packed(documents(*rows), length, PAD)
    ):
        real = np.array(segments) > 0
        assert sorted(segments, key=lambda n: n or 99) == segments
        assert set(np.diff(np.array(segments)[real])) <= {0, 1}
        assert not np.array(tokens)[~real].any()
        assert not np.array(labels)[~real].any()
        read += np.array(tokens)[real].tolist()
        foretold += np.array(labels)[real].tolist()
    assert read == [token for row in rows for token in row]
    assert foretold == [label for row in rows for label in [*row[1:], PAD]]


@pytest.mark.parametrize("make", [windows.contiguous, windows.packed])
def test_no_documents_give_no_windows(make):
    assert written(make(documents([1]).take(0), 3, PAD)) == []


def test_a_last_token_with_nothing_to_foretell_makes_no_window():
    assert written(windows.contiguous(documents([END]), 3, PAD)) == []
    assert len(written(windows.contiguous(documents([1, 2, END]), 2, PAD))) == 1


def test_without_padding_the_last_window_must_be_full():
    data = documents([1, 2, 3, END], [4, END])
    assert written(windows.contiguous(data, 4, None)) == [
        ([1, 2, 3, END], [1, 1, 1, 1], [2, 3, END, 4])
    ]


@pytest.mark.parametrize("make", [windows.contiguous, windows.packed])
def test_an_iterator_resumes_within_a_document(make, tmp_path):
    data = make(documents([1, 2, 3, END], [4] * 20, [5, END], [6, END]), 3, PAD)
    whole = written(data)
    iterator = iter(data)
    for _ in range(4):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    resumed = iter(data)
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    rest = [labels.numpy().tolist() for _, labels in resumed]
    assert rest == [labels for _, _, labels in whole[4:]] and rest
