"""3-Augment, the augmentation of DeiT III."""

from collections.abc import Callable

import keras
import tensorflow as tf

from keras_attn.data.augment.steps import one_of
from keras_attn.image import color

# Of Keras' layers only the flip is used. As of 3.15, `Solarization` cannot
# hold its threshold at a half, `RandomGaussianBlur` darkens the edges,
# `RandomColorJitter` keeps a variable and refuses grey images, as
# `RandomGrayscale` does in 3.12, and `RandomCrop` does not pad.

# Standard deviation of the blur, in pixels.
BLUR = (0.1, 2.0)


def three_augment(
    *, padding: int = 4, flip: bool = True, jitter: float = 0.3
) -> list:
    """Steps of 3-Augment, for `augment`.

        image = jitter(one_of(grey, solarise, blur)(flip(crop(image))))

    A random crop, a flip half of the time, then exactly one of grey,
    solarised or blurred, each for a third of the images, then colour jitter.
    Images of one channel have no colour to lose: a third stays as it is.

    Args:
        padding: How far the image may move, in pixels: it is mirrored this
            far beyond its edges and cut back to its size. 0 for no crop.
        flip: Whether to mirror left and right. Not for digits or text, and
            not for captions that tell left from right.
        jitter: Brightness, contrast and saturation change by a factor from
            1 - jitter to 1 + jitter. 0 for none.

    Returns:
        A list of steps for images (batch, height, width, channels).

    Reference:
        Touvron et al. 2022, "DeiT III: Revenge of the ViT", section 3, and
        its code for the numbers. https://arxiv.org/abs/2204.07118
    """
    if padding < 0:
        raise ValueError(f"`padding` is 0 or more. Received: {padding}")
    if not 0 <= jitter <= 1:
        raise ValueError(f"`jitter` is between 0 and 1. Received: {jitter}")
    steps = []
    if padding:
        steps.append(_random_crop(padding))
    if flip:
        steps.append(keras.layers.RandomFlip("horizontal", dtype="float32"))
    steps.append(one_of([_grayscale, _solarize, _blur]))
    if jitter:
        steps.append(_color_jitter(jitter))
    return steps


def _random_crop(padding: int) -> Callable:
    def random_crop(images, seed):
        batch, height, width, _ = tf.unstack(tf.shape(images))
        if min(images.shape[1:3]) <= padding:
            raise ValueError(
                "An image can be mirrored by less than its size. Received: "
                f"padding={padding} and images of {tuple(images.shape[1:3])}. "
                "Choose a smaller `padding` or larger images."
            )
        margin = [padding, padding]
        padded = tf.pad(images, [[0, 0], margin, margin, [0, 0]], "REFLECT")
        starts = tf.random.stateless_uniform(
            (2, batch, 1), seed, 0, 2 * padding + 1, tf.int32
        )
        rows = starts[0] + tf.range(height)  # (batch, height)
        columns = starts[1] + tf.range(width)  # (batch, width)
        cropped = tf.gather(padded, rows, axis=1, batch_dims=1)
        return tf.gather(cropped, columns, axis=2, batch_dims=1)

    return random_crop


def _grayscale(images, seed):
    return color.grayscale(images)


def _solarize(images, seed):
    return color.solarize(images, 0.5)


def _blur(images, seed):
    sigma = tf.random.stateless_uniform(tf.shape(images)[:1], seed, *BLUR)
    return color.gaussian_blur(images, sigma)


def _color_jitter(strength: float) -> Callable:
    def color_jitter(images, seed):
        factors = tf.random.stateless_uniform(
            (3, tf.shape(images)[0]), seed, 1 - strength, 1 + strength
        )
        images = color.brightness(images, factors[0])
        images = color.contrast(images, factors[1])
        return color.saturation(images, factors[2])

    return color_jitter
