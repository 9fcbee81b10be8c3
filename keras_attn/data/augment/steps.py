"""Steps of an augmentation: what happens to the images of a batch."""

from collections.abc import Callable
from collections.abc import Sequence

import keras
import tensorflow as tf
from keras import layers

from keras_attn.data.pipeline.stateless_seeds import Draws
from keras_attn.data.pipeline.stateless_seeds import split

# Keras' layers that treat each image of a batch on its own. Others do not:
# RandomCrop has one place for all, Equalization one histogram. They get one
# image at a time.
BATCHED = (
    layers.AutoContrast,
    layers.RandomBrightness,
    layers.RandomContrast,
    layers.RandomFlip,
    layers.RandomRotation,
    layers.RandomShear,
    layers.RandomTranslation,
    layers.RandomZoom,
)


def one_of(steps: Sequence) -> Callable:
    """A step that takes one of several for each image, each equally often.

    Args:
        steps: Keras preprocessing layers, or functions of images and a seed;
            all keep the size of the images.

    Returns:
        A function `(images, seed) -> images`, itself a step.
    """
    if not steps:
        raise ValueError("`one_of` needs at least one step. Received none.")
    for step in steps:
        check_step(step)

    def choose(images, seed):
        rows = tf.range(tf.shape(images)[0])
        seeds = split(seed, len(steps) + 1)
        choice = tf.random.stateless_uniform(
            tf.shape(rows), seeds[-1], 0, len(steps), tf.int32
        )
        # Each step sees its own images only, so nothing is computed in vain.
        places = tf.dynamic_partition(rows, choice, len(steps))
        parts = tf.dynamic_partition(images, choice, len(steps))
        for index, step in enumerate(steps):
            parts[index] = _unless_empty(step, parts[index], seeds[index])
        return tf.dynamic_stitch(places, parts)

    # Traced once, however often the step is taken.
    return tf.function(choose, autograph=False)


def apply_step(step, images, seed):
    """Apply one step.

    Args:
        step: A Keras preprocessing layer, or a function `(images, seed) ->
            images`.
        images: (batch, height, width, channels) float32 between 0 and 1.
        seed: (2,) integers.

    Returns:
        (batch, height, width, channels) float32 between 0 and 1.

    Raises:
        ValueError: If the step keeps random state of its own.
    """

    def run(images, seed):
        if isinstance(step, keras.layers.Layer):
            outputs = _apply_layer(step, images, seed)
        else:
            outputs = step(images, seed)
        outputs = tf.ensure_shape(
            outputs, (images.shape[0], *outputs.shape[1:])
        )
        # Layers follow Keras' dtype policy, which may be half precision, and
        # interpolation may round to a little more than 1.
        return tf.clip_by_value(tf.cast(outputs, tf.float32), 0, 1)

    # Rewriting Keras' layers by AutoGraph would take most of the time.
    traced = tf.function(run, autograph=False).get_concrete_function(
        images, seed
    )
    if traced.variables:
        raise ValueError(
            f"{_name(step)} keeps random state in a variable of its own, so "
            "training could not be resumed at the same example. Use layers "
            "that do one thing each, `rand_augment()`, or a function "
            "`(images, seed) -> images`."
        )
    return traced(images, seed)


def check_step(step) -> None:
    """Raise ValueError for a step that cannot do what it is meant to."""
    if isinstance(step, layers.MixUp | layers.CutMix):
        raise ValueError(
            f"{_name(step)} changes labels too. Use `mixup(batches, "
            "num_classes)` or `cutmix(batches, num_classes)`."
        )
    value_range = getattr(step, "value_range", (0, 1))
    if tuple(value_range) != (0, 1):
        raise ValueError(
            f"{_name(step)} is made for values in {tuple(value_range)}, and "
            "images here are between 0 and 1. Make it with value_range=(0, 1)."
        )
    if not callable(step):
        raise ValueError(
            "A step is a Keras preprocessing layer or a function "
            f"`(images, seed) -> images`. Received: {step!r}"
        )


def _unless_empty(step, images, seed):
    # Some of Keras' layers look at the first image.
    return tf.cond(
        tf.shape(images)[0] > 0,
        lambda: apply_step(step, images, seed),
        lambda: images,
    )


def _apply_layer(layer, images, seed):
    if isinstance(layer, BATCHED):
        return _transform(layer, images, seed)
    return tf.map_fn(
        lambda pair: _transform(layer, pair[0][tf.newaxis], pair[1])[0],
        (images, split(seed, tf.shape(images)[0])),
        fn_output_signature=layer.compute_dtype,
    )


def _transform(layer, images, seed):
    if not hasattr(layer, "get_random_transformation"):
        return layer(images, training=True)
    transformation = layer.get_random_transformation(
        images, training=True, seed=Draws(seed)
    )
    return layer.transform_images(images, transformation, training=True)


def _name(step):
    return f"The step {type(step).__name__!r}"
