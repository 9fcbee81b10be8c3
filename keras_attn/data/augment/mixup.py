"""Mixup and CutMix: two images of a batch in one, and both their labels."""

import functools

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.augment.augmentation import check_images
from keras_attn.data.pipeline.stateless_seeds import beta
from keras_attn.data.pipeline.stateless_seeds import split
from keras_attn.data.pipeline.stateless_seeds import with_seeds

# As of 3.15, `keras.layers.MixUp` mixes a row with itself now and then, and
# `keras.layers.CutMix` counts parts of pixels, so that on small images its
# labels tell another share than the pixels.

USE = 2  # of the seeds


def mixup(
    batches: tf.data.Dataset,
    num_classes: int,
    *,
    alpha: float = 0.8,
    seed: int = 0,
) -> tf.data.Dataset:
    """Mix every image with another one of its batch.

        image = w image + (1 - w) other,    label = w label + (1 - w) other

    with w ~ Beta(alpha, alpha), drawn for each row, and labels one-hot.

    Args:
        batches: `(images, labels)`: (batch, height, width, channels) float32
            between 0 and 1, and (batch,) integers.
        num_classes: Length of the one-hot labels.
        alpha: Above 0; large means half and half, small hardly any mixing.
        seed: Chooses the draws.

    Returns:
        `(images, labels)`: the shape of before, and (batch, num_classes)
        float32 that sum to 1. A batch of one row stays as it is.

    Reference:
        Zhang et al. 2018, section 1. https://arxiv.org/abs/1710.09412
    """
    _check_alpha(alpha)
    mix = functools.partial(_mixup, alpha=alpha)
    return _mixed(batches, num_classes, mix, seed)


def cutmix(
    batches: tf.data.Dataset,
    num_classes: int,
    *,
    alpha: float = 1.0,
    seed: int = 0,
) -> tf.data.Dataset:
    """Paste a box of another image of the batch into every image.

        side of the box = side of the image sqrt(1 - w),  w ~ Beta(alpha, alpha)
        label = kept label + (1 - kept) other

    with its centre anywhere in the image, cut off at the edges, and `kept`
    the share of pixels that remain.

    Args:
        batches: `(images, labels)`: (batch, height, width, channels) float32
            between 0 and 1, and (batch,) integers.
        num_classes: Length of the one-hot labels.
        alpha: Above 0; 1 makes every area of the box equally likely.
        seed: Chooses the draws.

    Returns:
        As `mixup`.

    Reference:
        Yun et al. 2019, equations 1 and 2. https://arxiv.org/abs/1905.04899
    """
    _check_alpha(alpha)
    mix = functools.partial(_cutmix, alpha=alpha)
    return _mixed(batches, num_classes, mix, seed)


def mixup_or_cutmix(
    batches: tf.data.Dataset,
    num_classes: int,
    *,
    mixup_alpha: float = 0.8,
    cutmix_alpha: float = 1.0,
    seed: int = 0,
) -> tf.data.Dataset:
    """Mixup for one half of the images and CutMix for the other.

        images = mixup(one half), cutmix(the other half)

    Args:
        batches: As for `mixup`.
        num_classes: Length of the one-hot labels.
        mixup_alpha: `alpha` of `mixup`.
        cutmix_alpha: `alpha` of `cutmix`.
        seed: Chooses the draws.

    Returns:
        As `mixup`.

    Reference:
        Touvron et al. 2022, table 1. https://arxiv.org/abs/2204.07118
    """
    _check_alpha(mixup_alpha)
    _check_alpha(cutmix_alpha)

    def mix(images, others, seed):
        seeds = split(seed, 3)
        mixed = _mixup(images, others, seeds[0], mixup_alpha)
        cut = _cutmix(images, others, seeds[1], cutmix_alpha)
        coin = tf.random.stateless_uniform(tf.shape(mixed[1]), seeds[2])
        images = tf.where(_per_image(coin) < 0.5, mixed[0], cut[0])
        return images, tf.where(coin < 0.5, mixed[1], cut[1])

    return _mixed(batches, num_classes, mix, seed)


def _mixed(batches, num_classes, mix, seed):
    shape = _check_batches(batches)

    def apply(batch, seed):
        images, labels = batch
        seeds = split(seed, 2)
        others = _partners(tf.shape(images)[0], seeds[0])
        images, kept = mix(images, tf.gather(images, others), seeds[1])
        labels = _one_hot(labels, num_classes)
        labels = _blend(labels, tf.gather(labels, others), kept[:, tf.newaxis])
        # What is gathered has an unknown number of rows.
        images = tf.ensure_shape(images, shape)
        return images, tf.ensure_shape(labels, (shape[0], num_classes))

    seeded = with_seeds(batches, seed, use=USE)
    return seeded.map(apply, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _mixup(images, others, seed, alpha):
    weight = beta(tf.shape(images)[0], alpha, seed)
    images = _blend(images, others, _per_image(weight))
    return tf.clip_by_value(images, 0, 1), weight


def _cutmix(images, others, seed, alpha):
    rows, height, width, _ = tf.unstack(tf.shape(images))
    seeds = split(seed, 3)
    side = tf.sqrt(1 - beta(rows, alpha, seeds[0]))
    inside_y = _inside(height, side, seeds[1])  # (batch, height)
    inside_x = _inside(width, side, seeds[2])  # (batch, width)
    box = inside_y[:, :, tf.newaxis] & inside_x[:, tf.newaxis, :]
    kept = 1 - tf.reduce_mean(tf.cast(box, tf.float32), axis=(1, 2))
    return tf.where(box[..., tf.newaxis], others, images), kept


def _inside(length, side, seed):
    """Which pixels along one axis belong to the box, (batch, length)."""
    length = tf.cast(length, tf.float32)
    centre = length * tf.random.stateless_uniform(tf.shape(side), seed)
    first = tf.round(centre - length * side / 2)[:, tf.newaxis]
    last = tf.round(centre + length * side / 2)[:, tf.newaxis]
    places = tf.range(length)
    return (first <= places) & (places < last)


def _partners(rows, seed):
    """For each row another one: the next in a random circle, (batch,)."""
    order = tf.argsort(tf.random.stateless_uniform((rows,), seed))
    return tf.gather(tf.roll(order, -1, axis=0), tf.argsort(order))


def _per_image(weights):
    return tf.reshape(weights, [-1, 1, 1, 1])


def _blend(images, others, weight):
    return weight * images + (1 - weight) * others


def _one_hot(labels, num_classes):
    in_range = tf.debugging.assert_equal(
        (labels >= 0) & (labels < num_classes),
        True,
        f"Labels must be from 0 to {num_classes - 1}: see `num_classes`.",
    )
    with tf.control_dependencies([in_range]):
        return tf.one_hot(labels, num_classes)


def _check_alpha(alpha: float) -> None:
    argument_checks.above(alpha, "alpha")


def _check_batches(batches: tf.data.Dataset) -> tf.TensorShape:
    spec = batches.element_spec
    if (
        not isinstance(spec, tuple)
        or len(spec) != 2
        or isinstance(spec[0], dict)
    ):
        raise ValueError(
            f"Batches must be `(images, labels)`. Received: {spec}"
        )
    images, labels = spec
    check_images(images)
    if not labels.dtype.is_integer or labels.shape.rank != 1:
        raise ValueError(
            "Labels must be (batch,) integers: images are mixed once. "
            f"Received: {labels.dtype.name} {tuple(labels.shape)}"
        )
    return images.shape
