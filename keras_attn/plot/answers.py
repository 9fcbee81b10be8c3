"""What pictures are drawn of: weights, tokens, and a servable's answers."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
from keras import ops

MAX_LABEL = 24  # characters, beyond which a label would dwarf the picture


def as_weights(weights) -> np.ndarray:
    """Check that weights can be drawn, and return them in float64."""
    weights = np.asarray(ops.convert_to_numpy(weights), "float64")
    if not np.isfinite(weights).all() or weights.min(initial=0) < 0:
        raise ValueError(
            "`weights` must be finite and not negative, as after a softmax. "
            f"Received: minimum {weights.min()}, maximum {weights.max()}."
        )
    return weights


def check_answer(answer: Mapping, needed: Sequence[str], row: int) -> None:
    """Refuse what is no answer of a servable's `attention`, or has no `row`.

    Args:
        answer: (batch, ...) arrays or lists by name.
        needed: The names that are drawn, "weights" among them. The last is 0
            or False in a row that was not valid.
        row: Which one of the batch is drawn.
    """
    missing = [name for name in needed if name not in answer]
    if missing:
        raise ValueError(
            "An answer that can be drawn is that of a servable's `attention`, "
            f"with {', '.join(needed)}. Received one without: "
            f"{', '.join(missing)}"
        )
    rows = len(answer["weights"])
    if not -rows <= row < rows:
        raise ValueError(
            f"`row` must be one of the answer's {rows}, from 0. "
            f"Received: row={row}"
        )
    if not int(answer[needed[-1]][row]):
        raise ValueError(
            f"There is nothing to draw: row {row} was not valid, so nothing "
            "was answered. Draw another `row`."
        )


def label(token) -> str:
    """Turn a token into one line that can be seen and is not too long."""
    text = (
        token.decode("utf-8", "replace") if isinstance(token, bytes) else token
    )
    text = str(text)
    if text.isspace():
        text = repr(text)[1:-1].replace(" ", "␣")
    text = text.replace("\n", "\\n").replace("\t", "\\t")
    if len(text) > MAX_LABEL:
        text = text[: MAX_LABEL - 1] + "…"
    return text
