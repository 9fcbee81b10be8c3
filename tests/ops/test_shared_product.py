import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.loop_invariant import shared_product
from keras_attn.ops.recurrence import recur
from tests.loops import products_in_loops

MASK = np.array([[True, True, False, True], [False, True, True, False]])


@pytest.fixture
def tensors(rng):
    """Inputs, a weight, and a memory that each row has of its own."""
    shapes = [(2, 4, 3), (3, 5), (2, 5, 3)]
    return [tf.constant(rng.normal(size=shape)) for shape in shapes]


def make_step(weight, memory, product=shared_product):
    def step(x, states):
        (h,) = states
        asked = product(h, weight)[:, None]
        h = tf.tanh(x + product(asked, memory)[:, 0])
        return h, [h]

    return step


def last_of(x, weight, memory, mask=MASK, **options):
    start = [tf.ones_like(x[:, 0])]
    return recur(make_step(weight, memory), x, start, mask=mask, **options)[1][
        0
    ]


def unrolled(x, weight, memory, go_backwards=False):
    step, h = make_step(weight, memory, tf.matmul), tf.ones_like(x[:, 0])
    for t in reversed(range(4)) if go_backwards else range(4):
        h = tf.where(MASK[:, t, None], step(x[:, t], [h])[0], h)
    return h


def gradients(function, tensors, **options):
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        loss = tf.reduce_sum(function(*tensors, **options) ** 2)
    return tape.gradient(loss, tensors)


def test_outside_of_a_loop_it_is_a_product(tensors):
    x, weight, _ = tensors
    np.testing.assert_allclose(
        shared_product(x[:, 0], weight), x[:, 0].numpy() @ weight.numpy()
    )


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("go_backwards", [True, False])
def test_gradients_are_those_of_the_unrolled_steps(
    go_backwards, known, tensors
):
    options = {"go_backwards": go_backwards}
    function = tf.function(lambda *each: gradients(last_of, each, **options))
    x, weight, memory = (
        tf.TensorSpec(each.shape, each.dtype) for each in tensors
    )
    if not known:
        x, memory = (
            tf.TensorSpec([None, None, 3], each.dtype) for each in (x, memory)
        )
    actual = function.get_concrete_function(x, weight, memory)(*tensors)
    wanted = gradients(unrolled, tensors, **options)
    for each, other in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(each, other, atol=1e-12)
    # Eagerly, there is a tape for each step.
    for each, other in zip(
        gradients(last_of, tensors, **options), wanted, strict=True
    ):
        np.testing.assert_allclose(each, other, atol=1e-12)


def test_xla_has_the_same_gradients(tensors):
    function = tf.function(
        lambda *each: gradients(last_of, each), jit_compile=True
    )
    for each, other in zip(
        function(*tensors), gradients(unrolled, tensors), strict=True
    ):
        np.testing.assert_allclose(each, other, atol=1e-12)


def test_no_step_makes_the_gradient_of_what_they_share(tensors):
    function = tf.function(lambda *each: gradients(last_of, each))
    forward, backward = products_in_loops(function, *tensors)
    # Two products, and the gradients of what they multiply.
    assert len(forward) == len(backward) == 2, backward


def test_gradients_have_gradients(tensors):
    def second(function):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            first = gradients(function, tensors)
            norm = sum(tf.reduce_sum(each**2) for each in first)
        return tape.gradient(norm, tensors)

    actual = tf.function(lambda: second(last_of))()
    for each, other in zip(actual, second(unrolled), strict=True):
        np.testing.assert_allclose(each, other, atol=1e-10)


def test_what_a_step_made_itself_has_its_gradient_there(tensors):
    def own(x, states):
        (h,) = states
        h = tf.tanh(x + shared_product(h, tf.eye(3, dtype=x.dtype) * x[0]))
        return h, [h]

    def run(x):
        return recur(own, x, [tf.ones_like(x[:, 0])])[1][0]

    (graph,) = tf.function(lambda x: gradients(run, [x]))(tensors[0])
    (eager,) = gradients(run, tensors[:1])
    np.testing.assert_allclose(graph, eager)
