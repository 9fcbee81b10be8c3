"""The loop over time that every recurrent layer runs."""

import tensorflow as tf
from keras import tree

from keras_attn.ops.loop_invariant import SharedProducts


def recur(
    step,
    inputs,
    states: list,
    *,
    mask=None,
    go_backwards: bool = False,
    project=lambda inputs: inputs,
):
    """Go through sequences step by step.

        output(t), states(t) = step(input(t), states(t - 1))    at a token
        output(t), states(t) = 0, states(t - 1)                 at padding

    One `tf.while_loop`: a graph does not grow with the length, which need not
    be known. What `step` reads besides its arguments, such as a memory, stays
    outside of the loop, and so do the gradients of its `shared_product`s.

    Args:
        step: `step(inputs, states) -> (outputs, states)`, both nests of
            (batch, ...) tensors; the states keep their shapes and dtypes.
        inputs: Nest of (batch, time, ...) tensors; finite at padding, if
            gradients are to be.
        states: List of (batch, ...) tensors.
        mask: (batch, time) booleans, False for padding, or None.
        go_backwards: Whether to begin with the last step. The outputs stand
            where their inputs do.
        project: What to make of the inputs before the loop: from a nest of
            (time, batch, ...), in any order of time, to another.

    Returns:
        Nest of (batch, time, ...) outputs, and the list of last states.
    """
    inputs = tree.map_structure(_time_first, inputs)
    given = [tf.convert_to_tensor(x) for x in states]
    mask = None if mask is None else _time_first(mask)
    some = tree.flatten(inputs)[0]
    length, added = some.shape[0], 0
    if length is None:
        # Steps of a size that only the running graph knows cannot be stacked
        # if there are none.
        added = tf.cast(tf.shape(some)[0] == 0, tf.int32)
        inputs = tree.map_structure(lambda x: _longer_by(x, added), inputs)
        mask = None if mask is None else _longer_by(mask, added)
        length = tf.shape(some)[0] + added
    if not go_backwards:
        inputs = tree.map_structure(lambda x: tf.reverse(x, [0]), inputs)
    inputs = project(inputs)  # the last one is the first to be taken

    # A step whose results are not used tells the shapes of the outputs, and
    # makes what a cell keeps for all steps, its dropout masks, outside of the
    # loop.
    first = tree.map_structure(_empty_step, inputs)
    products = SharedProducts()
    outputs, _ = products.find(step, first, list(given))
    zeros = products.zeros(length, tf.shape(some)[1])
    read = [*tree.flatten(inputs), *zeros]
    written, factors = (
        [tf.TensorArray(x.dtype, length, element_shape=x.shape) for x in each]
        for each in (tree.flatten(outputs), products.first_factors)
    )

    def advance(count, lists, written, factors, before):
        left = length - 1 - count
        time = left if go_backwards else count
        popped = [_pop(each, x) for each, x in zip(lists, read, strict=True)]
        lists, now = ([pair[k] for pair in popped] for k in range(2))
        number = len(now) - len(zeros)
        (new, after), multiplied = products.defer(
            step,
            now[number:],
            tree.pack_sequence_as(inputs, now[:number]),
            list(before),
        )
        new = tree.flatten(new)
        if mask is not None:
            real = mask[time]
            new = [_where(real, x, tf.zeros_like(x)) for x in new]
            after = [
                _where(real, x, old)
                for x, old in zip(after, before, strict=True)
            ]
        written = _write(written, time, new)
        # As the gradients of the zeros stand.
        factors = _write(factors, left, multiplied)
        return count + 1, lists, written, factors, list(after)

    _, _, written, factors, states = tf.while_loop(
        lambda count, *_: count < length,
        advance,
        (tf.constant(0), [_as_list(x) for x in read], written, factors, given),
        # Known before the loop: XLA needs it to make room for the gradient.
        maximum_iterations=length,
    )
    products.factors = [array.stack() for array in factors]
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


def _as_list(x):
    """The steps of (time, ...), as a list of which `_pop` takes the last.

    The gradient of what was taken is put on a list of gradients. That of
    x[time] would be as large as x in every step, and then be added up.
    """
    return tf.raw_ops.TensorListFromTensor(
        tensor=x, element_shape=_known_axes(x)
    )


def _pop(steps, x):
    """What is left of a list that was x, and the step that was its last."""
    steps, last = tf.raw_ops.TensorListPopBack(
        input_handle=steps, element_shape=_known_axes(x), element_dtype=x.dtype
    )
    last.set_shape(x.shape[1:])
    return steps, last


def _known_axes(x):
    """Shape of a step of (time, ...), -1 where it is not known."""
    return tf.constant([-1 if n is None else n for n in x.shape[1:]], tf.int32)


def _write(arrays, time, values):
    pairs = zip(arrays, values, strict=True)
    return [array.write(time, x) for array, x in pairs]


def _where(real, new, old):
    ones = [1] * (new.shape.rank - 1)
    return tf.where(tf.reshape(real, [-1, *ones]), new, old)
