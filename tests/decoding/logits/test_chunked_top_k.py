"""The largest logits, in chunks or not."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.logits.chunked_top_k import CHUNK
from keras_attn.decoding.logits.chunked_top_k import in_chunks
from keras_attn.decoding.logits.chunked_top_k import likeliest


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize("number", [1, 3, 7])
@pytest.mark.parametrize("vocabulary", [7, 4096, 5001])
def test_equals_a_stable_sort(rng, vocabulary, number, jit_compile):
    # So few values that most are tied.
    logits = rng.integers(-20, 20, size=(4, vocabulary)).astype("float32")
    run = tf.function(
        lambda x: likeliest(x, number), autograph=False, jit_compile=jit_compile
    )
    values, ids = run(logits)
    expected = np.argsort(-logits, axis=-1, kind="stable")[:, :number]
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(
        values, np.take_along_axis(logits, expected, axis=-1)
    )


def test_equal_logits_are_ranked_by_id_across_chunks():
    logits = np.zeros((1, 5001), "float32")
    logits[0, 4000] = 1.0
    _, ids = likeliest(tf.constant(logits), 3)
    assert ids.numpy().tolist() == [[4000, 0, 1]]


def test_a_large_vocabulary_goes_through_chunks():
    graph = tf.function(lambda x: likeliest(x, 3)).get_concrete_function(
        tf.TensorSpec([None, 5001])
    )
    sizes = [
        op.inputs[0].shape[-1]
        for op in graph.graph.get_operations()
        if op.type == "TopKV2"
    ]
    assert max(sizes) == 3 * CHUNK


def test_nan_gives_ids_of_the_vocabulary(rng):
    logits = rng.normal(size=(50, 40)).astype("float32")
    logits[rng.uniform(size=logits.shape) < 0.5] = np.nan
    for number in (3, 40):
        _, ids = likeliest(tf.constant(logits), number)
        assert ids.numpy().min() >= 0 and ids.numpy().max() < 40
    np.testing.assert_array_equal(np.sort(ids), [range(40)] * 50)


def test_chunks_end_in_filler():
    chunks = in_chunks(tf.constant([[1, 2, 3, 4, 5]]), 3, 9)
    assert chunks.numpy().tolist() == [[[1, 2, 3], [4, 5, 9]]]
    assert in_chunks(tf.zeros([2, 6]), 3, 0).shape == (2, 2, 3)
