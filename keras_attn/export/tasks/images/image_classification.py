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
from keras_attn.image.preprocessing import Preprocessing
from keras_attn.models.vit.model import ViT
from keras_attn.ops.explain.rollout import over_patches
from keras_attn.ops.explain.rollout import rollout

# After these, outputs are probabilities already.
_PROBABILITIES = (keras.activations.softmax, keras.activations.sigmoid)


class ImageClassification(Task):
    """Which class the image in a file belongs to.

        scores = softmax(logits)    label = labels[argmax(scores)]

    The verbs take `image_bytes`, (batch,) JPEG, PNG, GIF or BMP files, and
    answer `valid`; `predict`, as in `FunctionalPrediction`, takes pixels.
    `classify` answers `label`, (batch,) strings or int64, and `scores`, (batch,
    classes) probabilities. A `ViT` has two verbs more, without a head these
    alone: `embed` answers `embedding`, (batch, units), which the head reads;
    `attention` answers `weights`, (batch, rows, columns), the share of each
    patch in it: the row of the class token in `keras_attn.ops.rollout`, or,
    where patches are pooled, the mean of their rows, weighted as the pooling
    does.

    Args:
        model: A functional model that takes (batch, height, width, 1 or 3) and
            returns (batch, classes), or (batch, units) for a `ViT`.
        labels: Names of the classes; answers are numbers without them.
        fit: As in training: "crop" keeps the proportions and cuts off the two
            sides that are too long, "squeeze" keeps the whole image.
        value_range: The lowest and the highest value of a pixel in training:
            `keras_attn.data` makes pixels from 0 to 1.
        preprocessing: In place of `fit` and `value_range`, what a published
            model wants; `export_huggingface` reads it.
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
        preprocessing: Preprocessing | None = None,
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
        _check_head(model, labels)
        super().__init__(model)
        ((self._input, image),) = model_io.inputs(model).items()
        ((self._output, scores),) = model_io.outputs(model).items()
        *size, channels = image.shape[1:]
        self.images = EncodedImages(
            tuple(size),
            channels,
            fit=fit,
            value_range=value_range,
            preprocessing=preprocessing,
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
        signatures = []
        for verb, answer in self._verbs().items():
            function = self._of_files(answer)
            signatures.append(Signature(verb, function, specs, examples))
            if self.xla:
                function = self._of_files(compiled(answer))
                signatures.append(
                    Signature(f"{verb}_xla", function, specs, examples, True)
                )
        numbers = FunctionalPrediction(self.model, xla=self.xla)
        return [*signatures, *numbers.signatures()]

    def scores(self, images):
        """Probabilities of the classes of images: (batch, classes) float32."""
        answer = model_io.call(self.model, {self._input: images})
        scores = tf.cast(answer[self._output], tf.float32)
        return tf.nn.softmax(scores) if self._from_logits else scores

    def embed(self, images):
        """What the head of a `ViT` reads: (batch, units) float32."""
        pooled = self.model.pool(self.model.tokens(images, training=False))
        return tf.cast(pooled, tf.float32)

    def attention(self, images):
        """The share of each patch in it: (batch, rows, columns) float32."""
        tokens, weights = self.model.tokens(
            images, return_attention_scores=True, training=False
        )
        return over_patches(
            rollout(weights), self.model.grid, _pooling(self.model, tokens)
        )

    def _verbs(self):
        """Functions from images to outputs by name, by their verbs."""
        verbs = {"classify": lambda images: {"scores": self.scores(images)}}
        if not isinstance(self.model, ViT):
            return verbs
        if self.model.head.num_classes is None:
            verbs = {}
        return {
            **verbs,
            "embed": lambda images: {"embedding": self.embed(images)},
            "attention": lambda images: {"weights": self.attention(images)},
        }

    def _of_files(self, run):
        def answer(image_bytes):
            read = self.images(image_bytes)
            outputs = run(read["images"])
            if "scores" in outputs:
                label = self.labels(outputs["scores"])
                outputs = {"label": label, **outputs}
            return blank_invalid(outputs, read["valid"])

        return answer


def _check_head(model, labels):
    if isinstance(model, ViT) and not model.head.num_classes and labels:
        raise ValueError(
            "This ViT has no head, so that there are no classes to name. Leave "
            "`labels` out, or make the model with `num_classes`."
        )


def _pooling(model, tokens):
    """The weights by which a `ViT` pools its tokens; None for the first."""
    kind, before = model.head.pooling, model.num_class_tokens
    if kind == "token":
        return None
    patches = tokens[:, before:]
    if kind == "attention":
        _, weights = model.head.attention_pooling(
            patches, return_attention_scores=True
        )
    else:
        number = patches.shape[1]
        weights = tf.fill([tf.shape(tokens)[0], number], 1.0 / number)
    # Tokens before the patches are not pooled.
    return tf.pad(tf.cast(weights, tf.float32), [[0, 0], [before, 0]])


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
