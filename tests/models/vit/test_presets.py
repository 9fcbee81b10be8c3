import keras
import pytest

from keras_attn.models.vit.model import ViT

COUNTS = {
    "ti16": 5_717_416,
    "s16": 22_050_664,
    "b16": 86_567_656,
    "b32": 88_224_232,
    "l16": 304_326_632,
    "l32": 306_535_400,
    "h14": 632_045_800,
    "deit3-s16": 22_059_496,
    "deit3-m16": 38_849_512,
    "deit3-b16": 86_585_320,
    "deit3-l16": 304_374_760,
    "deit3-h14": 632_126_440,
    "small-cifar10": 2_729_878,
    "small-cifar100": 2_747_248,
    "small-tiny-imagenet": 2_906_228,
}


def count(name, **overrides):
    """Count a preset's parameters without making them.

    The count is linear in layers, so models of one and two tell all.
    """

    def made(num_layers):
        with keras.StatelessScope(initialize_variables=False):
            model = ViT.from_preset(
                name, **{**overrides, "num_layers": num_layers}
            )
            return model.count_params()

    least = made(1)
    more = ViT.presets[name]["num_layers"] - 1
    return least + more * (made(2) - least)


@pytest.mark.parametrize("name", ViT.presets)
def test_every_preset_has_its_published_number_of_parameters(name):
    assert count(name) == COUNTS[name]


def test_locality_adds_a_temperature_for_each_head():
    plain = {"use_bias": False, "use_output_bias": True}
    without = count("small-cifar10", attention=plain)
    assert count("small-cifar10") - without == 108


def test_an_unknown_preset_gets_a_list():
    with pytest.raises(ValueError, match=r"'ti16', 's16'.*Received: 'vit'"):
        ViT.from_preset("vit")
