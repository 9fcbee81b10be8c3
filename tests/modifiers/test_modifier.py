import inspect
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn import modifiers
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.modifiers.modifier import Modifier
from keras_attn.ops import attention

MODIFIERS = [
    (
        modifiers.Rotary,
        {"base": 50.0, "fraction": 0.5, "offset": 3, "interleaved": True},
    ),
    (modifiers.Rotary, {"scaling": {"kind": "linear", "factor": 3.0}}),
    (modifiers.ALiBi, {}),
    (
        modifiers.RelativeBias,
        {"num_buckets": 6, "max_distance": 9, "bidirectional": False},
    ),
    (modifiers.SoftCap, {"cap": 1.5}),
    (modifiers.QKNorm, {"epsilon": 0.1}),
    (modifiers.Sinks, {}),
    (modifiers.Locality, {}),
]

every_modifier = pytest.mark.parametrize(
    ("cls", "init"),
    MODIFIERS,
    ids=lambda x: x.__name__ if inspect.isclass(x) else "",
)


@keras.saving.register_keras_serializable(package="tests")
class Looks(keras.layers.Layer):
    """The least layer that owns a modifier."""

    def __init__(self, modifier, implementation="dense", **kwargs):
        super().__init__(**kwargs)
        self.modifier = modifiers.get(modifier)
        self.implementation = implementation

    def build(self, input_shape):
        # A modifier comes back from a file already built.
        if not self.modifier.built:
            self.modifier.build(input_shape, input_shape)

    def call(self, heads):
        return attention(
            heads,
            heads,
            heads,
            modifiers=[self.modifier],
            implementation=self.implementation,
        )

    def get_config(self):
        return {
            **super().get_config(),
            "modifier": keras.saving.serialize_keras_object(self.modifier),
            "implementation": self.implementation,
        }


@pytest.fixture
def heads(rng):
    return rng.normal(size=(2, 5, 3, 4)).astype("float32")


def test_a_modifier_that_overrides_nothing_changes_nothing(heads):
    modifier = Modifier()
    assert modifier.parameters() == ()
    plain = attention(heads, heads, heads)
    modified = attention(heads, heads, heads, modifiers=[modifier])
    np.testing.assert_array_equal(modified, plain)


@every_modifier
def test_the_config_is_the_constructor(cls, init):
    modifier = cls(**init)
    registered = keras.saving.get_registered_name(cls)
    assert registered == f"keras_attn>{cls.__name__}"
    config = modifier.get_config()
    assert {name: config[name] for name in init} == init
    arguments = inspect.signature(cls.__init__).parameters
    assert not arguments.keys() - {"self", "args", "kwargs"} - config.keys()
    assert cls.from_config(config).get_config() == config
    json.dumps(config)


@every_modifier
def test_the_output_is_not_the_plain_one(cls, init, heads):
    plain = attention(heads, heads, heads).numpy()
    assert np.abs(Looks(cls(**init))(heads) - plain).max() > 1e-3


@every_modifier
def test_one_for_layers_of_other_heads_is_refused(cls, init, heads):
    modifier = cls(**init)
    attention(heads, heads, heads, modifiers=[modifier])
    fewer, wider = heads[:, :, :2], np.tile(heads, 2)
    attention(heads[:1], heads[:1], heads[:1], modifiers=[modifier])
    refused = {"Rotary": wider, "QKNorm": wider, "SoftCap": None}
    other = refused.get(cls.__name__, fewer)
    if other is None:  # it does not depend on heads
        attention(fewer, fewer, fewer, modifiers=[modifier])
        return
    message = f"{cls.__name__} was built for .*=.* is now given .*its own"
    with pytest.raises(ValueError, match=message):
        attention(other, other, other, modifiers=[modifier])


@every_modifier
@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_every_weight_learns(cls, init, implementation, heads):
    layer = Looks(cls(**init), implementation)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(heads) ** 2)
    weights = layer.trainable_weights
    numbers = {"RelativeBias": 1, "QKNorm": 2, "Sinks": 1, "Locality": 1}
    assert len(weights) == numbers.get(cls.__name__, 0)
    for gradient in tape.gradient(loss, [weight.value for weight in weights]):
        gradient = tf.convert_to_tensor(gradient)
        assert np.isfinite(gradient).all()
        assert np.any(gradient)


@every_modifier
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "float16"])
def test_weights_stay_in_float32(cls, init, policy, heads):
    layer = Looks(cls(**init, dtype=policy), dtype=policy)
    output = layer(heads)
    assert output.dtype == layer.compute_dtype
    assert all(weight.dtype == "float32" for weight in layer.weights)
    exact = Looks(cls(**init))
    exact.build(heads.shape)
    exact.set_weights(layer.get_weights())
    np.testing.assert_allclose(
        tf.cast(output, "float32"), exact(heads), atol=0.05
    )


@every_modifier
def test_a_layer_of_lower_precision_does_not_round_the_weights(cls, init):
    class Reads(keras.layers.Layer):
        def call(self, x):
            return [ops.cast(weight, "float32") for weight in modifier.weights]

    modifier = cls(**init)
    modifier.build((2, 5, 3, 4), (2, 5, 3, 4))
    for weight in modifier.weights:
        weight.assign(np.full(weight.shape, 1 + 2**-12))
    for weight in Reads(dtype="mixed_bfloat16")(np.zeros((1, 1))):
        np.testing.assert_array_equal(weight, np.full(weight.shape, 1 + 2**-12))


@every_modifier
def test_saves_and_loads_with_its_layer(cls, init, heads, tmp_path):
    inputs = keras.Input((None, 3, 4))
    model = keras.Model(inputs, Looks(cls(**init))(inputs))
    for weight in model.weights:
        weight.assign(weight + 0.5)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(heads), model(heads), rtol=1e-6)


@every_modifier
def test_a_checkpoint_of_its_attention_restores_it(cls, init, tmp_path):
    layers = [
        MultiHeadAttention(3, 4, modifiers=[cls(**init)]) for _ in range(2)
    ]
    for number, layer in enumerate(layers):
        layer.build((2, 5, 6), (2, 5, 6))
        for weight in layer.modifiers[0].weights:
            weight.assign(weight + number)
    path = tf.train.Checkpoint(layer=layers[1]).write(str(tmp_path / "one"))
    tf.train.Checkpoint(layer=layers[0]).read(path).assert_consumed()
    for one, two in zip(*(layer.weights for layer in layers), strict=True):
        np.testing.assert_array_equal(one, two)


@every_modifier
def test_a_fused_kernel_is_told_all_or_nothing(cls, init):
    said = cls(**init).fused()
    hooks = ("cap_scores", "bias", "visible", "sinks")
    sees_tiles = any(getattr(cls, x) is not getattr(Modifier, x) for x in hooks)
    if cls in (modifiers.SoftCap, modifiers.Sinks):
        assert said == ({"soft_cap": 1.5} if init else {})
    else:
        assert said == (None if sees_tiles else {})
