"""Who is measured: each function makes a step that takes no arguments.

Frameworks are imported inside, so that a process loads only what it measures.
"""

import os

import numpy as np

from benchmarks.cases import BATCH
from benchmarks.cases import DEPTH
from benchmarks.cases import HEADS
from benchmarks.cases import Case

CORES = len(os.sched_getaffinity(0))


def use_all_cores(side: str):
    """Import the framework of a side, and give it a thread for each core.

    TensorFlow takes no such orders once it has made its first tensor.
    """
    if side == "torch":
        import torch

        torch.set_num_threads(CORES)
    else:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(CORES)
        tf.config.threading.set_inter_op_parallelism_threads(CORES)


def ours(case: Case):
    """`keras_attn.ops.attention` in a plain `tf.function`."""
    from keras_attn.ops import attention

    return _op_step(attention, case, causal=case.causal)


def ours_xla(case: Case):
    """`keras_attn.ops.attention` in a `tf.function` compiled by XLA."""
    from keras_attn.ops import attention

    return _op_step(attention, case, jit_compile=True, causal=case.causal)


def keras_op(case: Case):
    """`keras.ops.dot_product_attention` in a plain `tf.function`."""
    import keras

    return _op_step(
        keras.ops.dot_product_attention, case, is_causal=case.causal
    )


def our_layer(case: Case):
    """`keras_attn.layers.MultiHeadAttention`, projections included."""
    from keras_attn.layers import MultiHeadAttention

    return _layer_step(MultiHeadAttention(HEADS, DEPTH), case)


def keras_layer(case: Case):
    """`keras.layers.MultiHeadAttention`, projections included."""
    import keras

    return _layer_step(keras.layers.MultiHeadAttention(HEADS, DEPTH), case)


def torch_sdpa(case: Case):
    """`torch.nn.functional.scaled_dot_product_attention`, its own layout."""
    import torch

    shape = (BATCH, HEADS, case.length, DEPTH)
    query, key, value, output_gradient = map(torch.tensor, _normal(shape, 4))
    inputs = [x.requires_grad_(case.backward) for x in (query, key, value)]

    def step():
        output = torch.nn.functional.scaled_dot_product_attention(
            *inputs, is_causal=case.causal
        )
        if not case.backward:
            return output
        return output, torch.autograd.grad(output, inputs, output_gradient)

    return step


SIDES = {
    "ours": ours,
    "ours_xla": ours_xla,
    "keras_op": keras_op,
    "torch": torch_sdpa,
    "our_layer": our_layer,
    "keras_layer": keras_layer,
}

# These form the (query, key) matrix, so they cannot take every length.
DENSE = ("keras_op", "keras_layer")


def _op_step(attend, case, *, jit_compile=False, **options):
    shape = (BATCH, case.length, HEADS, DEPTH)
    *inputs, output_gradient = _normal(shape, 4)
    return _tensorflow_step(
        lambda *heads: attend(*heads, **options),
        inputs,
        output_gradient,
        (),
        backward=case.backward,
        jit_compile=jit_compile,
    )


def _layer_step(layer, case):
    shape = (BATCH, case.length, HEADS * DEPTH)
    features, output_gradient = _normal(shape, 2)
    layer.build(shape, shape)
    return _tensorflow_step(
        lambda x: layer(x, x, use_causal_mask=case.causal),
        [features],
        output_gradient,
        [weight.value for weight in layer.trainable_weights],
        backward=case.backward,
    )


def _tensorflow_step(
    attend, inputs, output_gradient, weights, *, backward, jit_compile=False
):
    import tensorflow as tf

    inputs = [tf.constant(x) for x in inputs]
    output_gradient = tf.constant(output_gradient)

    @tf.function(jit_compile=jit_compile)
    def step(inputs, output_gradient):
        if not backward:
            return attend(*inputs)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = attend(*inputs)
        # Without the output among the results, TensorFlow would prune the
        # half of the forward pass that the gradient does not need.
        return output, tape.gradient(
            output, [*inputs, *weights], output_gradient
        )

    return lambda: step(inputs, output_gradient)


def _normal(shape, count):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, "float32") for _ in range(count)]
