"""Pictures of where each word of a caption looked."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from keras_attn.plot.answers import as_weights
from keras_attn.plot.answers import check_answer
from keras_attn.plot.answers import label
from keras_attn.plot.canvas import fit_to_drawing
from keras_attn.plot.canvas import font_families
from keras_attn.plot.panels import PANEL_WIDTH
from keras_attn.plot.panels import add_scale
from keras_attn.plot.panels import new_panels
from keras_attn.plot.pictures import as_picture

# The picture is still seen through the heaviest cell.
LIGHT, HEAVY = (0.9, 0.25, 0.1, 0.0), (0.9, 0.25, 0.1, 0.75)


def over_image(
    weights,
    image,
    words: Sequence | None = None,
    *,
    grid: tuple[int, int] | None = None,
    row: int = 0,
):
    """Draw attention weights over a picture: a panel for each word.

    The first panel is the picture alone. In the others, the redder a cell of
    the grid, the more the word attended to it. The reddest is the largest
    weight of all words, named by the scale, so that panels can be compared.

    Args:
        weights: (words, rows, columns) weights over a grid, or (words, cells)
            with `grid`; or what a captioner's `attention` answered, which has
            its own words. Of a `ViLBERT`'s answer, one row of
            "text_to_regions", or of "regions_to_text" with the last axis
            first: how much each place attended to the word.
        image: (height, width), (height, width, 1) or (height, width, 3), as
            the model saw it, cut and resized: uint8, or floats from 0 to 1.
        words: The words of the caption, or other labels.
        grid: Rows and columns, if the weights do not tell.
        row: Which caption of an answer is drawn.

    Returns:
        A `matplotlib.figure.Figure`; `figure.savefig("caption.png")` writes
        it. Words longer than 24 characters are shortened.

    Reference:
        Xu et al. 2015, figures 2 and 3. https://arxiv.org/abs/1502.03044
    """
    if isinstance(weights, Mapping):
        weights, words = _of_answer(weights, row, words)
    if words is None:
        raise ValueError("`words` are needed beside weights: their labels.")
    weights = _as_grids(weights, grid, len(words))
    image = as_picture(image)

    # A "$" in a word is not the start of a formula.
    text = dict(parse_math=False, fontfamily=font_families())
    height, width = image.shape[:2]
    figure, panels = new_panels(
        len(words) + 1, PANEL_WIDTH, PANEL_WIDTH * height / width
    )
    for axes in panels:
        axes.imshow(image, cmap="gray", vmin=0, vmax=1, aspect="auto")
        axes.set_axis_off()
    for axes, word, cells in zip(panels[1:], words, weights, strict=True):
        drawn = axes.imshow(
            cells,
            cmap=_colours(),
            aspect="auto",
            vmin=0.0,
            vmax=weights.max() or 1.0,
            extent=(-0.5, width - 0.5, height - 0.5, -0.5),
        )
        axes.set_title(label(word), fontsize=10, **text)
    add_scale(figure, panels, drawn, "weight")
    fit_to_drawing(figure)
    return figure


def _colours():
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("heat", [LIGHT, HEAVY])


def _of_answer(answer, row, words):
    """The weights of one caption and its words, without padding."""
    if words is not None:
        raise ValueError("An answer has its own words: leave `words` out.")
    check_answer(answer, ("answer_tokens", "weights", "answer_lengths"), row)
    length = int(answer["answer_lengths"][row])
    return (
        np.asarray(answer["weights"][row])[:length],
        list(answer["answer_tokens"][row][:length]),
    )


def _as_grids(weights, grid, num_words):
    """Check the weights and bring them to (words, rows, columns)."""
    weights = as_weights(weights)
    if weights.ndim == 2 and grid is not None:
        rows, columns = grid
        if rows * columns != weights.shape[1]:
            raise ValueError(
                "`grid` must have as many cells as there are weights for a "
                f"word. Received: grid={grid}, weights.shape={weights.shape}"
            )
        weights = weights.reshape((-1, rows, columns))
    if weights.ndim != 3:
        raise ValueError(
            "`weights` must be (words, rows, columns), or (words, cells) with "
            f"`grid`. Received: weights.shape={weights.shape}, grid={grid}. "
            "Of a batch, pick one example: weights[0]."
        )
    if grid is not None and weights.shape[1:] != tuple(grid):
        raise ValueError(
            "`weights` are on another grid than `grid`. Received: "
            f"weights.shape={weights.shape}, grid={grid}"
        )
    if 0 in weights.shape or len(weights) != num_words:
        raise ValueError(
            "`weights` needs a grid for each of `words`. Received: "
            f"weights.shape={weights.shape}, len(words)={num_words}. "
            "Cut padding off with weights[:num_words]."
        )
    return weights
