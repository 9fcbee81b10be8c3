"""Keys and values that are kept from step to step, in a few slots."""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class CacheIndex:
    """Where each row stands, and which position each slot of a cache holds.

        position p is kept in slot (p - first) mod slots    if it rolls
                               slot  p - first              if not

    A cache of `window` slots rolls: the newest position takes the place of the
    one that has just left the window. One that does not must have as many
    slots as there will be positions.

    Args:
        positions: (rows,) integers, the position of the newest token.
        num_slots: Slots of a cache.
        first: The first position that is kept; a number or (rows,).
        rolls: Whether a full cache drops its oldest position for the newest.
    """

    positions: tf.Tensor
    num_slots: int | tf.Tensor
    first: int | tf.Tensor = 0
    rolls: bool = True

    def key_positions(self):
        """(rows, slots) position in each slot; below 0 where it is empty."""
        newest = (self.positions - self.first)[:, None]
        slots = tf.range(self.num_slots)
        if not self.rolls:
            first = tf.reshape(self.first, [-1, 1])
            return tf.where(slots <= newest, slots + first, -1)
        kept = newest - (newest - slots) % self.num_slots
        first = self.positions[:, None] - newest
        return tf.where(kept < 0, kept, kept + first)

    def is_newest(self):
        """(rows, 1, slots, 1) booleans: the slot of the newest token."""
        slot = self.positions - self.first
        if self.rolls:
            slot %= self.num_slots
        newest = slot[:, None] == tf.range(self.num_slots)
        return newest[:, None, :, None]


def write(cache, heads, newest):
    """Put the newest token's heads into their slot.

    Args:
        cache: (rows, heads, slots, depth).
        heads: (rows, heads, 1, depth).
        newest: (rows, 1, slots, 1) booleans, from `CacheIndex.is_newest`.

    Returns:
        Like `cache`. A `where`, because TF Serving, with XLA off, refuses the
        op behind `keras.ops.slice_update`.
    """
    return tf.where(newest, heads, cache)


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
    positions = CacheIndex(lengths - 1, num_slots).key_positions()
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
