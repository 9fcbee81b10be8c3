"""What can be done to the colours of images, as equations."""

import tensorflow as tf

# ITU-R 601: how bright red, green and blue look.
LUMINANCE = (0.299, 0.587, 0.114)

BRIGHTEST = 255  # of an 8-bit colour


def luminance(images):
    """How bright each pixel looks.

        luminance = 0.299 red + 0.587 green + 0.114 blue

    Args:
        images: (..., height, width, channels) floats; 1 or 3 channels.

    Returns:
        (..., height, width, 1); images of one channel as they are.
    """
    if images.shape[-1] == 1:
        return images
    return tf.reduce_sum(images * LUMINANCE, axis=-1, keepdims=True)


def grayscale(images):
    """The images without their colours, with as many channels as before."""
    return tf.broadcast_to(luminance(images), tf.shape(images))


def brightness(images, factor):
    """Mix with black: 0 is black, 1 changes nothing, 2 is twice as bright.

    Args:
        images: (batch, height, width, channels) between 0 and 1.
        factor: A number, or (batch,) of them.

    Returns:
        Like `images`.
    """
    return _blend(tf.zeros_like(images), images, factor)


def contrast(images, factor):
    """Mix with the mean luminance of the image: 0 is one grey."""
    mean = tf.reduce_mean(luminance(images), axis=(1, 2, 3), keepdims=True)
    return _blend(mean, images, factor)


def saturation(images, factor):
    """Mix with the grey image: 0 is grey, 1 changes nothing."""
    return _blend(grayscale(images), images, factor)


def sharpness(images, factor):
    """Mix with a smoothed image: 0 is smooth, 2 is sharper.

    A smoothed pixel is the mean of itself, counted 5 times, and its 8
    neighbours; beyond the edge, the image is mirrored.
    """
    padding = [[0, 0], [1, 1], [1, 1], [0, 0]]
    padded = tf.pad(images, padding, "SYMMETRIC")
    square = tf.nn.avg_pool2d(padded, 3, 1, "VALID")
    return _blend((9 * square + 4 * images) / 13, images, factor)


def solarize(images, threshold):
    """Turn what is at least as bright as `threshold` into its negative.

    pixel = pixel if pixel < threshold else 1 - pixel
    """
    return tf.where(images < threshold, images, 1 - images)


def posterize(images, bits: int):
    """Keep the first `bits` of the 8 bits of each colour."""
    step = 2.0 ** (8 - bits)
    # The nearest level, as if the image were stored in 8 bits.
    levels = tf.round(images * BRIGHTEST)
    return tf.floor(levels / step) * step / BRIGHTEST


def gaussian_blur(images, sigma):
    """Mean of the neighbours, weighted by a normal distribution.

        weight(i, j) ~ exp(-(i - j)^2 / (2 sigma^2)),    sum over j = 1

    along rows and along columns. The weights are shared out among the pixels
    that an image has, so its edges do not grow dark.

    Args:
        images: (batch, height, width, channels).
        sigma: (batch,) standard deviations in pixels, above 0.

    Returns:
        Like `images`.
    """
    _, height, width, _ = tf.unstack(tf.shape(images))
    rows, columns = _nearness(height, sigma), _nearness(width, sigma)
    images = tf.einsum("bij,bjwc->biwc", rows, images)
    return tf.einsum("bij,bhjc->bhic", columns, images)


def _blend(degenerate, images, factor):
    factor = tf.reshape(factor, [-1, 1, 1, 1])
    return tf.clip_by_value(degenerate + factor * (images - degenerate), 0, 1)


def _nearness(length, sigma):
    places = tf.range(tf.cast(length, tf.float32))
    distances = places[:, tf.newaxis] - places
    scale = 2 * sigma[:, tf.newaxis, tf.newaxis] ** 2
    return tf.nn.softmax(-(distances**2) / scale)  # (batch, length, length)
