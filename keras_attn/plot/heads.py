"""A picture of all heads of a layer."""

from collections.abc import Sequence

import numpy as np

from keras_attn.plot.answers import as_weights
from keras_attn.plot.answers import label
from keras_attn.plot.canvas import fit_to_drawing
from keras_attn.plot.canvas import font_families
from keras_attn.plot.canvas import light_to_dark
from keras_attn.plot.panels import PANEL_WIDTH
from keras_attn.plot.panels import PANELS_PER_ROW
from keras_attn.plot.panels import add_scale
from keras_attn.plot.panels import new_panels

INCHES_PER_LABEL = 0.16
LABEL_SIZE = 7  # points
# A layer with one query or one key still has a panel that can be seen.
PROPORTIONS = 1 / 3, 3


def heads(
    weights,
    source: Sequence | None = None,
    target: Sequence | None = None,
):
    """Draw the attention weights of each head: a panel for each.

    A panel has a row for each position that attends and a column for each that
    is attended to. White is 0; the darkest colour is the largest weight of all
    heads, named by the scale, so that panels can be compared.

    Args:
        weights: (heads, query, key) weights of one example, such as
            `layer(..., return_attention_scores=True)[1][0]`.
        source: Labels of the keys; a string is taken as its characters.
        target: Labels of the queries, likewise.

    Returns:
        A `matplotlib.figure.Figure`; `figure.savefig("heads.png")` writes it.
        Heads are numbered from 0. Labels stand at the left and below, and are
        shortened if they are longer than 24 characters.

    Reference:
        Vaswani et al. 2017, figures 3 to 5. https://arxiv.org/abs/1706.03762
    """
    weights = _as_heads(weights)
    queries, keys = weights.shape[1:]
    source = _labels(source, "source", keys)
    target = _labels(target, "target", queries)
    width = max(PANEL_WIDTH, len(source) * INCHES_PER_LABEL)
    height = max(
        width * np.clip(queries / keys, *PROPORTIONS),
        len(target) * INCHES_PER_LABEL,
    )
    figure, panels = new_panels(len(weights), width, height)
    # A "$" in a token is not the start of a formula.
    text = dict(
        parse_math=False, fontfamily=font_families(), fontsize=LABEL_SIZE
    )
    for number, (axes, head) in enumerate(zip(panels, weights, strict=True)):
        drawn = axes.imshow(
            head,
            cmap=light_to_dark(),
            aspect="auto",
            vmin=0.0,
            vmax=weights.max() or 1.0,
        )
        axes.set_title(f"head {number}", fontsize=10)
        axes.tick_params(length=0)
        is_lowest = number + PANELS_PER_ROW >= len(weights)
        below = source if is_lowest else []
        left = [] if number % PANELS_PER_ROW else target
        axes.set_xticks(range(len(below)), below, rotation=90, **text)
        axes.set_yticks(range(len(left)), left, **text)
    add_scale(figure, panels, drawn, "weight")
    fit_to_drawing(figure)
    return figure


def _as_heads(weights):
    weights = as_weights(weights)
    if weights.ndim != 3 or 0 in weights.shape:
        raise ValueError(
            "`weights` must be (heads, query, key). Received: "
            f"weights.shape={weights.shape}. Of a batch, pick one example: "
            "weights[0]."
        )
    return weights


def _labels(tokens, name, count):
    """The labels of an axis: none, or one for each position."""
    if tokens is None:
        return []
    if len(tokens) != count:
        raise ValueError(
            f"`{name}` must have a label for each of {count} positions. "
            f"Received: {len(tokens)}. Cut padding off the weights: "
            "weights[:, :num_target, :num_source]."
        )
    return [label(token) for token in tokens]
