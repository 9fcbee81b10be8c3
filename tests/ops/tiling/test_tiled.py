import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.scores import Rules
from keras_attn.ops.tiling.tiled import tiled_attention

BATCH, QUERY, KEY, HEADS, DEPTH = 2, 35, 45, 3, 4


@pytest.fixture
def heads(rng):
    return tuple(
        tf.constant(rng.normal(size=(BATCH, length, HEADS, DEPTH)), tf.float32)
        for length in (QUERY, KEY, KEY)
    )


def attend(query, key, value, *, tile, segments=None, **rules):
    return tiled_attention(
        Rules(scale=0.5, **rules),
        query,
        key,
        value,
        tf.range(query.shape[1])[None],
        tf.range(key.shape[1])[None],
        segments=segments,
        tile=tile,
    )


def with_gradients(heads, **options):
    with tf.GradientTape() as tape:
        tape.watch(heads)
        output = attend(*heads, **options)
        loss = tf.reduce_sum(tf.sin(output))
    return output, *tape.gradient(loss, heads)


@pytest.mark.parametrize("tile", [(35, 45), (1, 45), (35, 1), (8, 11), (99, 7)])
def test_the_size_of_the_tiles_does_not_matter(tile, heads):
    expected = with_gradients(heads, tile=(5, 5), causal=True, window=9)
    actual = with_gradients(heads, tile=tile, causal=True, window=9)
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-6)


def shapes_in(graph):
    """Static shapes of every tensor in a graph and in its functions."""
    for operation in graph.get_operations():
        yield from (tensor.shape for tensor in operation.outputs)
    for function in graph._functions.values():
        yield from shapes_in(function.graph)


def largest_tensor(step, heads):
    graph = step.get_concrete_function(*heads).graph
    return max(
        shape.num_elements() or 0
        for shape in shapes_in(graph)
        if shape.rank is not None
    )


# Four documents, the last one in the keys only.
SEGMENTS = tuple(
    tf.repeat(tf.minimum(tf.range(length) // 12 + 1, 4)[None], BATCH, axis=0)
    for length in (QUERY, KEY)
)


@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["one", "packed"])
def test_no_tensor_is_as_large_as_the_matrix(heads, segments):
    @tf.function
    def step(*heads):
        return with_gradients(heads, tile=(5, 5), segments=segments)

    inputs = max(tf.size(x).numpy() for x in heads)
    padded = inputs * 45 // 35  # either length, filled up to whole tiles
    assert largest_tensor(step, heads) <= padded
    assert padded < BATCH * HEADS * QUERY * KEY


def test_tiles_in_the_future_are_not_visited(heads):
    query, key, value = heads
    # Weighed as nothing, these would still give 0 · nan = nan.
    poison = tf.constant(np.where(np.arange(KEY) < 15, 0.0, np.nan), tf.float32)
    poisoned = value + poison[None, :, None, None]
    causal = attend(query, key, poisoned, tile=(5, 5), causal=True)
    assert np.isfinite(causal[:, :15]).all()
    assert np.isnan(causal[:, 15:]).all()


def test_tiles_outside_the_window_are_not_visited(heads):
    query, key, value = heads
    poison = tf.constant(
        np.where(np.arange(KEY) >= 10, 0.0, np.nan), tf.float32
    )
    poisoned = value + poison[None, :, None, None]
    windowed = attend(query, key, poisoned, tile=(5, 5), window=3)
    assert np.isfinite(windowed[:, 15:]).all()
    assert np.isnan(windowed[:, :10]).all()


def test_tiles_of_other_segments_are_not_visited(heads):
    query, key, value = heads
    # Documents of 12: the first fills tiles 0 to 2, the third starts in tile 4.
    poison = tf.constant(
        np.where(np.arange(KEY) >= 15, 0.0, np.nan), tf.float32
    )
    poisoned = value + poison[None, :, None, None]
    with tf.GradientTape() as tape:
        tape.watch(query)
        output = attend(query, key, poisoned, tile=(5, 5), segments=SEGMENTS)
        loss = tf.reduce_sum(output[:, 25:])
    assert np.isnan(output[:, :15]).all()
    assert np.isfinite(output[:, 25:]).all()
    assert np.isfinite(tape.gradient(loss, query)[:, 25:]).all()


def test_the_backward_pass_skips_them_too(heads):
    query, key, value = heads
    poison = tf.constant(np.where(np.arange(KEY) < 15, 0.0, np.nan), tf.float32)
    poisoned = value + poison[None, :, None, None]
    with tf.GradientTape() as tape:
        tape.watch(query)
        output = attend(query, key, poisoned, tile=(5, 5), causal=True)
        loss = tf.reduce_sum(output[:, :15])
    gradient = tape.gradient(loss, query).numpy()
    assert np.isfinite(gradient[:, :15]).all()


def test_a_second_derivative_is_the_derivative_of_the_first(rng):
    x = tf.constant(rng.normal(size=(1, 4, 1, 3)))  # float64

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(attend(x, x, x, tile=(2, 2)) ** 2)
        return tape.gradient(loss, x)

    direction = tf.constant(rng.normal(size=(1, 4, 1, 3)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        along = tf.reduce_sum(slope(x) * direction)
    second = tape.gradient(along, x)
    step = 1e-5
    expected = (slope(x + step * direction) - slope(x - step * direction)) / (
        2 * step
    )
    np.testing.assert_allclose(second, expected, rtol=1e-5, atol=1e-7)
