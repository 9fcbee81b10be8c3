"""Texts from files, lists and datasets, in batches."""

import os
import pathlib
from collections.abc import Iterable
from collections.abc import Iterator

import keras
import tensorflow as tf

_BATCH_SIZE = 1024


def text_batches(texts) -> tf.data.Dataset:
    """Read texts from where they are.

    Args:
        texts: `tf.data.Dataset` of strings of any shape, list of strings, or
            `pathlib.Path` of a text file or a list of them, of which each line
            is a text.

    Returns:
        Dataset of (batch,) strings.
    """
    if isinstance(texts, os.PathLike):
        texts = [texts]
    if isinstance(texts, (str, bytes)):
        raise ValueError(
            "`texts` must be a dataset, a list of strings, or a pathlib.Path. "
            f"Received one string: {texts[:50]!r}"
        )
    if not isinstance(texts, tf.data.Dataset):
        texts = _dataset(list(texts))
    spec = texts.element_spec
    if not isinstance(spec, tf.TensorSpec) or spec.dtype != tf.string:
        raise ValueError(
            "`texts` must be a dataset of strings. Choose the part that is "
            'text, such as .map(lambda example: example["text"]). '
            f"Received: {spec}"
        )
    if spec.shape.rank == 0:
        return texts.batch(_BATCH_SIZE)
    return texts.map(lambda strings: tf.reshape(strings, [-1]))


def with_progress(batches: Iterable) -> Iterator:
    """Yield batches, and show how many texts were in them."""
    progress = keras.utils.Progbar(None, unit_name="text")
    count = 0
    for batch in batches:
        yield batch
        count += len(batch)
        progress.update(count)
    progress.update(count, finalize=True)


def _dataset(texts):
    if texts and all(isinstance(text, os.PathLike) for text in texts):
        for path in map(pathlib.Path, texts):
            if not path.is_file():
                raise FileNotFoundError(f"There is no file {path}.")
        return tf.data.TextLineDataset([os.fspath(path) for path in texts])
    for text in texts:
        if not isinstance(text, (str, bytes)):
            raise ValueError(
                "`texts` must hold strings alone, or pathlib.Path alone. "
                f"Received: {text!r}"
            )
    return tf.data.Dataset.from_tensor_slices(tf.constant(texts, tf.string))
