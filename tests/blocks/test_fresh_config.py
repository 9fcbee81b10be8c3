import json

import keras

from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.blocks.fresh_config import restored
from keras_attn.blocks.fresh_config import unshared
from keras_attn.modifiers import QKNorm


def test_plain_values_stay_as_they_are():
    value = {"num_kv_heads": 2, "axes": (1, 2), "window": None, "on": [True]}
    assert unshared(value) == value


def test_an_object_becomes_a_config_that_makes_another():
    norm = QKNorm(epsilon=0.25)
    config = unshared({"modifiers": [norm]})
    json.dumps(config)
    (first,) = keras.saving.deserialize_keras_object(config)["modifiers"]
    (second,) = keras.saving.deserialize_keras_object(config)["modifiers"]
    assert first.epsilon == second.epsilon == 0.25
    assert len({id(norm), id(first), id(second)}) == 3


def test_blocks_that_were_given_one_modifier_each_keep_their_own_when_loaded(
    rng, tmp_path
):
    x = rng.normal(size=(2, 3, 4)).astype("float32")
    attention = {"modifiers": [QKNorm()]}
    inputs = keras.Input((3, 4))
    outputs = inputs
    for _ in range(2):
        block = EncoderBlock(2, 5, attention=attention)
        outputs = block(outputs)
    model = keras.Model(inputs, outputs)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert len(loaded.weights) == len(model.weights)
    assert abs(loaded(x) - model(x)).numpy().max() == 0


def test_a_config_is_as_it_was_after_an_object_was_made_of_it():
    cells = [keras.layers.GRUCell(2), keras.layers.GRUCell(3)]
    config = unshared(keras.layers.StackedRNNCells(cells))
    for _ in range(2):
        assert [cell.units for cell in restored(config).cells] == [2, 3]
