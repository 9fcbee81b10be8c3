import inspect
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.models.bert.model import BERT
from keras_attn.models.gpt.model import GPT
from keras_attn.models.preset_model import PresetModel
from keras_attn.models.transformer.model import Transformer
from keras_attn.modifiers import QKNorm
from keras_attn.modifiers import RelativeBias
from tests.models.stepping import set_random

SIZES = {"num_layers": 2, "num_heads": 2, "units": 4, "hidden_dim": 5}
MODELS = {
    "gpt": (GPT, {"vocabulary_size": 7}),
    "bert": (BERT, {"vocabulary_size": 7, "head": "regression"}),
    "transformer": (Transformer, {"vocabulary_size": 7}),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_config_is_the_constructor(name):
    cls, arguments = MODELS[name]
    model = cls(**arguments, **SIZES, dropout=0.25, name="some", max_length=9)
    config = model.get_config()
    expected = inspect.signature(cls).parameters.keys() - {"kwargs"}
    assert config.keys() == expected | {"name"}
    assert config["dropout"] == 0.25
    assert config["name"] == "some"
    json.dumps(config)
    assert cls.from_config(config).get_config() == config
    assert isinstance(model, PresetModel)


@pytest.mark.parametrize(
    "given",
    [
        {"activation": keras.activations.silu},
        {"attention": {"kernel_initializer": keras.initializers.Ones()}},
        {"attention": {"modifiers": ["rotary", QKNorm()], "num_kv_heads": 1}},
    ],
    ids=["function", "initializer", "modifiers"],
)
def test_objects_in_the_config_become_json(given):
    model = GPT(7, **SIZES, **given)
    config = model.get_config()
    json.dumps(config)
    twin = GPT.from_config(config)
    assert twin.get_config() == config
    twin.set_weights(model.get_weights())
    tokens = np.array([[1, 2, 3]])
    np.testing.assert_array_equal(twin(tokens), model(tokens))


def test_each_block_has_modifiers_of_its_own_before_and_after_saving(
    rng, tmp_path
):
    attention = {"modifiers": [RelativeBias(), QKNorm()]}
    model = GPT(7, **SIZES, position=None, attention=attention)
    plain = GPT(7, **SIZES, position=None)
    of_a_block = sum(
        len(modifier.weights)
        for modifier in model.stack.blocks[0].self_attention.modifiers
    )
    assert of_a_block > 1
    assert len(model.weights) == len(plain.weights) + 2 * of_a_block
    set_random(model, rng)
    tokens = rng.integers(1, 7, size=(2, 6))
    for name in ("once.keras", "twice.keras"):
        model.save(tmp_path / name)
        loaded = keras.saving.load_model(tmp_path / name)
        assert len(loaded.weights) == len(model.weights)
        assert loaded.get_config() == model.get_config()
        np.testing.assert_array_equal(loaded(tokens), model(tokens))
        model = loaded


@pytest.mark.filterwarnings("ignore:The object being serialized includes a")
@pytest.mark.parametrize("kind", ["lambda", "layer"])
def test_code_in_a_file_is_not_run(kind, tmp_path):
    ran = []
    activation = lambda x: ran.append(1) or x  # noqa: E731
    if kind == "layer":
        activation = keras.layers.Lambda(activation)
    model = GPT(7, **{**SIZES, "num_layers": 1}, activation=activation)
    model.save(tmp_path / "model.keras")
    config = model.get_config()
    ran.clear()
    with pytest.raises(ValueError, match="arbitrary code"):
        keras.saving.load_model(tmp_path / "model.keras")
    with pytest.raises(ValueError, match="arbitrary code"):
        GPT.from_config(config)
    assert not ran


@pytest.mark.parametrize("name", MODELS)
def test_a_policy_reaches_every_layer_and_is_saved(name):
    cls, arguments = MODELS[name]
    model = cls(**arguments, **SIZES, dtype="mixed_bfloat16")
    assert model.dtype_policy.name == "mixed_bfloat16"
    layers = [
        layer
        for layer in model._flatten_layers()
        if not isinstance(layer, keras.layers.InputLayer)
    ]
    assert {layer.compute_dtype for layer in layers} == {"bfloat16"}
    assert {weight.dtype for weight in model.weights} == {"float32"}
    twin = cls.from_config(model.get_config())
    assert twin.dtype_policy.name == "mixed_bfloat16"


def test_the_policy_is_the_one_that_was_set_when_the_model_was_made():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = GPT(7, **SIZES)
    finally:
        keras.config.set_dtype_policy("float32")
    twin = GPT.from_config(model.get_config())
    assert twin(np.array([[1, 2]])).dtype == "float16"
    # Keras scales the loss by what the model's own policy says.
    model.compile("sgd", "mse")
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)


