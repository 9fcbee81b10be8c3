"""Pictures of where chosen pixels of an image looked."""

from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_attn.plot.over_image import over_image


def pixels(weights, image, chosen: Sequence[tuple[int, int]]):
    """Draw where pixels looked: a panel for each, with a mark where it is.

    Args:
        weights: Of the (batch, rows, columns, key_rows, key_columns) that
            `SAGAN.attention` returns, those of one image: for each position
            of its feature grid, the weights of all others.
        image: (height, width), (height, width, 1) or (height, width, 3):
            uint8, or floats from 0 to 1.
        chosen: Row and column of each pixel; its position of the grid is the
            one that it lies in.

    Returns:
        A `matplotlib.figure.Figure`, as of `over_image`.

    Reference:
        Zhang et al. 2019, figures 1 and 5. https://arxiv.org/abs/1805.08318
    """
    weights = np.asarray(ops.convert_to_numpy(weights))
    height, width = ops.convert_to_numpy(image).shape[:2]
    if weights.ndim != 4:
        raise ValueError(
            "`weights` must be (rows, columns, key_rows, key_columns). "
            f"Received: weights.shape={weights.shape}. Of a batch, pick one "
            "example: weights[0]."
        )
    for row, column in chosen:
        if not (0 <= row < height and 0 <= column < width):
            raise ValueError(
                "`chosen` must be pixels of the image, rows from 0 to "
                f"{height - 1} and columns from 0 to {width - 1}. Received: "
                f"{(row, column)}"
            )
    rows, columns = weights.shape[:2]
    seen = [
        weights[row * rows // height, column * columns // width]
        for row, column in chosen
    ]
    figure = over_image(seen, image, [f"{row}, {col}" for row, col in chosen])
    for axes, (row, column) in zip(figure.axes[1:], chosen, strict=False):
        axes.plot([column], [row], "o", ms=5, mfc="white", mec="black")
    return figure
