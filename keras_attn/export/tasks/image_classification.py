"""A model that sorts images into classes, as a servable."""

from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_attn.export.graph import model_io
from keras_attn.export.graph.encoded_images import EncodedImages
from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.labels import Labels
from keras_attn.export.graph.padded_batches import compiled
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.tasks.functional import FunctionalPrediction
from keras_attn.export.tasks.task import Task
from keras_attn.image.file_size import MAX_PIXELS

# After these, outputs are probabilities already.
_PROBABILITIES = (keras.activations.softmax, keras.activations.sigmoid)


class ImageClassification(Task):
    """Which class the image in a file belongs to.

        scores = softmax(logits)    label = labels[argmax(scores)]

    The verbs are `classify` and, for pixels that a client has made, `predict`
    as in `FunctionalPrediction`. `classify` takes `image_bytes`, (batch,)
    JPEG, PNG, GIF or BMP files as strings. It answers `label`, (batch,)
    strings or int64, `scores`, (batch, classes) probabilities, and `valid`.

    Args:
        model: A functional model that takes (batch, height, width, 1 or 3) and
            returns (batch, classes).
        labels: Names of the classes; answers are numbers without them.
        fit: As in training: "crop" keeps the proportions and cuts off the two
            sides that are too long, "squeeze" keeps the whole image.
        value_range: The lowest and the highest value of a pixel in training:
            `keras_attn.data` makes pixels from 0 to 1.
        from_logits: Whether the model returns logits; None asks whether its
            last layer is a softmax or a sigmoid.
        max_pixels: Larger images are not read.
        xla: Whether every signature has an XLA signature beside it.
    """

    def __init__(
        self,
        model: keras.Model,
        *,
        labels: Sequence[str] | None = None,
        fit: str = "crop",
        value_range: Sequence[float] = (0.0, 1.0),
        from_logits: bool | None = None,
        max_pixels: int = MAX_PIXELS,
        xla: bool = False,
    ):
        if not self.accepts(model):
            raise ValueError(
                "ImageClassification serves a functional model of one input, "
                "(batch, height, width, 1 or 3), and one output, (batch, "
                f"classes). Received: {type(model).__name__} {model.name!r}"
            )
        super().__init__(model)
        ((self._input, image),) = model_io.inputs(model).items()
        ((self._output, scores),) = model_io.outputs(model).items()
        *size, channels = image.shape[1:]
        self.images = EncodedImages(
            tuple(size),
            channels,
            fit=fit,
            value_range=value_range,
            max_pixels=max_pixels,
        )
        self.labels = Labels(labels, num_classes=scores.shape[-1])
        self.xla = xla
        if from_logits is None:
            from_logits = not _ends_in_probabilities(model)
        self._from_logits = from_logits

    @staticmethod
    def accepts(model) -> bool:
        """Whether this is the task of a model."""
        if not model_io.is_functional(model):
            return False
        inputs, outputs = model_io.inputs(model), model_io.outputs(model)
        if len(inputs) != 1 or len(outputs) != 1:
            return False
        (image,), (scores,) = inputs.values(), outputs.values()
        return (
            len(image.shape) == 4
            and None not in image.shape[1:]
            and image.shape[-1] in (1, 3)
            and len(scores.shape) == 2
            and scores.shape[-1] is not None
        )

    def signatures(self):
        specs = {"image_bytes": tf.TensorSpec([None], tf.string)}
        (first, *others), broken = self.images.example_files()
        examples = tuple(
            {"image_bytes": text_column(*files)}
            for files in ([first], [*others, *broken, first])
        )
        numbers = FunctionalPrediction(self.model, xla=self.xla)
        signatures = [
            Signature("classify", self._classify(self.scores), specs, examples)
        ]
        if self.xla:
            function = self._classify(compiled(self.scores))
            signatures.append(
                Signature("classify_xla", function, specs, examples, True)
            )
        return [*signatures, *numbers.signatures()]

    def scores(self, images):
        """Probabilities of the classes of images: (batch, classes) float32."""
        answer = model_io.call(self.model, {self._input: images})
        scores = tf.cast(answer[self._output], tf.float32)
        return tf.nn.softmax(scores) if self._from_logits else scores

    def _classify(self, run):
        def classify(image_bytes):
            read = self.images(image_bytes)
            scores = run(read["images"])
            outputs = {"label": self.labels(scores), "scores": scores}
            return blank_invalid(outputs, read["valid"])

        return classify


def _ends_in_probabilities(model):
    layer = model
    while isinstance(layer, keras.Model):
        name = getattr(layer, "output_names", [None])[0]
        found = [each for each in layer.layers if each.name == name]
        layer = (found or layer.layers)[-1]
    activation = getattr(layer, "activation", None)
    return isinstance(layer, keras.layers.Softmax) or (
        activation in _PROBABILITIES
    )
