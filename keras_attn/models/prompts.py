"""Prompts of unequal length in one batch."""

from keras import ops

from keras_attn.ops import checks


def lengths_of(inputs, pad_id: int | None):
    """Lay prompts out as rows, and count their tokens.

    Args:
        inputs: (rows, prompt) ids, ragged, or dense and filled up with
            `pad_id` at the end; or `{"tokens": (rows, prompt), "lengths":
            (rows,)}`, where nothing after a row's length is looked at.
        pad_id: The id that is padding; None if none is, so that dense
            prompts have no padding.

    Returns:
        (rows, prompt) ids and (rows,) lengths, int32.

    Raises:
        InvalidArgumentError: If padding stands before a token. In a graph it
            fails when the graph runs; XLA drops the check.
    """
    if isinstance(inputs, dict):
        return tuple(
            ops.cast(ops.convert_to_tensor(inputs[name]), "int32")
            for name in ("tokens", "lengths")
        )
    if hasattr(inputs, "row_lengths"):  # a RaggedTensor
        lengths = ops.cast(inputs.row_lengths(), "int32")
        return ops.cast(inputs.to_tensor(pad_id or 0), "int32"), lengths
    tokens = ops.cast(ops.convert_to_tensor(inputs), "int32")
    rows, width = ops.shape(tokens)
    if pad_id is None:
        return tokens, ops.zeros((rows,), "int32") + width
    real = ops.cast(tokens != pad_id, "int32")
    lengths = ops.sum(real, axis=1)
    places = ops.arange(width, dtype="int32")[None]
    late = real * ops.cast(places >= lengths[:, None], "int32")
    checks.at_most(
        ops.sum(late),
        0,
        f"In a prompt the padding, pad_id={pad_id}, comes after all tokens. "
        "Pad on the right, or give ragged prompts.",
    )
    return tokens, lengths
