"""Elements with a mark: which is the last, which are kept."""

import tensorflow as tf


def mark_end(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Add one element after the last, so that a `scan` knows of the end.

    Args:
        dataset: Of dense tensors.

    Returns:
        `(element, False)` for each element, then `(empty, True)`, where empty
        is made of zeros, or of nothing where an axis is unknown.
    """
    empty = tf.nest.map_structure(_empty, dataset.element_spec)
    real = tf.data.Dataset.zip(dataset, _always(False))
    return real.concatenate(
        tf.data.Dataset.zip(tf.data.Dataset.from_tensors(empty), _always(True))
    )


def keep_marked(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Keep the elements of `(element, True)`, without their mark."""
    return dataset.filter(_mark).map(_element)


def _always(mark):
    return tf.data.Dataset.from_tensors(mark).repeat()


def _empty(spec):
    return tf.zeros([size or 0 for size in spec.shape], spec.dtype)


def _mark(element, mark):
    return mark


def _element(element, mark):
    return element