def test_a_preset_takes_overrides():
    model = Transformer.from_preset(
        "base", **SIZES, source_vocabulary_size=7, target_vocabulary_size=8
    )
    config = model.get_config()
    assert config["units"] == 4
    assert config["vocabulary_size"] is None
    assert config["target_vocabulary_size"] == 8


def test_a_subclass_has_the_presets_of_its_model_or_its_own():
    class Mine(GPT):
        """As a user would write it."""

    class Own(Mine):
        """With a size more."""

        presets = Mine.presets | {"tiny": {"vocabulary_size": 7, **SIZES}}

    mine = Mine.from_preset("gpt2", vocabulary_size=7, **SIZES)
    assert type(mine) is Mine
    assert mine.get_config()["max_length"] == 1024
    assert type(Own.from_preset("tiny")) is Own
    assert "gpt2-xl" in Own.presets
    with pytest.raises(ValueError, match=r"Mine .*'gpt2-xl'.*'tiny'"):
        Mine.from_preset("tiny")


@keras.saving.register_keras_serializable(package="tests")
class Wide(GPT):
    """With arguments of its own, as a user would write it."""

    def __init__(self, width, *, bias: RelativeBias, **kwargs):
        super().__init__(
            7,
            units=2 * width,
            position=None,
            attention={"modifiers": [bias]},
            **kwargs,
        )


def test_a_subclass_with_arguments_of_its_own_is_saved(rng, tmp_path):
    sizes = {"num_layers": 1, "num_heads": 2, "dropout": 0.25}
    model = Wide(3, bias=RelativeBias(num_buckets=4), **sizes, name="wide")
    set_random(model, rng)
    # What export reads is the network's, and whole.
    assert model.config["units"] == 6
    assert model.config["pad_id"] == 0
    assert "width" not in model.config
    config = model.get_config()
    json.dumps(config)
    assert config.keys() == {"width", "bias", "name", "dtype", *sizes}
    model.save(tmp_path / "wide.keras")
    loaded = keras.saving.load_model(tmp_path / "wide.keras")
    assert type(loaded) is Wide
    assert loaded.get_config() == config
    assert loaded.config == model.config
    tokens = rng.integers(1, 7, size=(2, 6))
    np.testing.assert_array_equal(loaded(tokens), model(tokens))


def test_a_subclass_that_takes_no_name_is_saved_without_one():
    class Fixed(GPT):
        def __init__(self, width):
            super().__init__(7, **{**SIZES, "units": width}, name="fixed")

    config = Fixed(4).get_config()
    assert config == {"width": 4}
    assert Fixed.from_config(config).config == Fixed(4).config


def test_a_subclass_whose_arguments_cannot_be_saved_says_so():
    class Listed(GPT):
        def __init__(self, *sizes):
            super().__init__(*sizes, **SIZES)

    model = Listed(7)
    assert model.config["vocabulary_size"] == 7
    with pytest.raises(ValueError, match="Listed was made with arguments"):
        model.get_config()


