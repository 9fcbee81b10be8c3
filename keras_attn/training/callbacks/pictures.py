"""Pictures that are drawn at the end of epochs."""

import io
import os
import pathlib
import struct
import sys
from collections.abc import Callable

import tensorflow as tf

from keras_attn.training.callbacks.periodic import Periodic

# Tells TensorBoard who shows them.
_IMAGES = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="images")
)


class Pictures(Periodic):
    """Files of what a function draws of the model, at the end of epochs.

    The third epoch's is folder/epoch_0003.png, or folder/<name>_epoch_0003.png
    if there are several: alignments of one sentence that become sharp, images
    of one seed. A file appears whole or not at all, and replaces that of an
    earlier run. It costs what drawing costs, mostly tenths of a second for
    each picture. Figures are closed. What `draw` raises ends the training; a
    file that cannot be written does not, and is warned of once.

    Args:
        draw: A function from the model to a matplotlib figure, as those of
            `keras_attn.plot` are, or to a dictionary of named figures.
        folder: Where the files go; it is made if there is none.
        every: At the end of how many epochs it draws once.
        tensorboard: Whether TensorBoard shows them too: True writes its events
            to `folder`, a path writes them there. Their step is that of
            Keras' TensorBoard callback, which counts epochs from 0.
    """

    def __init__(
        self,
        draw: Callable,
        folder: str | os.PathLike,
        *,
        every: int = 1,
        tensorboard: bool | str | os.PathLike = False,
    ):
        super().__init__(every)
        self.draw = draw
        self.folder = pathlib.Path(folder)
        self.tensorboard = tensorboard
        self._events = None
        if tensorboard:
            same = tensorboard is True
            self._events = self.folder if same else pathlib.Path(tensorboard)
        self._writer = None

    def report(self, epoch, logs):
        drawn = self.draw(self.model)
        figures = drawn if isinstance(drawn, dict) else {None: drawn}
        _check(figures)
        try:
            images = {name: _png(figure) for name, figure in figures.items()}
        finally:
            for figure in figures.values():
                _close(figure)
        for name, image in images.items():
            start = "" if name is None else f"{name}_"
            path = self.folder / f"{start}epoch_{epoch:04}.png"
            with self.may_fail(path):
                _write(path, image)
        if self._events is not None:
            with self.may_fail(self._events):
                self._show(epoch, images)

    def on_train_end(self, logs=None):
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _show(self, epoch, images):
        if self._writer is None:
            self._writer = tf.summary.create_file_writer(str(self._events))
        with self._writer.as_default(step=epoch - 1):
            for name, image in images.items():
                # tf.summary.image would need TensorBoard where one trains, and
                # encode again what is encoded.
                width, height = struct.unpack(">II", image[16:24])
                content = [str(width).encode(), str(height).encode(), image]
                tag = name or "picture"
                tf.summary.write(tag, content, metadata=_IMAGES)
        self._writer.flush()


def _check(figures):
    for name, figure in figures.items():
        is_name = isinstance(name, str) and name and not {*name} & {*"/\\"}
        if name is not None and not is_name:
            raise ValueError(
                "`draw` must name figures by strings that a file's name can "
                f"begin with. Received: {name!r}"
            )
        if not hasattr(figure, "savefig"):
            raise ValueError(
                "`draw` must return a matplotlib figure, or a dictionary of "
                f"named figures. Received: {figure!r}"
            )


def _png(figure):
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _close(figure):
    # Only pyplot holds figures, and only those that it has made.
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    figure.clear()


def _write(path, content):
    """Write a file that is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".partial_{path.name}")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        # Gone if all went well.
        partial.unlink(missing_ok=True)
