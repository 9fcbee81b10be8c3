"""A model that makes images, as a servable."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.labels import Labels
from keras_attn.export.graph.padded_batches import compiled
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.tasks.task import Task
from keras_attn.models.sagan.model import SAGAN
from keras_attn.ops.adversarial.row_noise import row_noise

_NO_CLASS = -1


class ImageGeneration(Task):
    """Images of noise, each from a seed and, if there are any, of a class.

        image_bytes = png(average generator(noise(seed), label))

    `generate` takes `seed`, (batch,) int64 from 0, and of a model with classes
    `label`, (batch,) int64, or strings if there are `labels`. It answers
    `image_bytes`, (batch,) PNG files, and `valid`: a seed below 0 or a class
    that is none gives no image. A row's image depends on that row alone.

    Args:
        model: A `SAGAN` of 1, 3 or 4 channels.
        labels: Names of the classes; they are numbers without.
        xla: Whether there is an XLA signature beside it.
    """

    def __init__(
        self,
        model: SAGAN,
        *,
        labels: Sequence[str] | None = None,
        xla: bool = False,
    ):
        if not isinstance(model, SAGAN):
            raise ValueError(
                "ImageGeneration serves a `SAGAN`. Received: "
                f"{type(model).__name__}"
            )
        config = model.config
        if config["channels"] not in (1, 3, 4):
            raise ValueError(
                "A PNG file has 1 channel (gray), 3 (colours) or 4 (with "
                f"opacity). Received: a model of {config['channels']}"
            )
        if labels is not None and config["num_classes"] is None:
            raise ValueError(
                "This model has no classes, and `labels` name classes. Leave "
                "them out, or make the model with `num_classes`."
            )
        super().__init__(model)
        # What makes images: neither what is trained nor what judges.
        self.weights = [x.value for x in model.average.variables]
        self.labels = Labels(labels, num_classes=config["num_classes"])
        self.xla = xla

    def signatures(self):
        specs = {"seed": tf.TensorSpec([None], tf.int64, "seed")}
        if self.model.config["num_classes"] is not None:
            dtype = tf.int64 if self.labels.names is None else tf.string
            specs["label"] = tf.TensorSpec([None], dtype, "label")
        examples = self._examples()
        signatures = [
            Signature("generate", self._answer(self.paint), specs, examples)
        ]
        if self.xla:
            function = self._answer(compiled(self.paint))
            signatures.append(
                Signature("generate_xla", function, specs, examples, True)
            )
        return signatures

    def paint(self, noise, classes):
        """Make (batch, height, width, channels) 8-bit images of noise."""
        inputs = {"noise": noise}
        if self.model.config["num_classes"] is not None:
            inputs["class"] = classes
        images = self.model.average(inputs, training=False)
        low, high = self.model.value_range
        pixels = 255 * (tf.cast(images, tf.float32) - low) / (high - low)
        return tf.cast(tf.round(tf.clip_by_value(pixels, 0, 255)), tf.uint8)

    def _answer(self, run):
        def answer(**inputs):
            seeds = inputs["seed"]
            classes, known = self._classes(inputs)
            valid = known & (seeds >= 0)
            noise = row_noise(
                tf.where(valid, seeds, 0), self.model.config["noise_dim"]
            )
            images = run(noise, tf.where(valid, classes, 0))
            files = tf.map_fn(
                tf.io.encode_png,
                images,
                fn_output_signature=tf.TensorSpec([], tf.string),
            )
            return blank_invalid({"image_bytes": files}, valid)

        return answer

    def _classes(self, inputs):
        """Numbers of classes, (batch,) int32, and whether there are such."""
        number = self.model.config["num_classes"]
        if number is None:
            zeros = tf.zeros_like(inputs["seed"], tf.int32)
            return zeros, tf.ones_like(zeros, tf.bool)
        given = inputs["label"]
        if self.labels.names is not None:
            same = given[:, None] == tf.constant(self.labels.names)
            found = tf.argmax(tf.cast(same, tf.int32), axis=-1)
            given = tf.where(tf.reduce_any(same, axis=-1), found, _NO_CLASS)
        known = (given >= 0) & (given < number)
        return tf.cast(tf.where(known, given, 0), tf.int32), known

    def _examples(self):
        """One row; and several, of which one seed and one class are wrong."""
        seeds = np.array([3, -1, 0, 2**40, 7])
        number = self.model.config["num_classes"]
        if number is None:
            rows = ({"seed": seeds[:1]}, {"seed": seeds})
            return rows
        classes = np.array([0, 0, number, number - 1, 0])
        if self.labels.names is not None:
            names = [x.encode() for x in (*self.labels.names, "")]
            classes = text_column(*(names[x] for x in classes))
        return tuple(
            {"seed": seeds[:rows], "label": classes[:rows]} for rows in (1, 5)
        )
