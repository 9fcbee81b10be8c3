"""Folders in the forms that tensorflow-datasets reads without a builder."""

import os

import tensorflow as tf

from keras_attn.data.sources.files import existing_folder
from keras_attn.data.sources.tfds_names import read_builder
from keras_attn.extras import require


def tfds_translate_folder(
    root: str | os.PathLike,
    source: str,
    target: str,
    *,
    split: str = "train",
) -> tf.data.Dataset:
    """Give the pairs of `<root>/<language>.<split>.txt`, a line each.

    TFDS holds all of the folder in memory; `parallel_lines` does not.

    Args:
        root: The folder, with such files only.
        source: The language to translate, such as `"en"`.
        target: The language to translate to.
        split: The middle part of the files' names.

    Returns:
        `{"source", "target"}`, scalar strings.

    Raises:
        ValueError: A file has another form of name, the numbers of lines
            differ, or there is no such language or split.
    """
    tfds = require("tensorflow_datasets", extra="data")
    root = existing_folder(root)
    names = sorted(tf.io.gfile.listdir(root))
    wrong = [name for name in names if name.count(".") != 2]
    if wrong or not names:
        raise ValueError(
            "A folder for TFDS' TranslateFolder holds files named "
            f"<language>.<split>.txt and nothing else. Received: {root!r} with "
            f"{wrong or 'no file'}."
        )
    builder = tfds.folder_dataset.TranslateFolder(root)
    return read_builder(
        tfds,
        builder,
        split=split,
        features={"source": source, "target": target},
    )


def tfds_image_folder(
    root: str | os.PathLike, *, split: str = "train"
) -> tf.data.Dataset:
    """Give the images of `<root>/<split>/<class>/<image>`, still encoded.

    Labels are indices in the sorted names of the classes of all splits. TFDS
    mixes the examples, always in the same way.

    Args:
        root: The folder that holds the folders of splits.
        split: The name of one.

    Returns:
        `{"image", "label"}`: the file's bytes and an int32 scalar.

    Raises:
        ValueError: There is no such split, or no image in it.
    """
    tfds = require("tensorflow_datasets", extra="data")
    root = existing_folder(root)
    builder = tfds.folder_dataset.ImageFolder(root)
    held = sorted(
        name for name, part in builder.info.splits.items() if part.num_examples
    )
    if split not in held:
        raise ValueError(
            f"There are no images at <root>/{split}/<class>/<image>. Received: "
            f"root={root!r}, which has images in the splits {held}. A folder "
            "of classes without splits is read by `image_folder`."
        )
    return read_builder(tfds, builder, split=split)
