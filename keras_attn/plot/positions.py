"""A picture of which positions of an image are alike."""

import numpy as np
from keras import ops

from keras_attn.plot.canvas import fit_to_drawing
from keras_attn.plot.panels import add_scale
from keras_attn.plot.panels import new_panels

INCHES_PER_CELL = 0.02  # two dots of the usual 100 to an inch
LEAST_WIDTH = 3  # inches


def positions(embeddings, *, grid: tuple[int, int] | None = None):
    """Draw how alike the embeddings of positions are: a tile for each patch.

        similarity(p, q) = E[p] · E[q] / (|E[p]| |E[q]|)

    The tile in row i and column j is the whole grid of patches: each cell is
    the cosine similarity of its position to that of patch (i, j), from -1 to
    1. A model that has learned where patches are shows bright spots that move
    along with the tiles.

    Args:
        embeddings: (patches, features) table, such as the weights of a
            `LearnedPosition`, or (rows, columns, features).
        grid: Rows and columns of patches, if the table does not tell. Rows of
            the table before them, as a class token's, are left out.

    Returns:
        A `matplotlib.figure.Figure`; `figure.savefig("positions.png")` writes
        it. A vector of zeros is like nothing: its similarities are 0.

    Reference:
        Dosovitskiy et al. 2021, figure 7. https://arxiv.org/abs/2010.11929
    """
    embeddings = _on_grid(embeddings, grid)
    lengths = np.linalg.norm(embeddings, axis=-1, keepdims=True)
    unit = embeddings / np.where(lengths > 0, lengths, 1)
    similarity = np.einsum("ijf,klf->ijkl", unit, unit)

    rows, columns = embeddings.shape[:2]
    # A cell between tiles stays empty.
    tiles = np.full((rows, rows + 1, columns, columns + 1), np.nan)
    tiles[:, :rows, :, :columns] = np.moveaxis(similarity, 2, 1)
    cells = tiles.reshape(rows * (rows + 1), -1)[:-1, :-1]
    width = max(LEAST_WIDTH, INCHES_PER_CELL * cells.shape[1])
    figure, (axes,) = new_panels(
        1, width, width * cells.shape[0] / cells.shape[1]
    )
    # Blurred cells would run into those between tiles.
    drawn = axes.imshow(
        cells,
        cmap="viridis",
        vmin=-1,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_xlabel("column of the patch")
    axes.set_ylabel("row of the patch")
    axes.set_xticks(_middles(columns), range(1, columns + 1))
    axes.set_yticks(_middles(rows), range(1, rows + 1))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    add_scale(figure, [axes], drawn, "cosine similarity")
    fit_to_drawing(figure)
    return figure


def _middles(count):
    """Where the tiles of an axis have their middles."""
    return np.arange(count) * (count + 1) + (count - 1) / 2


def _on_grid(embeddings, grid):
    """Check the embeddings and bring them to (rows, columns, features)."""
    table = np.asarray(ops.convert_to_numpy(embeddings), "float64")
    received = f"Received: embeddings.shape={table.shape}, grid={grid}"
    if not np.isfinite(table).all():
        raise ValueError("`embeddings` must be finite.")
    told = grid is None or tuple(grid) == table.shape[:2]
    if table.ndim == 3 and told and table.size:
        return table
    if table.ndim != 2 or grid is None:
        raise ValueError(
            "`embeddings` must be (patches, features) with `grid`, or (rows, "
            f"columns, features). {received}"
        )
    rows, columns = grid
    if not 0 < rows * columns <= len(table):
        raise ValueError(
            "`embeddings` must have a row for each patch of `grid`, and may "
            f"have others before them. {received}"
        )
    return table[-rows * columns :].reshape((rows, columns, -1))
