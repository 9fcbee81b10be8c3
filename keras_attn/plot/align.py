"""A picture of the attention weights of each written token."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from keras_attn.plot.answers import as_weights
from keras_attn.plot.answers import check_answer
from keras_attn.plot.answers import label
from keras_attn.plot.canvas import fit_to_drawing
from keras_attn.plot.canvas import font_families
from keras_attn.plot.canvas import light_to_dark
from keras_attn.plot.canvas import new_figure

INCHES_PER_TOKEN = 0.36
SCALE_WIDTH = 0.15  # inches
SCALE_TOKENS = 4, 12  # the scale is as high as the table, within these


def alignment(
    weights,
    source: Sequence | None = None,
    target: Sequence | None = None,
    *,
    row: int = 0,
):
    """Draw attention weights as a table: a row for each token written.

    The darker a cell, the more the row's token attended to the column's. White
    is 0; the darkest colour is the largest weight, named by the scale.

    Args:
        weights: (target, source) weights of one example, or (heads, target,
            source), of which the mean over heads is drawn.
        source: Labels of the positions attended to; a string is taken as its
            characters.
        target: Labels of the positions that attend, likewise.

    Returns:
        A `matplotlib.figure.Figure`; `figure.savefig("alignment.png")` writes
        it. Labels longer than 24 characters are shortened.

    Reference:
        Bahdanau et al. 2015, figure 3. https://arxiv.org/abs/1409.0473
    """
    if isinstance(weights, Mapping):
        weights, source, target = _of_answer(weights, row, source, target)
    if source is None or target is None:
        raise ValueError(
            "`source` and `target` are needed beside weights: the labels of "
            "the columns and of the rows."
        )
    weights = _as_table(weights, len(source), len(target))
    source = [label(token) for token in source]
    target = [label(token) for token in target]

    width = len(source) * INCHES_PER_TOKEN
    height = len(target) * INCHES_PER_TOKEN
    figure = new_figure(width, height)
    axes = figure.add_axes((0, 0, 1, 1))
    image = axes.imshow(weights, cmap=light_to_dark(), vmin=0.0, aspect="auto")
    scale_height = np.clip(len(target), *SCALE_TOKENS) / len(target)
    scale = figure.colorbar(
        image,
        cax=figure.add_axes(
            (
                1 + SCALE_WIDTH / width,
                1 - scale_height,
                SCALE_WIDTH / width,
                scale_height,
            )
        ),
        label="weight",
    )
    scale.outline.set_visible(False)

    # A "$" in a token is not the start of a formula.
    text = dict(parse_math=False, fontfamily=font_families())
    rotation = 0 if max(map(len, source)) <= 2 else 90
    axes.set_xticks(range(len(source)), source, rotation=rotation, **text)
    axes.set_yticks(range(len(target)), target, **text)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("source")
    axes.set_ylabel("target")
    axes.tick_params(length=0)

    # Pale lines between the cells lead the eye from a label to its cell.
    axes.set_xticks(np.arange(len(source) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(target) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#dddddd", linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)

    fit_to_drawing(figure)
    return figure


def _of_answer(answer, row, source, target):
    """The weights of one text and its labels, without padding."""
    if source is not None or target is not None:
        raise ValueError(
            "An answer has its own labels: leave `source` and `target` out."
        )
    needed = ("source_tokens", "source_lengths", "answer_tokens")
    needed = *needed, "weights", "answer_lengths"
    check_answer(answer, needed, row)
    width, height = (
        int(answer[name][row]) for name in ("source_lengths", "answer_lengths")
    )
    return (
        np.asarray(answer["weights"][row])[:height, :width],
        list(answer["source_tokens"][row][:width]),
        list(answer["answer_tokens"][row][:height]),
    )


def _as_table(weights, num_source, num_target):
    """Check the weights and bring them to (target, source)."""
    weights = as_weights(weights)
    if weights.ndim not in (2, 3):
        raise ValueError(
            "`weights` must be (target, source) or (heads, target, source). "
            f"Received: weights.shape={weights.shape}. "
            "Of a batch, pick one example: weights[0]."
        )
    if 0 in weights.shape or weights.shape[-2:] != (num_target, num_source):
        raise ValueError(
            "`weights` needs a row for each label of `target` and a column "
            f"for each of `source`. Received: weights.shape={weights.shape}, "
            f"len(target)={num_target}, len(source)={num_source}. "
            "Cut padding off with weights[:num_target, :num_source]."
        )
    return weights.mean(axis=0) if weights.ndim == 3 else weights
