import numpy as np
import pytest
import tensorflow as tf

from keras_attn.models.prompts import as_rows
from keras_attn.models.prompts import before_last
from keras_attn.models.prompts import lengths_of


@pytest.mark.parametrize("pad_id", [0, 9])
@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])
def test_ragged_and_filled_up_prompts_are_the_same(pad_id, in_graph):
    read = lambda x: lengths_of(x, pad_id)  # noqa: E731
    if in_graph:
        read = tf.function(read)
    rows = [[3, 4], [], [5, 6, 7]]
    filled = [row + [pad_id] * (4 - len(row)) for row in rows]
    tokens, lengths = read(tf.ragged.constant(rows, dtype=tf.int64))
    np.testing.assert_array_equal(lengths, [2, 0, 3])
    np.testing.assert_array_equal(tokens, np.array(filled)[:, :3])
    tokens, lengths = read(tf.constant(filled))
    np.testing.assert_array_equal(lengths, [2, 0, 3])
    np.testing.assert_array_equal(tokens, filled)
    assert tokens.dtype == lengths.dtype == tf.int32


def test_without_a_pad_id_all_are_tokens():
    tokens, lengths = lengths_of(np.array([[0, 0, 1], [2, 0, 0]]), None)
    np.testing.assert_array_equal(lengths, [3, 3])
    ragged = tf.ragged.constant([[1], [2, 3]])
    tokens, lengths = lengths_of(ragged, None)
    np.testing.assert_array_equal(tokens, [[1, 0], [2, 3]])
    np.testing.assert_array_equal(lengths, [1, 2])


def test_lengths_may_be_given():
    given = {"tokens": np.array([[0, 5, 6]]), "lengths": np.array([2])}
    tokens, lengths = lengths_of(given, 0)
    np.testing.assert_array_equal(tokens, [[0, 5, 6]])
    np.testing.assert_array_equal(lengths, [2])
    assert tokens.dtype == lengths.dtype == tf.int32
    given["tokens"] = tf.ragged.constant([[0, 5, 6], [7]])
    given["lengths"] = np.array([2, 1])
    tokens, lengths = lengths_of(given, None)
    np.testing.assert_array_equal(tokens, [[0, 5, 6], [7, 0, 0]])
    np.testing.assert_array_equal(lengths, [2, 1])


@pytest.mark.parametrize("form", ["ragged", "dense"])
def test_a_dictionary_is_its_tokens(form):
    ids = tf.ragged.constant([[3], [5, 6]])
    ids = ids.to_tensor(9) if form == "dense" else ids
    tokens, lengths = lengths_of({"tokens": ids}, 9)
    np.testing.assert_array_equal(tokens, [[3, 9], [5, 6]])
    np.testing.assert_array_equal(lengths, [1, 2])


def test_ragged_ids_become_rows_and_others_stay():
    ragged, dense = tf.ragged.constant([[3], [5, 6]]), np.array([[1, 2]])
    rows = as_rows({"tokens": ragged, "segments": ragged, "other": dense}, 9)
    np.testing.assert_array_equal(rows["tokens"], [[3, 9], [5, 6]])
    np.testing.assert_array_equal(rows["segments"], [[3, 0], [5, 6]])
    assert rows["other"] is dense
    assert as_rows(dense, None) is dense
    with pytest.raises(ValueError, match="this model has pad_id=None"):
        as_rows(ragged, None)


@pytest.mark.parametrize("row", [[0, 3, 4], [3, 0, 4]], ids=["left", "between"])
@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])
def test_padding_before_a_token_is_refused(row, in_graph):
    read = lambda x: lengths_of(x, 0)  # noqa: E731
    if in_graph:
        read = tf.function(read)
    prompts = tf.constant([[1, 2, 0], row])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="pad_id=0, comes after"
    ):
        read(prompts)


def test_a_prompt_is_parted_before_its_last_token():
    tokens, lengths = np.array([[3, 4, 0], [9, 9, 9], [5, 6, 7]]), [2, 0, 3]
    before, last = before_last(tokens, np.array(lengths), 8)
    np.testing.assert_array_equal(before["tokens"], tokens)
    np.testing.assert_array_equal(before["lengths"], [1, 0, 2])
    np.testing.assert_array_equal(last, [4, 8, 7])
    _, last = before_last(np.zeros((2, 0), "int32"), np.array([0, 0]), 8)
    np.testing.assert_array_equal(last, [8, 8])
