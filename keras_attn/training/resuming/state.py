"""All variables that a step of training changes, as arrays on the host."""

import re

import keras
import numpy as np
import tensorflow as tf

from keras_attn.training.resuming import replicas
from keras_attn.training.resuming.replicas import ReplicaReader
from keras_attn.training.resuming.replicas import may_differ

# How many differences an error lists.
_LISTED = 5


def groups(model: keras.Model) -> dict:
    """The variables of a model, its optimizers and its metrics.

    Seeds of random numbers and moving averages are among the model's.
    """
    return {
        "model": model.variables,
        "optimizer": [v for each in optimizers(model) for v in each.variables],
        "metric": model.metrics_variables,
    }


def optimizers(model: keras.Model) -> list:
    """Every optimizer that a model has, such as the two of a SAGAN."""
    found = {}
    for value in (model.optimizer, *vars(model).values()):
        if isinstance(value, dict):
            value = list(value.values())
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, keras.optimizers.Optimizer):
                found[id(each)] = each
    return list(found.values())


def describe(model: keras.Model) -> list:
    """Say what variables there are: rows of group, name, shape and dtype."""
    return [
        [
            group,
            _name(v),
            list(v.shape),
            keras.backend.standardize_dtype(v.dtype),
        ]
        for group, variables in groups(model).items()
        for v in variables
    ]


def capture(model: keras.Model, reader: ReplicaReader | None = None) -> list:
    """Copy the values of all variables, in the order of `describe`.

    Under a strategy with several workers all of them must do it at once.

    Args:
        model: A built model.
        reader: One that is kept reads other workers faster.

    Returns:
        NumPy arrays; of what replicas change on their own, as metrics, with
        the values of all of them, (replicas, ...).
    """
    strategy = model.distribute_strategy
    reader = reader or ReplicaReader(strategy)
    variables = [v for each in groups(model).values() for v in each]
    with strategy.scope():
        special = iter(reader.read([v for v in variables if may_differ(v)]))
        return [
            next(special)
            if may_differ(v)
            # A copy: NumPy may show the very memory that is trained.
            else np.array(keras.ops.convert_to_numpy(v))
            for v in variables
        ]


def restore(
    model: keras.Model,
    described: list,
    arrays: list,
    *,
    only: str | None = None,
) -> None:
    """Give variables the values that `capture` has copied.

    Args:
        model: One that `check` has let pass.
        described: What `describe` has said of the model that was saved.
        arrays: The values, and perhaps others after them.
        only: The one group to restore, or None for all.
    """
    saved = [
        (array, len(shape))
        for (group, _, shape, _), array in zip(described, arrays, strict=False)
        if only in (None, group)
    ]
    variables = [
        v
        for group, each in groups(model).items()
        for v in each
        if only in (None, group)
    ]
    strategy = model.distribute_strategy
    with strategy.scope():
        own = []
        for variable, (array, rank) in zip(variables, saved, strict=True):
            if array.ndim > rank:
                own.append((variable, array))
            else:
                variable.assign(tf.convert_to_tensor(array))
        replicas.write(own, strategy)


def check(
    model: keras.Model, described: list, source, *, only: str | None = None
) -> None:
    """Refuse the variables of another model.

    Args:
        model: A built model.
        described: What `describe` has said of the model that was saved.
        source: Where it was saved.
        only: The one group to look at, or None for all.

    Raises:
        ValueError: That says which variables differ.
    """
    saved, present = (
        [tuple(map(str, row)) for row in rows if only in (None, row[0])]
        for rows in (described, describe(model))
    )
    if saved == present:
        return
    lines = [
        f"  {_line(a)} in the checkpoint, {_line(b)} here"
        for a, b in _pairs(saved, present)
        if a != b
    ]
    more = len(lines) - _LISTED
    raise ValueError(
        f"{source} is of another model than {model.name!r}:\n"
        + "\n".join(lines[:_LISTED])
        + (f"\n  and {more} more" if more > 0 else "")
        + "\nMake the model and compile it as the run did that saved it, or "
        "give another folder."
    )


def _name(variable):
    # Keras numbers the layers of a process; the same model made twice in one
    # is still the same.
    return re.sub(r"_\d+(?=[/_]|$)", "", variable.path)


def _pairs(saved, present):
    longest = max(len(saved), len(present))
    for index in range(longest):
        yield (
            saved[index] if index < len(saved) else None,
            present[index] if index < len(present) else None,
        )


def _line(row):
    if row is None:
        return "nothing"
    group, name, shape, dtype = row
    return f"{group} variable {name} {shape} {dtype}"
