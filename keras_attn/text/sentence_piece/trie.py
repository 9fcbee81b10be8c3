"""Finds keys in texts, at all places at once."""

from collections.abc import Mapping

import tensorflow as tf

from keras_attn.text import tables

# No code point: it stands behind every text, and no key goes beyond it.
END = 0x1FFFFF
# A step is node << 21 | code point; it leads to node << 24 | value + 1.
_CODE, _VALUE = 21, 24
_VALUES = (1 << _VALUE) - 1


class Trie(tf.Module):
    """Every key that starts at every place of many texts.

    A table leads from a node and a code point to the next node, with the value
    of the key that ends there. All places take a step together, and those that
    no key goes on from are left behind, so that most are done after a few.

    Args:
        keys: Value, below 2^24 - 1, by key; no key is empty.
        folder: Where the table's file is written; it must outlive this.
        name: Of the file.

    Call arguments:
        codes: (places,) int64 code points, each text followed by `END`.

    Returns:
        `places`, `lengths` (in code points) and `values` of all that was found,
        (found,) int64; shorter ones come first.
    """

    def __init__(
        self, keys: Mapping[str, int], *, folder: tables.AssetFolder, name: str
    ):
        super().__init__()
        lines = (f"{step}\t{goal}" for step, goal in _steps(keys).items())
        self._steps = tables.columns(
            folder.write(name, lines), tf.int64, tf.int64, default=-1
        )

    def __call__(self, codes):
        places = tf.range(tf.size(codes, tf.int64))
        _, _, _, _, *found = tf.while_loop(
            lambda depth, codes, places, *_: tf.size(places) > 0,
            self._step,
            [tf.zeros([], tf.int64), codes, places, tf.zeros_like(places)]
            + [tf.zeros([0], tf.int64)] * 3,
            shape_invariants=[tf.TensorShape([])]
            + [tf.TensorShape([None])] * 6,
            parallel_iterations=1,
        )
        return found

    def _step(self, depth, codes, places, nodes, *found):
        steps = tf.bitwise.left_shift(nodes, _int64(_CODE))
        goals = self._steps.lookup(steps + tf.gather(codes, places + depth))
        alive = tf.where(goals >= 0)[:, 0]
        places, goals = tf.gather(places, alive), tf.gather(goals, alive)
        values = tf.bitwise.bitwise_and(goals, _int64(_VALUES)) - 1
        whole = tf.where(values >= 0)[:, 0]
        new = (
            tf.gather(places, whole),
            tf.fill(tf.shape(whole), depth + 1),
            tf.gather(values, whole),
        )
        found = [tf.concat(pair, 0) for pair in zip(found, new, strict=True)]
        nodes = tf.bitwise.right_shift(goals, _int64(_VALUE))
        return depth + 1, codes, places, nodes, *found


def _steps(keys):
    """Goal by step, as the head of this file says."""
    # A table must not be empty, and no step is negative.
    steps = {-1: 0}
    children = {}
    for key, value in keys.items():
        node = 0
        for code in map(ord, key):
            step = node << _CODE | code
            node = children.setdefault(step, len(children) + 1)
        steps[step] = node << _VALUE | value + 1
    for step, node in children.items():
        steps.setdefault(step, node << _VALUE)
    return steps


def _int64(number):
    return tf.constant(number, tf.int64)
