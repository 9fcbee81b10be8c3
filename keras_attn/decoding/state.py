"""The state of a model while it decodes, taken apart into its leaves."""

import tensorflow as tf
from keras import tree

from keras_attn.base.state import State


class StateLayout:
    """How a state is put together: a `State`, or a nest that is all carried.

    Args:
        state: Rows are the first axis of every leaf.
        batch_size: Number of rows, a tensor where it is unknown.
    """

    def __init__(self, state, batch_size):
        self._kind = type(state).__name__
        self._is_parted = isinstance(state, State)
        self.state = state if self._is_parted else State(state)
        paths = tree.flatten_with_path(self.state.carried)
        self.paths = [path for path, _ in paths]
        # What loops hand on; the constant leaves stay outside.
        self.leaves = [tf.convert_to_tensor(leaf) for _, leaf in paths]
        rows = None if tf.is_tensor(batch_size) else batch_size
        for path, leaf in tree.flatten_with_path(state):
            shape = tf.convert_to_tensor(leaf).shape
            if shape.rank == 0 or not shape[:1].is_compatible_with([rows]):
                raise ValueError(
                    "The first axis of every leaf of `state` must be the rows: "
                    f"batch_size={rows}. Received: {_name(path)} with shape "
                    f"{tuple(shape)}. Repeat for each row what all of them "
                    "share."
                )

    def pack(self, leaves):
        """Put carried leaves together as the state was."""
        carried = tree.pack_sequence_as(self.state.carried, leaves)
        if self._is_parted:
            return self.state._replace(carried=carried)
        return carried

    def unpack(self, state):
        """Take a step's state apart, and check that it is as it was.

        Args:
            state: What a step returned.

        Returns:
            A list of carried leaves.

        Raises:
            ValueError: If the structure, a dtype or a shape is another.
        """
        if isinstance(state, State) != self._is_parted:
            raise ValueError(
                "`step` must return a `State` where `encode` does, and only "
                f"there. `encode` returned a {self._kind}, `step` a "
                f"{type(state).__name__}"
            )
        paths = tree.flatten_with_path(
            state.carried if self._is_parted else state
        )
        if [path for path, _ in paths] != self.paths:
            raise ValueError(
                "`step` must return a state with the leaves that it was given. "
                f"It was given: {_names(self.paths)}. It returned: "
                f"{_names(path for path, _ in paths)}"
            )
        leaves = [tf.convert_to_tensor(leaf) for _, leaf in paths]
        for path, old, new in zip(self.paths, self.leaves, leaves, strict=True):
            fits = new.shape.is_compatible_with(old.shape)
            if new.dtype != old.dtype or not fits:
                raise ValueError(
                    "`step` must leave dtypes and shapes of the state as they "
                    f"are. {_name(path)} was {tuple(old.shape)} "
                    f"{old.dtype.name} and became {tuple(new.shape)} "
                    f"{new.dtype.name}. Have `encode` make room for all "
                    "`max_length` tokens."
                )
            new.set_shape(old.shape)
        return leaves

    def repeated(self, times: int, batch_size) -> "StateLayout":
        """Each row several times: (batch, ...) to (batch · times, ...).

        The constant leaves too. Beams could share them, as queries of one
        row: for four beams a quarter of the memory, and with XLA up to half
        the time. But without XLA, which is how servers run, q kᵀ of four
        queries took 1.6 to 1.8 times as long as of four rows with one each
        (8 rows, 8 heads of 64, 128 to 512 keys, two cores).
        """
        state = tree.map_structure(
            lambda leaf: tf.repeat(leaf, times, axis=0), self.state
        )
        state = state if self._is_parted else state.carried
        return StateLayout(state, batch_size * times)


def freeze(finished, old, new):
    """Keep the old leaves of the rows that are finished."""
    return [
        _where(finished, before, after)
        for before, after in zip(old, new, strict=True)
    ]


def _where(rows, yes, no):
    ones = [1] * (yes.shape.rank - 1)
    return tf.where(tf.reshape(rows, [-1, *ones]), yes, no)


def _name(path):
    return "state" + "".join(f"[{key!r}]" for key in path)


def _names(paths):
    return ", ".join(_name(path) for path in paths) or "nothing"
