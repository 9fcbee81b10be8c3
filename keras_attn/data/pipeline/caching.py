"""Examples kept in memory or in files, so that they are made once."""

import os
import pathlib
import uuid

import tensorflow as tf

from keras_attn.base.wait_notice import WaitNotice


def keep(
    examples: tf.data.Dataset, cache: bool | str | pathlib.Path | None
) -> tf.data.Dataset:
    """Keep examples after they are made for the first time.

    Files are written whole before this returns, and named when they are
    complete. (`Dataset.cache` writes them during the first pass, and refuses
    to go on from a checkpoint if the run was killed in it.)

    Args:
        examples: Any dataset that ends.
        cache: True for memory, a path for files, None or False for neither.

    Returns:
        The same examples in the same order.
    """
    if cache is None or cache is False:
        return examples
    if examples.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(
            "Examples without end cannot be cached. Put `repeat` after "
            "`batches`."
        )
    if cache is True:
        return examples.cache()
    path = str(cache)
    if not tf.io.gfile.exists(f"{path}.index"):
        with WaitNotice("keras_attn.data", f"writing examples to {path}"):
            _write(examples, path)
    return examples.cache(path)


def _write(examples, path):
    folder, name = os.path.split(path)
    folder = folder or os.curdir
    tf.io.gfile.makedirs(folder)
    unfinished = f"{name}.{uuid.uuid4().hex}"
    try:
        examples.cache(os.path.join(folder, unfinished)).reduce(0, _count)
        # The index last: it is what says that there is a cache.
        for file in _starting(folder, unfinished):
            finished = name + file.removeprefix(unfinished)
            tf.io.gfile.rename(
                os.path.join(folder, file),
                os.path.join(folder, finished),
                overwrite=True,
            )
    finally:
        for file in _starting(folder, unfinished):
            tf.io.gfile.remove(os.path.join(folder, file))


def _starting(folder, name):
    files = tf.io.gfile.listdir(folder)
    return sorted(file for file in files if file.startswith(name))


def _count(total, example):
    return total + 1
