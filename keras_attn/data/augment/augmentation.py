"""Images that look a little different in every epoch."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.data.augment.steps import apply_step
from keras_attn.data.augment.steps import check_step
from keras_attn.data.pipeline.stateless_seeds import split
from keras_attn.data.pipeline.stateless_seeds import with_seeds

USE = 1  # of the seeds


def augment(
    batches: tf.data.Dataset, steps: Sequence, *, seed: int = 0
) -> tf.data.Dataset:
    """Apply random steps to the images of every batch, one after the other.

        batches = augment(batches, three_augment())
        batches = augment(batches, [keras.layers.RandomFlip("horizontal")])

    It comes after `batches` (and its cache), so that every epoch draws again.
    Every image has draws of its own, also where a Keras layer draws once for a
    batch. The iterator can be saved, and resumes with the same draws.

    Args:
        batches: `(images, labels)` or `({"image", ...}, labels)` with images
            (batch, height, width, channels), float32 between 0 and 1.
        steps: Keras preprocessing layers, made with `value_range=(0, 1)`
            where they ask, or functions `(images, seed) -> images` that draw
            (batch,) numbers with `tf.random.stateless_uniform` and the like.
        seed: Chooses the draws. Two calls in a row take two seeds.

    Returns:
        The same structure; values stay between 0 and 1, labels as they are.
    """
    inputs = batches.element_spec[0]
    check_images(inputs["image"] if isinstance(inputs, dict) else inputs)
    for step in steps:
        check_step(step)

    def changed(images, seed):
        seeds = split(seed, len(steps))
        for index, step in enumerate(steps):
            images = apply_step(step, images, seeds[index])
        return images

    def apply(batch, seed):
        inputs, *rest = batch
        if isinstance(inputs, dict):
            return {**inputs, "image": changed(inputs["image"], seed)}, *rest
        return changed(inputs, seed), *rest

    seeded = with_seeds(batches, seed, use=USE)
    return seeded.map(apply, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def check_images(spec: tf.TensorSpec) -> None:
    """Raise ValueError for anything but a batch of float32 images."""
    if spec.dtype != tf.float32 or spec.shape.rank != 4:
        raise ValueError(
            "Images must be float32 (batch, height, width, channels). "
            f"Received: {spec.dtype.name} {spec.shape}. Make them with "
            "`image_classification` or `captioning`, then `batches`."
        )
