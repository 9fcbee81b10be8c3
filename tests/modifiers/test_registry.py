import keras
import pytest

from keras_attn import modifiers


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("rotary", modifiers.Rotary),
        ("Rotary", modifiers.Rotary),
        ("alibi", modifiers.ALiBi),
        ("ALiBi", modifiers.ALiBi),
        ("relative_bias", modifiers.RelativeBias),
        ("RelativeBias", modifiers.RelativeBias),
        ("qk_norm", modifiers.QKNorm),
        ("QKNorm", modifiers.QKNorm),
        ("sinks", modifiers.Sinks),
        ("Sinks", modifiers.Sinks),
        ("locality", modifiers.Locality),
        ("Locality", modifiers.Locality),
    ],
)
def test_a_name_gives_the_modifier_with_its_defaults(name, cls):
    modifier = modifiers.get(name)
    assert type(modifier) is cls
    defaults = cls(name=modifier.name)
    assert modifier.get_config() == defaults.get_config()


def test_an_instance_stays_the_same():
    modifier = modifiers.SoftCap(30.0)
    assert modifiers.get(modifier) is modifier


def test_a_config_gives_a_copy():
    modifier = modifiers.Rotary(base=500.0, interleaved=True)
    config = keras.saving.serialize_keras_object(modifier)
    assert modifiers.get(config).get_config() == modifier.get_config()
    short = {"class_name": "SoftCap", "config": {"cap": 30.0}}
    assert modifiers.get(short).cap == 30.0


@pytest.mark.parametrize("name", ["soft_cap", "SoftCap"])
def test_a_soft_cap_must_be_told_its_cap(name):
    with pytest.raises(ValueError, match=r"`cap`.*SoftCap\(cap\)"):
        modifiers.get(name)


@pytest.mark.parametrize(
    "unknown",
    ["rotari", modifiers.Rotary, {}, keras.layers.Identity(), None],
    ids=["name", "class", "empty_config", "layer", "none"],
)
def test_anything_else_is_told_the_names(unknown):
    with pytest.raises(ValueError, match="rotary, alibi, relative_bias, soft"):
        modifiers.get(unknown)


def test_a_config_of_another_layer_is_refused():
    config = keras.saving.serialize_keras_object(keras.layers.Dense(3))
    with pytest.raises(ValueError, match="A modifier is"):
        modifiers.get(config)