def test_a_config_saved_before_gives_the_same_model():
    old = {
        "vocabulary_size": 7,
        **{"num_layers": 2, "num_heads": 2, "units": 4, "hidden_dim": 5},
        **{"max_length": 9, "position": "learned", "dropout": 0.1},
        **{"tie_embeddings": True, "pad_id": 0, "norm": "pre"},
        **{"normalization": "layer", "epsilon": 1e-05, "use_bias": True},
        **{"activation": "gelu_tanh", "attention": None},
        **{"name": "some", "dtype": "float32"},
    }
    config = GPT.from_config(old).get_config()
    del config["dtype"], old["dtype"]
    # What has been added since means by default what there was.
    new = {"scale_embedding": False, "logit_soft_cap": None}
    assert config == old | new


def test_a_wrong_preset_gets_the_right_ones():
    with pytest.raises(ValueError, match=r"GPT .*'gpt2-xl'.*'gpt3'"):
        GPT.from_preset("gpt3")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pad_id", [0, 3])
def test_ragged_ids_equal_filled_up_ones(name, pad_id, rng):
    cls, arguments = MODELS[name]
    sizes = {**SIZES, "num_layers": 1}
    model = cls(**arguments, **sizes, pad_id=pad_id, dropout=0)
    set_random(model, rng)
    ragged = tf.ragged.constant([[1, 2], [4, 5, 6, 1], [2]])
    dense = ragged.to_tensor(pad_id)
    if name == "bert":
        segments = tf.ragged.constant([[0, 1], [0, 0, 1, 1], [0]])
        ragged = {"tokens": ragged, "segments": segments}
        dense = {"tokens": dense, "segments": segments.to_tensor(0)}
    if name == "transformer":
        ragged = {"source": ragged, "target": ragged}
        dense = {"source": dense, "target": dense}
    expected = model(dense)
    np.testing.assert_array_equal(model(ragged), expected)
    graph = tf.function(model, autograph=False)
    np.testing.assert_allclose(graph(ragged), expected, rtol=1e-5, atol=1e-6)


def test_a_training_step_is_traced_once():
    model = GPT(7, **SIZES)
    traces = []

    def loss(labels, logits):
        traces.append(logits.shape)
        return keras.losses.sparse_categorical_crossentropy(
            labels, logits, from_logits=True
        )

    model.compile("adam", loss)
    tokens = np.array([[1, 2, 3]])
    for _ in range(3):
        model.train_on_batch(tokens, tokens)
    assert len(traces) == 1


def test_weights_frozen_after_compiling_stay_frozen():
    model = GPT(7, **SIZES)
    model.compile("adam", "mse")
    frozen = model.stack.blocks[0]
    frozen.trainable = False
    before = frozen.get_weights()
    tokens = np.array([[1, 2, 3]])
    model.train_on_batch(tokens, np.ones((1, 3, 7)))
    for old, new in zip(before, frozen.get_weights(), strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.slow
def test_a_quantised_model_is_loaded_as_it_was(tmp_path):
    model = GPT(7, **{**SIZES, "num_layers": 1})
    tokens = np.array([[1, 2, 3]])
    before = model(tokens)
    with pytest.warns(UserWarning, match="does not have a `quantize`"):
        model.quantize("int8")  # of layers that Keras does not quantise
    after = model(tokens)
    assert 0 < np.abs(after - before).max() < 0.1
    model.save(tmp_path / "int8.keras")
    loaded = keras.saving.load_model(tmp_path / "int8.keras")
    # A tuple of Keras' own has become a list.
    configs = (json.dumps(each.get_config()) for each in (loaded, model))
    assert len(set(configs)) == 1
    np.testing.assert_array_equal(loaded(tokens), after)


def test_a_quantised_model_gets_no_other_head():
    model = BERT(7, **{**SIZES, "num_layers": 1}, head="regression")
    model.get_layer("regression").quantize("int8")
    with pytest.raises(ValueError, match="Call `with_head` first"):
        model.with_head("masked_lm")
