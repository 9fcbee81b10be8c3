"""A picture of where a model looked, through all of its layers."""

from collections.abc import Mapping

import numpy as np
from keras import ops

from keras_attn.ops.explain.rollout import over_patches
from keras_attn.ops.explain.rollout import rollout as roll_out
from keras_attn.plot.answers import as_weights
from keras_attn.plot.answers import check_answer
from keras_attn.plot.over_image import over_image


def rollout(
    weights,
    image,
    *,
    grid: tuple[int, int] | None = None,
    row: int = 0,
):
    """Draw over a picture which patches a class is told from.

    The picture alone, and the same under its attention rollout (see
    `keras_attn.ops.rollout`): the redder a patch, the greater its share in what
    the model reads out, which is the class token or, without one, the mean of
    all patches.

    Args:
        weights: For each layer (heads, query, key) weights of one example; or
            what a servable's `attention` answered; or, rolled out already,
            (rows, columns).
        image: (height, width), (height, width, 1) or (height, width, 3), as
            the model saw it, cut and resized: uint8, or floats from 0 to 1.
        grid: Rows and columns of patches, the last positions of `weights`.
        row: Which image of an answer is drawn.

    Returns:
        A `matplotlib.figure.Figure`; `figure.savefig("rollout.png")` writes it.

    Reference:
        Abnar and Zuidema 2020. https://arxiv.org/abs/2005.00928
        Dosovitskiy et al. 2021, figure 6. https://arxiv.org/abs/2010.11929
    """
    if isinstance(weights, Mapping):
        check_answer(weights, ("weights", "valid"), row)
        weights = weights["weights"][row]
    elif not _is_grid(weights):
        weights = _of_layers(weights, grid)
    return over_image(np.asarray(weights)[None], image, ["rollout"], grid=grid)


def _is_grid(weights):
    return len(np.shape(weights[0])) == 1


def _of_layers(weights, grid):
    """(rows, columns) of the layers' weights, rolled out."""
    if grid is None:
        raise ValueError(
            "`grid` is needed beside the weights of layers: the rows and "
            "columns of patches, such as grid=(14, 14)."
        )
    layers = [as_weights(layer)[None] for layer in weights]
    return ops.convert_to_numpy(over_patches(roll_out(layers), grid)[0])
