"""Many images beside each other."""

from collections.abc import Sequence

import numpy as np

from keras_attn.plot.answers import label
from keras_attn.plot.canvas import fit_to_drawing
from keras_attn.plot.canvas import font_families
from keras_attn.plot.canvas import new_figure
from keras_attn.plot.pictures import as_pictures

IMAGE_WIDTH = 0.6  # inches
_GAP = 0.06  # of the height of an image


def grid(images, *, columns: int = 10, labels: Sequence | None = None):
    """Draw images in rows, such as those that a model has made.

    Args:
        images: (batch, height, width), or with 1 or 3 channels as the last
            axis: uint8, or floats from 0 to 1.
        columns: How many stand in a row.
        labels: Names of the columns, such as those of classes.

    Returns:
        A `matplotlib.figure.Figure`; `figure.savefig("images.png")` writes
        it.

    Reference:
        Zhang et al. 2019, figure 6. https://arxiv.org/abs/1805.08318
    """
    pictures = as_pictures(images)
    if columns < 1 or (labels is not None and len(labels) != columns):
        raise ValueError(
            "`columns` must be at least 1, and `labels` have a name for each. "
            f"Received: columns={columns}, labels={labels}"
        )
    count, height, width = pictures.shape[:3]
    rows = -(-count // columns)
    gap = max(1, round(_GAP * height))
    canvas = np.ones(
        (
            rows * (height + gap) - gap,
            columns * (width + gap) - gap,
            *pictures.shape[3:],
        )
    )
    for number, picture in enumerate(pictures):
        row, column = divmod(number, columns)
        top, left = row * (height + gap), column * (width + gap)
        canvas[top : top + height, left : left + width] = picture

    inches = IMAGE_WIDTH / width
    figure = new_figure(canvas.shape[1] * inches, canvas.shape[0] * inches)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(canvas, cmap="gray", vmin=0, vmax=1, aspect="auto")
    axes.set_frame_on(False)
    axes.set_xticks([])
    axes.set_yticks([])
    for column, name in enumerate(labels or ()):
        axes.text(
            column * (width + gap) + width / 2,
            -gap,
            label(name),
            ha="center",
            va="bottom",
            fontsize=10,
            # A "$" in a name is not the start of a formula.
            parse_math=False,
            fontfamily=font_families(),
        )
    fit_to_drawing(figure)
    return figure
