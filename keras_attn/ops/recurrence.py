"""The loop over time that every recurrent layer runs."""

import tensorflow as tf
from keras import tree


def recur(step, inputs, states: list, *, mask=None, go_backwards: bool = False):
    """Go through sequences step by step.

        output(t), states(t) = step(input(t), states(t - 1))    at a token
        output(t), states(t) = 0, states(t - 1)                 at padding

    One `tf.while_loop`: a graph does not grow with the length, which need not
    be known. What `step` reads besides its arguments, such as a memory, stays
    outside of the loop.

    Args:
        step: `step(inputs, states) -> (outputs, states)`, both nests of
            (batch, ...) tensors; the states keep their shapes and dtypes.
        inputs: Nest of (batch, time, ...) tensors; finite at padding, if
            gradients are to be.
        states: List of (batch, ...) tensors.
        mask: (batch, time) booleans, False for padding, or None.
        go_backwards: Whether to begin with the last step. The outputs stand
            where their inputs do.

    Returns:
        Nest of (batch, time, ...) outputs, and the list of last states.
    """
    sequences = tree.map_structure(_time_first, inputs)
    rows = tree.flatten(sequences)
    given = [tf.convert_to_tensor(x) for x in states]
    mask = None if mask is None else _time_first(mask)
    length, added = rows[0].shape[0], 0
    if length is None:
        # Steps of a size that only the running graph knows cannot be stacked
        # if there are none.
        added = tf.cast(tf.shape(rows[0])[0] == 0, tf.int32)
        sequences = tree.map_structure(
            lambda x: _longer_by(x, added), sequences
        )
        mask = None if mask is None else _longer_by(mask, added)
        length = tf.shape(rows[0])[0] + added

    # A step whose results are not used tells the shapes of the outputs, and
    # makes what a cell keeps for all steps, its dropout masks, outside of the
    # loop.
    first = tree.map_structure(_empty_step, sequences)
    outputs, _ = step(first, list(given))
    written = [
        tf.TensorArray(x.dtype, length, element_shape=x.shape)
        for x in tree.flatten(outputs)
    ]

    def advance(count, written, before):
        time = length - 1 - count if go_backwards else count
        inputs = tree.map_structure(lambda x: x[time], sequences)
        new, after = step(inputs, list(before))
        new = tree.flatten(new)
        if mask is not None:
            real = mask[time]
            new = [_where(real, x, tf.zeros_like(x)) for x in new]
            after = [
                _where(real, x, old)
                for x, old in zip(after, before, strict=True)
            ]
        written = [
            array.write(time, x) for array, x in zip(written, new, strict=True)
        ]
        return count + 1, written, list(after)

    _, written, states = tf.while_loop(
        lambda count, *_: count < length,
        advance,
        (tf.constant(0), written, given),
        # Known before the loop: XLA needs it to make room for the gradient.
        maximum_iterations=length,
    )
    stacked = [array.stack() for array in written]
    if tf.is_tensor(added):
        stacked = [x[: length - added] for x in stacked]
        states = [
            tf.where(added == 0, x, start)
            for x, start in zip(states, given, strict=True)
        ]
    stacked = [_time_first(x) for x in stacked]
    return tree.pack_sequence_as(outputs, stacked), list(states)


def _time_first(x):
    """(batch, time, ...) ↔ (time, batch, ...)."""
    x = tf.convert_to_tensor(x)
    return tf.transpose(x, [1, 0, *range(2, x.shape.rank)])


def _longer_by(x, number):
    """(time + number, batch, ...), zeros after what was there."""
    return tf.pad(x, [[0, number], *[[0, 0]] * (x.shape.rank - 1)])


def _empty_step(x):
    """Zeros like one step of (time, batch, ...), also if there is none."""
    step = tf.zeros(tf.shape(x)[1:], x.dtype)
    step.set_shape(x.shape[1:])
    return step


def _where(real, new, old):
    ones = [1] * (new.shape.rank - 1)
    return tf.where(tf.reshape(real, [-1, *ones]), new, old)
