"""Padding changes nothing: through a stack, in every mode and precision."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.multi_head import MultiHeadAttention

IDS = np.array([[7, 3, 1, 4, 2], [5, 6, 2, 0, 0]])  # the second is shorter
ANY_LENGTH = [tf.TensorSpec((None, None), "int32")]
MODES = {
    "eager": lambda model: model,
    "graph": lambda model: tf.function(model, input_signature=ANY_LENGTH),
    "xla": lambda model: tf.function(model, jit_compile=True),
}


def stack(implementation, dtype="float32"):
    """Four layers of self-attention on an embedding that masks id 0."""
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 8, mask_zero=True, dtype=dtype)(ids)
    for _ in range(4):
        look = MultiHeadAttention(
            2,
            4,
            implementation=implementation,
            bias_initializer="random_normal",
            dtype=dtype,
        )
        x = keras.layers.Add(dtype=dtype)([x, look(x, x)])
        x = keras.layers.LayerNormalization(dtype=dtype)(x)
    return keras.Model(ids, x)


@pytest.mark.parametrize(
    ("implementation", "mode"),
    [
        ("dense", "eager"),
        ("dense", "graph"),
        ("dense", "xla"),
        ("tiled", "eager"),
        ("tiled", "graph"),
        pytest.param("tiled", "xla", marks=pytest.mark.slow),
    ],
)
def test_pads_do_not_move_what_is_real(implementation, mode):
    model = stack(implementation)
    expected = model(IDS).numpy()
    run = MODES[mode](model)
    real = IDS != 0
    for pads in (0, 2, 10, 54):
        padded = np.pad(IDS, [(0, 0), (0, pads)])
        found = run(tf.constant(padded, "int32"))[:, : IDS.shape[1]]
        assert np.abs(found - expected)[real].max() <= 1e-5


def test_the_pads_of_a_row_do_not_depend_on_its_batch():
    model = stack("dense")
    alone = model(IDS[1:, :3])
    np.testing.assert_allclose(model(IDS)[1:, :3], alone, atol=1e-5)


@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_what_stands_at_pads_gets_no_gradient(implementation, rng):
    layer = MultiHeadAttention(2, 3, implementation=implementation)
    x = tf.constant(rng.normal(size=(2, 5, 6)), "float32")
    x._keras_mask = tf.constant(IDS != 0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x, x) ** 2)
    gradient = np.abs(tape.gradient(loss, x)).sum(-1)
    np.testing.assert_array_equal(gradient > 0, IDS != 0)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_half_precision_stays_finite_when_a_row_is_all_padding(
    implementation, dtype
):
    model = stack(implementation, dtype)
    ids = np.pad(IDS, [(0, 1), (0, 10)])  # a third row without a token
    with tf.GradientTape() as tape:
        output = model(ids)
        loss = tf.reduce_sum(tf.cast(output, "float32") ** 2)
    weights = [weight.value for weight in model.trainable_weights]
    for x in (output, *tape.gradient(loss, weights)):
        x = tf.cast(tf.convert_to_tensor(x), "float32")
        assert np.isfinite(x).all()


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_half_precision_stays_finite_when_heads_are_large(
    implementation, dtype, rng
):
    signs = rng.choice([-1.0, 1.0], size=(2, 5, 64))
    mask = np.ones((2, 5, 5), "bool")
    mask[0, 2] = False
    found = {}
    for policy in ("float32", dtype):
        layer = MultiHeadAttention(
            1, 64, implementation=implementation, dtype=policy
        )
        layer.build(signs.shape, signs.shape)
        for dense in (layer.query_dense, layer.key_dense):
            dense.kernel.assign(33.0 * np.eye(64)[:, None])  # q = k = ±33
        for dense in (layer.value_dense, layer.output_dense):
            dense.kernel.assign(np.eye(64).reshape(dense.kernel.shape))
        x = tf.constant(signs, "float32")
        with tf.GradientTape() as tape:
            output = layer(x, x, attention_mask=mask)
            loss = tf.reduce_sum(tf.cast(output, "float32") ** 2)
        weights = [weight.value for weight in layer.trainable_weights]
        for gradient in tape.gradient(loss, weights):
            assert np.isfinite(gradient).all()
        found[policy] = tf.cast(output, "float32")
    np.testing.assert_allclose(found[dtype], found["float32"], atol=0.02)
