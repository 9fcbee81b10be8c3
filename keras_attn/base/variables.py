"""Variables that are about to be read from a file: no work or memory twice."""

import contextlib

import tensorflow as tf


class InitialValues:
    """What variables would have begun with, had they been given it."""

    def __init__(self):
        self._by_variable = {}

    def keep(self, variable, make):
        """Note the function that makes a variable's initial value."""
        self._by_variable[id(variable)] = (variable, make)

    def give(self, variables):
        """Give some variables of Keras their initial values after all."""
        for variable in variables:
            kept = self._by_variable.get(id(variable.value))
            if kept is not None:
                variable.assign(kept[1]())


@contextlib.contextmanager
def without_initial_values():
    """Let variables that are made inside be 0.

    Random numbers for what is overwritten at once would cost time, and memory
    that the allocator keeps.

    Yields:
        The `InitialValues` that they would have had.
    """
    values = InitialValues()

    def create(next_creator, **options):
        make = options.get("initial_value")
        if not callable(make):
            return next_creator(**options)
        with tf.Graph().as_default():  # nothing is computed here
            spec = tf.TensorSpec.from_tensor(tf.convert_to_tensor(make()))
        options["initial_value"] = lambda: tf.zeros(spec.shape, spec.dtype)
        variable = next_creator(**options)
        values.keep(variable, make)
        return variable

    with tf.variable_creator_scope(create):
        yield values


def assign_rows(variable, start: int, rows):
    """Overwrite some of a variable's rows, in place.

    `variable[start:end].assign(rows)` would read the variable, and then copy
    it because it is being read.

    Args:
        variable: A variable of Keras, (all rows, ...).
        start: The first of them.
        rows: (rows, ...) numbers.
    """
    value = variable.value
    # Under a strategy each device has its own.
    for copy in getattr(value, "values", (value,)):
        tf.raw_ops.ResourceStridedSliceAssign(
            ref=copy.handle,
            begin=[start],
            end=[start + len(rows)],
            strides=[1],
            value=tf.cast(rows, variable.dtype),
        )
