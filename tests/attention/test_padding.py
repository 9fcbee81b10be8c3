"""Padding changes nothing: through a stack, in every mode and precision."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import layers
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.padding import without_padding

IDS = np.array([[7, 3, 1, 4, 2], [5, 6, 2, 0, 0]])  # the second is shorter
ANY_LENGTH = [tf.TensorSpec((None, None), "int32")]
MODES = {
    "eager": lambda model: model,
    "graph": lambda model: tf.function(model, input_signature=ANY_LENGTH),
    "xla": lambda model: tf.function(model, autograph=False, jit_compile=True),
}


def stack(implementation, dtype="float32"):
    """Self-attention twice, so that what leaks once is seen by the second."""
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 8, mask_zero=True, dtype=dtype)(ids)
    for _ in range(2):
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


def inputs_of(rng, **lengths):
    """Inputs of these lengths, 6 wide, and which of their places are real."""
    inputs, real = {}, {}
    for name, length in lengths.items():
        inputs[name] = rng.normal(size=(2, length, 6)).astype("float32")
        real[name] = np.ones((2, length), "bool")
        real[name][0, -2:] = False
        real[name][1, 0] = False
    return inputs, real


def output_and_gradients(call, layer, inputs, real):
    """The output at real places, and the gradients of everything else."""
    tensors = {name: tf.constant(x) for name, x in inputs.items()}
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        output = call(layer, tensors, real)
        if len(output.shape) == 3:
            output = tf.boolean_mask(output, next(iter(real.values())))
        loss = tf.reduce_sum(output**2)
    weights = [weight.value for weight in layer.trainable_weights]
    gradients = tape.gradient(loss, {"inputs": tensors, "weights": weights})
    for name, gradient in gradients["inputs"].items():
        assert not np.any(gradient[~real[name]])
    return output, gradients


def crossing(layer, tensors, real):
    masks = {f"{name}_mask": mask for name, mask in real.items()}
    return layer(**tensors, **masks)


def carried(layer, tensors, real):
    for name, x in tensors.items():
        x._keras_mask = tf.constant(real[name])
    return layer(**tensors)


def looking_at_itself(layer, tensors, real):
    x, mask = tensors["query"], real["query"]
    return layer(x, x, query_mask=mask, value_mask=mask)


def decoding(layer, tensors, real):
    return layer(
        tensors["inputs"],
        tensors["memory"],
        mask=real["inputs"],
        memory_mask=real["memory"],
    )


TWO, THREE = {"query": 4, "value": 5}, {"query": 4, "value": 5, "key": 5}
ONE = {"inputs": 5}
ORDER = ["qk_norm", "rotary"]
NAN = {
    "multi_head": (crossing, TWO, "MultiHeadAttention", (2, 4), {}),
    "multi_head_tiled": (
        *(crossing, THREE, "MultiHeadAttention", (2, 4)),
        {"implementation": "tiled", "num_kv_heads": 1, "modifiers": ORDER},
    ),
    "multi_head_gate": (
        *(looking_at_itself, {"query": 4}, "MultiHeadAttention", (2, 4)),
        {"use_gate": True},
    ),
    "multi_head_carried": (carried, THREE, "MultiHeadAttention", (2, 4), {}),
    "dot": (crossing, TWO, "DotAttention", (), {"key_projection": "tanh"}),
    "dot_carried": (carried, THREE, "DotAttention", (), {}),
    "additive": (crossing, THREE, "AdditiveAttention", (3,), {}),
    "multiplicative": (
        *(crossing, TWO, "MultiplicativeAttention", ()),
        {"units": 3, "value_projection": "linear"},
    ),
    "local_p": (crossing, TWO, "LocalAttention", (2,), {}),
    "local_m": (
        *(carried, THREE, "LocalAttention", (2,)),
        {"alignment": "monotonic", "score": "dot"},
    ),
    "location": (crossing, THREE, "LocationSensitiveAttention", (3,), {}),
    "self": (carried, ONE, "SelfAttention", (4,), {"use_bias": True}),
    "pooling": (carried, ONE, "AttentionPooling", (4,), {}),
    "encoder_post": (carried, ONE, "EncoderBlock", (2, 7), {}),
    "encoder_pre": (
        *(carried, ONE, "EncoderBlock", (2, 7)),
        {"norm": "pre", "normalization": "rms", "layer_scale": 0.5},
    ),
    "decoder": (
        *(decoding, {"inputs": 4, "memory": 5}, "DecoderBlock", (2, 7)),
        {"activation": "swiglu"},
    ),
}


@pytest.mark.parametrize("number", [np.nan, np.inf], ids=str)
@pytest.mark.parametrize("case", NAN)
def test_what_is_not_a_number_stays_where_it_is_padding(case, number, rng):
    call, lengths, name, sizes, init = NAN[case]
    layer = getattr(layers, name)(*sizes, **init)
    inputs, real = inputs_of(rng, **lengths)
    expected = output_and_gradients(call, layer, inputs, real)
    for name, x in inputs.items():
        x[~real[name]] = number
    found = output_and_gradients(call, layer, inputs, real)
    keras.tree.map_structure(
        lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5),
        found,
        expected,
    )


def test_one_tensor_under_one_mask_stays_one(rng):
    x = tf.constant(rng.normal(size=(2, 3, 4)))
    mask = tf.constant([[True, True, False], [False, True, True]])
    query, value, key = without_padding(
        x, x, x, query_mask=mask, value_mask=mask
    )
    assert query is value is key
    np.testing.assert_array_equal(query, x * tf.cast(mask, x.dtype)[..., None])
    assert without_padding(x, x, x) == (x, x, x)


def test_either_mask_hides_the_key_and_the_value(rng):
    x, y = tf.constant(rng.normal(size=(2, 1, 3, 4)))
    query, value, key = without_padding(
        x,
        x,
        y,
        value_mask=np.array([[True, True, False]]),
        key_mask=np.array([[False, True, True]]),
    )
    assert query is x
    middle = np.array([[[0.0], [1.0], [0.0]]])
    np.testing.assert_array_equal(value, x * middle)
    np.testing.assert_array_equal(key, y * middle)
