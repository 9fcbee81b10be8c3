"""The state of a model while it decodes, taken apart into its leaves."""

import tensorflow as tf
from keras import tree

# Leaves under this key belong to the input: no step changes them, and all
# beams of a row share them.
MEMORY = "memory"


class StateLayout:
    """How a state is put together, and which of its leaves may change.

    Args:
        state: A nest of tensors; rows are the first axis of every leaf.
        batch_size: Number of rows, a tensor where it is unknown.
    """

    def __init__(self, state, batch_size):
        self.state = state
        paths = tree.flatten_with_path(state)
        self.paths = [path for path, _ in paths]
        self.changes = [MEMORY not in path for path in self.paths]
        self.leaves = [tf.convert_to_tensor(leaf) for _, leaf in paths]
        for path, leaf in zip(self.paths, self.leaves, strict=True):
            _check_rows(path, leaf, batch_size)

    def pack(self, leaves):
        """Put leaves together as the state was."""
        return tree.pack_sequence_as(self.state, leaves)

    def unpack(self, state, before):
        """Take a step's state apart, and check that it is as it was.

        Args:
            state: What a step returned.
            before: The leaves it was given.

        Returns:
            A list of leaves; those of the input as they were before.

        Raises:
            ValueError: If the structure, a dtype or a shape is another.
        """
        paths = tree.flatten_with_path(state)
        if [path for path, _ in paths] != self.paths:
            raise ValueError(
                "`step` must return a state with the leaves that it was given. "
                f"It was given: {_names(self.paths)}. It returned: "
                f"{_names(path for path, _ in paths)}"
            )
        return [
            _like(path, old, new) if changes else old
            for (path, new), old, changes in zip(
                paths, before, self.changes, strict=True
            )
        ]

    def repeat(self, leaves, times: int):
        """Copy each row: (batch, ...) to (batch · times, ...)."""
        return [tf.repeat(leaf, times, axis=0) for leaf in leaves]

    def gather(self, leaves, rows):
        """Take rows of the leaves that change; the input's stay."""
        return [
            tf.gather(leaf, rows) if changes else leaf
            for leaf, changes in zip(leaves, self.changes, strict=True)
        ]

    def freeze(self, finished, old, new):
        """Keep the old leaves of the rows that are finished."""
        return [
            _where(finished, before, after) if changes else after
            for before, after, changes in zip(
                old, new, self.changes, strict=True
            )
        ]


def _where(rows, yes, no):
    ones = [1] * (yes.shape.rank - 1)
    return tf.where(tf.reshape(rows, [-1, *ones]), yes, no)


def _check_rows(path, leaf, batch_size):
    rows = None if tf.is_tensor(batch_size) else batch_size
    shape = leaf.shape
    if shape.rank is not None and (
        shape.rank == 0 or not shape[:1].is_compatible_with([rows])
    ):
        raise ValueError(
            "The first axis of every leaf of `state` must be the rows: "
            f"batch_size={rows}. Received: {_name(path)} with shape "
            f"{tuple(shape)}. Repeat for each row what all of them share."
        )


def _like(path, old, new):
    """Check that a leaf keeps its dtype and shape, and note the shape."""
    new = tf.convert_to_tensor(new)
    if new.dtype != old.dtype or not new.shape.is_compatible_with(old.shape):
        raise ValueError(
            "`step` must leave dtypes and shapes of the state as they are. "
            f"{_name(path)} was {tuple(old.shape)} {old.dtype.name} and became "
            f"{tuple(new.shape)} {new.dtype.name}. Have `encode` make room for "
            "all `max_length` tokens."
        )
    new.set_shape(old.shape)
    return new


def _name(path):
    return "state" + "".join(f"[{key!r}]" for key in path)


def _names(paths):
    return ", ".join(_name(path) for path in paths) or "nothing"
