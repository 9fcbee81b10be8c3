"""Ids of unequal length in one batch."""

from keras import ops

from keras_attn.ops import checks


def as_rows(inputs, pad_id: int | None):
    """Fill ragged ids up to rows of one length; dense ones stay as they are.

    Args:
        inputs: (rows, length) ids, ragged or dense, or a dictionary of them.
        pad_id: What rows are filled up with; "segments" with 0.

    Returns:
        The same, dense.

    Raises:
        ValueError: If ragged ids are given and no id is padding.
    """
    if isinstance(inputs, dict):
        return {
            name: as_rows(ids, 0 if name == "segments" else pad_id)
            for name, ids in inputs.items()
        }
    if not hasattr(inputs, "row_lengths"):  # no RaggedTensor
        return inputs
    if pad_id is None:
        raise ValueError(
            "Ragged ids are filled up with padding, and this model has "
            "pad_id=None. Make it with a `pad_id`, or give dense ids."
        )
    return inputs.to_tensor(pad_id)


def lengths_of(inputs, pad_id: int | None):
    """Lay prompts out as rows, and count their tokens.

    Args:
        inputs: (rows, prompt) ids, ragged, or dense and filled up with
            `pad_id` at the end; or `{"tokens": (rows, prompt)}`; or with
            "lengths", (rows,), so that nothing after them is attended to.
        pad_id: The id that is padding; None if none is, so that dense
            prompts have no padding.

    Returns:
        (rows, prompt) ids and (rows,) lengths, int32.

    Raises:
        InvalidArgumentError: If padding stands before a token. In a graph it
            fails when the graph runs; XLA drops the check.
    """
    if isinstance(inputs, dict) and "lengths" in inputs:
        inputs = as_rows(inputs, pad_id or 0)
        return tuple(
            ops.cast(ops.convert_to_tensor(inputs[name]), "int32")
            for name in ("tokens", "lengths")
        )
    if isinstance(inputs, dict):
        inputs = inputs["tokens"]
    if hasattr(inputs, "row_lengths"):
        lengths = ops.cast(inputs.row_lengths(), "int32")
        return ops.cast(inputs.to_tensor(pad_id or 0), "int32"), lengths
    tokens = ops.cast(ops.convert_to_tensor(inputs), "int32")
    rows, width = ops.shape(tokens)
    if pad_id is None:
        return tokens, ops.zeros((rows,), "int32") + width
    real = ops.cast(tokens != pad_id, "int32")
    lengths = ops.sum(real, axis=1)
    positions = ops.arange(width, dtype="int32")[None]
    late = real * ops.cast(positions >= lengths[:, None], "int32")
    checks.at_most(
        ops.sum(late),
        0,
        f"In a prompt the padding, pad_id={pad_id}, comes after all tokens. "
        "Pad on the right, or give ragged prompts.",
    )
    return tokens, lengths


def before_last(tokens, lengths, start_id: int):
    """Part prompts into what comes before their last tokens, and those.

    Args:
        tokens, lengths: (rows, prompt) and (rows,), as from `lengths_of`.
        start_id: Stands for the last token of a prompt that has none.

    Returns:
        `{"tokens", "lengths"}`, which `lengths_of` takes, and (rows,) tokens.
    """
    before = ops.maximum(lengths - 1, 0)
    # One column more, so that there is one even if all prompts are empty.
    wider = ops.pad(tokens, ((0, 0), (0, 1)))
    last = ops.take_along_axis(wider, before[:, None], axis=1)[:, 0]
    last = ops.where(lengths > 0, last, start_id)
    return {"tokens": tokens, "lengths": before}, last
