"""The weights of a checkpoint."""

import os

import keras

from keras_attn.base import argument_checks
from keras_attn.training.resuming import checkpoint_file
from keras_attn.training.resuming import state
from keras_attn.training.resuming.folder import BEST
from keras_attn.training.resuming.folder import CheckpointFolder


def restore(
    model: keras.Model,
    checkpoints: str | os.PathLike,
    *,
    which: str = "best",
) -> None:
    """Give a model the weights that `fit` has saved.

        restore(model, "run", which="last")

    Weights, moving averages and seeds, not optimizers: to train on, call `fit`
    with the same folder.

    Args:
        model: A built model, of the same make as the one that was trained.
        checkpoints: The folder.
        which: "best", by the `monitor` of `fit`, or "last".
    """
    argument_checks.choice(which, "which", ("best", "last"))
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} is not built. Call it on a batch first."
        )
    folder = CheckpointFolder(checkpoints)
    if which == "last":
        found = folder.newest()
    else:
        path = folder.path / BEST
        found = (path, *checkpoint_file.read(path)) if path.exists() else None
    if found is None:
        advice = " Give `monitor` to `fit`." if which == "best" else ""
        raise FileNotFoundError(
            f"There is no {which} checkpoint in {folder.path}.{advice}"
        )
    path, header, arrays = found
    state.check(model, header["variables"], path, only="model")
    state.restore(model, header["variables"], arrays, only="model")
