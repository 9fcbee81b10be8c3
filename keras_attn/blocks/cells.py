"""Any Keras RNN cell, with its states in one flat list."""

import inspect

import keras
from keras import ops
from keras import tree

from keras_attn.base import argument_checks
from keras_attn.blocks import gates
from keras_attn.ops.checks import agree

KINDS = {
    "gru": keras.layers.GRUCell,
    "lstm": keras.layers.LSTMCell,
    "simple": keras.layers.SimpleRNNCell,
}


def make_cell(kind: str, units: int, num_layers: int = 1, **options):
    """Make a Keras cell by name, or a stack of them.

    Args:
        kind: "gru", "lstm" or "simple".
        units: Width of its state.
        num_layers: How many stand on each other.
        options: Further arguments of each cell, such as `dropout`, `use_bias`
            and `dtype`.

    Returns:
        The cell, or `StackedRNNCells`.
    """
    argument_checks.choice(kind, "cell", KINDS)
    units = argument_checks.integer(units, "units", at_least=1)
    num_layers = argument_checks.integer(num_layers, "num_layers", at_least=1)
    cells = [
        KINDS[kind](units, name=f"{kind}_{number}", **options)
        for number in range(num_layers)
    ]
    if num_layers == 1:
        return cells[0]
    return keras.layers.StackedRNNCells(cells, dtype=options.get("dtype"))


def check_cell(cell):
    """Refuse what is no cell.

    Raises:
        ValueError: If it has no `state_size` or cannot be called.
    """
    if callable(cell) and hasattr(cell, "state_size"):
        return
    raise ValueError(
        "`cell` must be an RNN cell such as `keras.layers.GRUCell(units)`: a "
        "layer with a `state_size` and `call(inputs, states)`. Received: "
        f"{cell!r}. Of a layer such as `keras.layers.GRU`, give its cell."
    )


def layers_of(cell) -> list:
    """The cells of a stack, or the cell."""
    stacked = isinstance(cell, keras.layers.StackedRNNCells)
    return list(cell.cells) if stacked else [cell]


def state_sizes(cell) -> list[int]:
    """Width of each state of a cell, those of a stack one after the other."""
    return tree.flatten(cell.state_size)


def output_size(cell) -> int:
    """Width of what a cell puts out."""
    last = layers_of(cell)[-1]
    given = getattr(last, "output_size", None)
    return state_sizes(last)[0] if given is None else given


def zero_states(cell, rows) -> list:
    """The states that a cell starts from unless told otherwise.

    Args:
        cell: A built or unbuilt cell.
        rows: How many; may be a tensor.

    Returns:
        List of (rows, size) tensors.
    """
    if hasattr(cell, "get_initial_state"):
        return tree.flatten(cell.get_initial_state(batch_size=rows))
    dtype = cell.compute_dtype
    return [ops.zeros((rows, size), dtype) for size in state_sizes(cell)]


def as_states(cell, given, rows, further=()) -> list:
    """Take what a user gave as the states to start from.

    Args:
        cell: The cell.
        given: One tensor, or a nest of them in the cell's order; None for
            those that the cell starts from itself. The further ones may
            follow.
        rows: How many.
        further: What is carried besides the cell's states, as it starts.

    Returns:
        List of (rows, size) tensors in the cell's dtype, and the further ones.

    Raises:
        ValueError: If there are more or fewer, or one has another width.
    """
    further = list(further)
    if given is None:
        return [*zero_states(cell, rows), *further]
    given, sizes = tree.flatten(given), state_sizes(cell)
    if len(given) == len(sizes) + len(further):
        further = [
            _as_further(x, start)
            for x, start in zip(given[len(sizes) :], further, strict=True)
        ]
        given = given[: len(sizes)]
    check_states(given, sizes)
    own = [
        ops.cast(x, each.compute_dtype)
        for each, own in zip(
            layers_of(cell), states_by_layer(cell, given), strict=True
        )
        for x in own
    ]
    return [*own, *further]


def check_states(states: list, sizes: list[int]):
    """Refuse states of other widths than these, or another number of them."""
    shapes = [tuple(x.shape) for x in states]
    fit = len(shapes) == len(sizes) and all(
        len(shape) == 2 and shape[1] in (None, size)
        for shape, size in zip(shapes, sizes, strict=True)
    )
    if not fit:
        wanted = ", ".join(f"(batch, {size})" for size in sizes)
        raise ValueError(
            "`initial_state` must be the states of the cell, in its order: "
            f"{wanted}. Received shapes: {shapes}. An LSTM has two, the hidden "
            "state and the memory cell; of a stack the first layer's come "
            "first."
        )


def states_by_layer(cell, states: list) -> list[list]:
    """Part a flat list of states by the layers of a stack."""
    parted, states = [], list(states)
    for each in layers_of(cell):
        number = len(state_sizes(each))
        parted.append(states[:number])
        states = states[number:]
    return parted


def project_inputs(cell, inputs, training=None):
    """Make what can be made of the inputs of all steps before they are gone.

    Args:
        cell: A built cell.
        inputs: (time, batch, features), in any order of time.
        training: Whether anything is dropped.

    Returns:
        A nest of (time, batch, ...), of which `step_cell` takes one step.
    """
    return gates.project(layers_of(cell)[0], inputs, training)


def step_cell(cell, inputs, states: list, training=None, *, more=None):
    """Go one step.

    Args:
        cell: A built cell.
        inputs: (batch, features), or a step of what `project_inputs` made.
        states: List of (batch, size) tensors.
        training: Whether anything is dropped.
        more: (batch, features) that stand after the inputs, or None.

    Returns:
        (batch, output) and the list of new states.
    """
    if isinstance(inputs, gates.Projected):
        first, *others = layers_of(cell)
        own, *before = states_by_layer(cell, states)
        x, after = gates.step(first, inputs, own, more)
        for each, own in zip(others, before, strict=True):
            x, own = step_cell(each, x, own, training)
            after = [*after, *own]
        return x, after
    if more is not None:
        inputs = ops.concatenate([inputs, more], axis=-1)
    sizes = cell.state_size
    if tree.is_nested(sizes):
        states = tree.pack_sequence_as(sizes, states)
    options = {}
    if "training" in inspect.signature(cell.call).parameters:
        options["training"] = training
    output, states = cell(inputs, states, **options)
    return output, tree.flatten(states)


def forget_dropout(cell):
    """Let a cell drop others in the next sequence.

    Keras' cells keep what they drop for all steps of a sequence, as tensors
    of the graph that made them, and leave it to whoever steps them to clear
    that.
    """
    for each in layers_of(cell):
        if hasattr(each, "reset_dropout_mask"):
            each.reset_dropout_mask()
            each.reset_recurrent_dropout_mask()


def _as_further(given, start):
    """Take what was carried besides a cell's states; refuse what was not."""
    shapes = tuple(given.shape), tuple(start.shape)
    if len(shapes[0]) != len(shapes[1]) or not all(map(agree, *shapes)):
        raise ValueError(
            "`initial_state` must be the states of the wrapped cell, or all "
            "that a call returned for memories of the same length. Received "
            f"one of shape {shapes[0]} in place of {shapes[1]}."
        )
    return ops.cast(given, start.dtype)


def check_state_dropout(state_dropout: float, attention) -> None:
    """Refuse to let a decoder forget what it cannot look up again."""
    if state_dropout and attention is None:
        raise ValueError(
            "`state_dropout` is for decoders that can look again: without "
            "attention the state is all they know of the source. "
            f"Received: attention=None, state_dropout={state_dropout}"
        )
