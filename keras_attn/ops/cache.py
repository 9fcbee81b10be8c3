"""Keys and values that are kept from step to step, in a few slots."""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Clock:
    """Where each row stands, and which position each slot of a cache holds.

        position p is kept in slot (p - first) mod slots

    so a cache of as many slots as there will be positions keeps them all, and
    a cache of `window` slots rolls: the newest position takes the place of the
    one that has just left the window.

    Args:
        positions: (rows,) integers, the position of the newest token.
        num_slots: Slots of a cache.
        first: The first position that is kept; a number or (rows,).
    """

    positions: tf.Tensor
    num_slots: int | tf.Tensor
    first: int | tf.Tensor = 0

    @property
    def query_positions(self):
        """(rows, 1) positions of the newest tokens."""
        return self.positions[:, None]

    def key_positions(self):
        """(rows, slots) position in each slot; below 0 where it is empty."""
        newest = (self.positions - self.first)[:, None]
        kept = newest - (newest - tf.range(self.num_slots)) % self.num_slots
        first = self.query_positions - newest
        return tf.where(kept < 0, kept, kept + first)

    def is_newest(self):
        """(rows, 1, slots, 1) booleans: the slot of the newest token."""
        slot = (self.positions - self.first) % self.num_slots
        newest = slot[:, None] == tf.range(self.num_slots)
        return newest[:, None, :, None]


def write(cache, heads, clock: Clock):
    """Put the newest token's heads into their slot.

    Args:
        cache: (rows, heads, slots, depth).
        heads: (rows, heads, 1, depth).
        clock: Where the rows stand.

    Returns:
        Like `cache`. A `where`, because TF Serving, with XLA off, refuses the
        op behind `keras.ops.slice_update`.
    """
    return tf.where(clock.is_newest(), heads, cache)


def fill(heads, lengths, num_slots: int):
    """Keep what is needed of a prompt's heads.

    Args:
        heads: (rows, heads, prompt, depth).
        lengths: (rows,) integers: how many tokens of each prompt are real;
            they come first.
        num_slots: Slots of the cache.

    Returns:
        (rows, heads, slots, depth); empty slots hold zeros.
    """
    positions = Clock(lengths - 1, num_slots).key_positions()
    last = tf.maximum(tf.shape(heads)[2] - 1, 0)
    # One row more, so that a prompt of no tokens can be gathered from.
    heads = tf.pad(heads, [[0, 0], [0, 0], [0, 1], [0, 0]])
    chosen = tf.transpose(heads, [0, 2, 1, 3])
    chosen = tf.gather(
        chosen, tf.clip_by_value(positions, 0, last), batch_dims=1
    )
    chosen = tf.transpose(chosen, [0, 2, 1, 3])
    real = (positions >= 0)[:, None, :, None]
    return tf.where(real, chosen, tf.zeros((), heads.dtype))
