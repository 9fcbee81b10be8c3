"""The IDX files of MNIST and its relatives."""

import os

import numpy as np
import tensorflow as tf

from keras_attn.data.sources.files import read_whole

UNSIGNED_BYTE = 8  # the type code of both kinds of file


def idx(
    images: str | os.PathLike, labels: str | os.PathLike
) -> tf.data.Dataset:
    """Give the images and labels of two IDX files, packed by gzip or not.

    Such a file is two zero bytes, a type code, the number of axes, each axis'
    size as four bytes, the highest first, and then the values.

    Args:
        images: Path of the images, such as `train-images-idx3-ubyte.gz`.
        labels: Path of the labels, such as `train-labels-idx1-ubyte.gz`.

    Returns:
        `{"image", "label"}`: uint8 (height, width, 1) and an int32 scalar.

    Raises:
        ValueError: A file is of another kind or cut, or the numbers of images
            and labels differ.
    """
    pictures = _read(images, num_axes=3)
    classes = _read(labels, num_axes=1)
    if len(pictures) != len(classes):
        raise ValueError(
            "There must be as many labels as images. Received: "
            f"{len(pictures)} images in {os.fspath(images)!r}, {len(classes)} "
            f"labels in {os.fspath(labels)!r}."
        )
    return tf.data.Dataset.from_tensor_slices(
        {"image": pictures[..., np.newaxis], "label": classes.astype(np.int32)}
    )


def _read(path, *, num_axes):
    content = read_whole(path)
    name = os.fspath(path)
    start = bytes([0, 0, UNSIGNED_BYTE, num_axes])
    if not content.startswith(start):
        raise ValueError(
            f"An IDX file of bytes with {num_axes} axes starts with "
            f"{start.hex(' ')}. Received: {name!r}, which starts with "
            f"{content[:4].hex(' ') or 'nothing'}. Are images and labels "
            "exchanged?"
        )
    header = len(start) + 4 * num_axes
    if len(content) < header:
        raise ValueError(f"{name!r} ends inside its header. Download it again.")
    shape = np.frombuffer(content, ">u4", num_axes, len(start)).tolist()
    wanted = int(np.prod(shape, dtype=object))
    if len(content) - header != wanted:
        raise ValueError(
            f"The header of {name!r} announces {tuple(shape)}, which is "
            f"{wanted} bytes, and {len(content) - header} follow it. "
            "Download it again."
        )
    return np.frombuffer(content, np.uint8, wanted, header).reshape(shape)
