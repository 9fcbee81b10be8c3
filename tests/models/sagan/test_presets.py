import keras
import numpy as np
import pytest

from keras_attn.models.sagan.discriminator import make_discriminator
from keras_attn.models.sagan.generator import make_generator
from keras_attn.models.sagan.model import SAGAN

# Channels before and after each block, as the released code has them at 128.
UP = [(1024, 1024), (1024, 512), (512, 256), (256, 128), (128, 64)]
DOWN = [(3, 64), (64, 128), (128, 256), (256, 512), (512, 1024)]


def convolution(size, before, after):
    return size * size * before * after + after


def block(before, after):
    return (
        convolution(3, before, after)
        + convolution(3, after, after)
        + convolution(1, before, after)
    )


def attention(channels):
    """C/8 twice, C/2, back to C, and γ."""
    return 2 * channels * channels // 8 + channels * channels + 1


def of_generator():
    start = convolution(1, 128, 4 * 4 * 1024)
    norms = sum(2 * 1000 * (before + after) for before, after in UP)
    blocks = sum(block(*channels) for channels in UP)
    last = 2 * 64 + convolution(3, 64, 3)
    return start + norms + blocks + attention(256) + last


def of_discriminator():
    blocks = sum(block(*channels) for channels in DOWN)
    last = 2 * convolution(3, 1024, 1024)
    return blocks + attention(128) + last + (1024 + 1) + 1000 * 1024


def parts(preset):
    """Both networks, without any numbers in them."""
    given = dict(SAGAN.presets[preset])
    size = given.pop("image_size")
    noise_dim = given.pop("noise_dim")
    widths = [given.pop(f"{x}_width") for x in ("generator", "discriminator")]
    with keras.StatelessScope(initialize_variables=False):
        yield make_generator(
            size, channels=3, noise_dim=noise_dim, width=widths[0], **given
        )
        yield make_discriminator(size, channels=3, width=widths[1], **given)


def test_every_preset_is_counted():
    assert list(SAGAN.presets) == ["imagenet-128"]


@pytest.mark.slow
def test_the_networks_have_the_parameters_of_the_released_code():
    assert attention(256) == 81_921
    counts = [
        sum(np.prod(w.shape, dtype=int) for w in model.trainable_weights)
        for model in parts("imagenet-128")
    ]
    assert counts == [of_generator(), of_discriminator()]
    assert counts == [42_078_852, 39_463_618]


def test_a_wrong_name_gets_a_list_of_them():
    with pytest.raises(ValueError, match="imagenet-128"):
        SAGAN.from_preset("imagenet")
