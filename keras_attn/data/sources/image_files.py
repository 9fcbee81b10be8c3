"""Folders of images, one folder for each class."""

import os
import random
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.data.sources.files import existing_folder

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif")


def class_names(folder: str | os.PathLike) -> list[str]:
    """List the classes of an image folder: its sub-folders, sorted.

    Raises:
        ValueError: There is no sub-folder.
    """
    folder = existing_folder(folder)
    classes = [
        name
        for name in _listed(folder)
        if tf.io.gfile.isdir(os.path.join(folder, name))
    ]
    if not classes:
        raise ValueError(
            f"{folder!r} has no sub-folder, and each class is one: "
            "<folder>/<class>/<image>.jpg. Sort the images into such folders."
        )
    return classes


def image_folder(
    folder: str | os.PathLike,
    *,
    classes: Sequence[str] | None = None,
    seed: int | None = 0,
) -> tf.data.Dataset:
    """Give the images of `<folder>/<class>/<image>`, still encoded.

    Names that start with a dot or end otherwise than `.jpg`, `.jpeg`, `.png`,
    `.bmp` or `.gif` are left out.

    Args:
        folder: The folder that holds the folders of classes.
        classes: The class names in the order of their labels; by default
            those of this folder. Give test data `class_names(train_folder)`,
            or a class without test images moves the labels after it.
        seed: Mixes the examples, once and always in the same way, since a
            shuffle buffer smaller than a class would see one class at a time.
            None keeps them sorted by class and name.

    Returns:
        `{"image", "label"}`: the file's bytes and an int32 scalar.

    Raises:
        ValueError: A folder has no images or is no class.
    """
    found = class_names(folder)
    folder = existing_folder(folder)
    classes = found if classes is None else list(classes)
    unknown = sorted(set(found) - set(classes))
    if unknown:
        raise ValueError(
            f"Each sub-folder of {folder!r} must be a class. Received: "
            f"{unknown}, which are not among classes={classes}"
        )
    examples = []
    for name in found:
        images = [
            os.path.join(name, image)
            for image in _listed(os.path.join(folder, name))
            if image.lower().endswith(ENDINGS)
        ]
        if not images:
            raise ValueError(
                f"{os.path.join(folder, name)!r} has no image, that is, no "
                f"name that ends in one of {', '.join(ENDINGS)}."
            )
        examples += [(image, classes.index(name)) for image in images]
    if seed is not None:
        random.Random(seed).shuffle(examples)

    def read(name, label):
        path = tf.strings.join([folder, name], os.sep)
        return {"image": tf.io.read_file(path), "label": label}

    names = tf.constant([name for name, _ in examples])
    labels = tf.constant([label for _, label in examples], tf.int32)
    return tf.data.Dataset.from_tensor_slices((names, labels)).map(
        read, num_parallel_calls=tf.data.AUTOTUNE
    )


def _listed(folder):
    # Object stores end the names of folders with a slash.
    names = (name.rstrip("/") for name in tf.io.gfile.listdir(folder))
    return sorted(name for name in names if not name.startswith("."))
