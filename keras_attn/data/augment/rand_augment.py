"""RandAugment: a few of fourteen steps, all equally strong."""

from collections.abc import Callable

import keras
import tensorflow as tf
from keras import layers

from keras_attn.data.augment.steps import one_of
from keras_attn.image import color

# `keras.layers.RandAugment` draws one set of steps for the whole batch, turns
# images by up to half a turn, and keeps a variable, so that the iterator could
# not be saved. Its parts are used here where they follow the paper: geometry,
# autocontrast and equalise.

MAX_MAGNITUDE = 10

# How strong a step is at the largest magnitude: AutoAugment's table of ranges.
SHEAR = 0.3
TRANSLATE = 150 / 331  # of the side of the image
ROTATE = 30 / 360  # of a turn
ENHANCE = 0.9  # a factor from 0.1 to 1.9
POSTERIZE = 4  # of 8 bits are lost


def rand_augment(*, num_steps: int = 2, magnitude: float = 9) -> list:
    """Steps of RandAugment, for `augment`.

        image = step_N(... step_1(image)),    each drawn for itself

    Every image takes `num_steps` steps, each drawn from the same fourteen:
    nothing, autocontrast, equalise, rotate, solarise, colour, posterise,
    contrast, brightness, sharpness, shear and translate along x and y. Those
    that have two directions go in either.

    Args:
        num_steps: The paper's N.
        magnitude: The paper's M, from 0 to 10, where 10 is the strongest.

    Returns:
        A list of steps for images (batch, height, width, channels).

    Reference:
        Cubuk et al. 2020, "RandAugment", section 3, with the ranges of Cubuk
        et al. 2019, "AutoAugment", appendix. https://arxiv.org/abs/1909.13719
    """
    if num_steps < 1:
        raise ValueError(f"`num_steps` is 1 or more. Received: {num_steps}")
    if not 0 <= magnitude <= MAX_MAGNITUDE:
        raise ValueError(
            f"`magnitude` is between 0 and {MAX_MAGNITUDE}. "
            f"Received: {magnitude}"
        )
    strength = magnitude / MAX_MAGNITUDE
    step = one_of(
        [
            _identity,
            layers.AutoContrast(value_range=(0, 1), dtype="float32"),
            layers.Equalization(value_range=(0, 1), dtype="float32"),
            _solarize(strength),
            _posterize(strength),
            _enhance(color.saturation, strength),
            _enhance(color.contrast, strength),
            _enhance(color.brightness, strength),
            _enhance(color.sharpness, strength),
            _either_way(_rotate, strength),
            _shear(strength, 0.0),
            _shear(0.0, strength),
            _either_way(_translate_x, strength),
            _either_way(_translate_y, strength),
        ]
    )
    return [step] * num_steps


def _identity(images, seed):
    return images


def _solarize(strength: float) -> Callable:
    return lambda images, seed: color.solarize(images, 1 - strength)


def _posterize(strength: float) -> Callable:
    bits = 8 - round(POSTERIZE * strength)
    return lambda images, seed: color.posterize(images, bits)


def _enhance(change: Callable, strength: float) -> Callable:
    def enhance(images, seed):
        upwards = tf.random.stateless_uniform(tf.shape(images)[:1], seed) < 0.5
        amount = ENHANCE * strength
        return change(images, tf.where(upwards, 1 + amount, 1 - amount))

    return enhance


def _either_way(make: Callable, strength: float) -> Callable:
    return one_of([make(strength), make(-strength)])


def _rotate(strength: float) -> keras.layers.Layer:
    angle = ROTATE * strength
    return layers.RandomRotation((angle, angle), **_geometry())


def _shear(x: float, y: float) -> keras.layers.Layer:
    # This layer draws the direction itself.
    x, y = SHEAR * x, SHEAR * y
    return layers.RandomShear((x, x), (y, y), **_geometry())


def _translate_x(strength: float) -> keras.layers.Layer:
    distance = TRANSLATE * strength
    return layers.RandomTranslation(
        (0.0, 0.0), (distance, distance), **_geometry()
    )


def _translate_y(strength: float) -> keras.layers.Layer:
    distance = TRANSLATE * strength
    return layers.RandomTranslation(
        (distance, distance), (0.0, 0.0), **_geometry()
    )


def _geometry() -> dict:
    return {"fill_mode": "constant", "fill_value": 0.5, "dtype": "float32"}
