"""A model that reads a text beside an image, as a servable."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.export.graph.encoded_images import EncodedImages
from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.labels import Labels
from keras_attn.export.graph.padded_batches import compiled
from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.graph.text_pairs import TextPairs
from keras_attn.export.settings import example_texts
from keras_attn.export.settings import tokenizer_checks
from keras_attn.export.tasks.task import Task
from keras_attn.image.boxes import boxes_inside
from keras_attn.image.file_size import MAX_PIXELS
from keras_attn.models.vilbert.model import ViLBERT
from keras_attn.models.vilbert.region_embedding import has_area
from keras_attn.text.tokenizer import Tokenizer

_EXAMPLE_BOXES = [[0.0, 0.0, 0.5, 1.0], [0.25, 0.5, 1.0, 1.0]]
_OUTSIDE = [[0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
_NO_REGION = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]


class VisionLanguage(Task):
    """What a `ViLBERT` says of a text and an image.

        scores = softmax(logits)    answer = labels[argmax(scores)]

    The verbs take `text`, (batch,) strings, and `image_bytes`, (batch,) JPEG,
    PNG, GIF or BMP files, if regions are patches; else `features`, (batch,
    regions, features), and `boxes`, (batch, regions, 4), as the model takes
    them. By its head: `answer` ("vqa") answers `answer`, (batch,) strings or
    int64, and `scores`, (batch, classes) probabilities; `align` ("alignment",
    "pretraining") `alignment`, (batch,), how probable it is that the text
    describes the image; `rank` ("retrieval") `score`, (batch,); `refer`
    ("referring") `region`, (batch,) int64, and `scores`, (batch, regions)
    probabilities, 0 for padding. `attention`, of every head, answers the last
    co-attention, the mean of its heads: `text_to_regions`, (batch, tokens,
    regions), and `regions_to_text`, (batch, regions, tokens), START and END
    included, where regions are (rows, columns) of patches if there are any;
    what is missing to 1 goes to the image as a whole.

    A row is `valid` if its text has a token and is UTF-8, its file can be
    read, its features are finite, and it has regions, none of them outside of
    the image. Any other gets "", -1 and zeros. A text that is too long is
    `truncated`.

    Args:
        model: A `ViLBERT`.
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read; all positions if None.
        labels: The answers of "vqa"; they are numbers without them.
        fit, value_range: Of images, as in training; see
            `ImageClassification`.
        max_pixels: Larger images are not read.
        xla: Whether every signature has an XLA signature beside it, whose rows
            are padded to `max_length`. It compiles for each number of regions:
            send the same number always, filled up with boxes of zeros.
    """

    def __init__(
        self,
        model: ViLBERT,
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        labels: Sequence[str] | None = None,
        fit: str = "crop",
        value_range: Sequence[float] = (0.0, 1.0),
        max_pixels: int = MAX_PIXELS,
        xla: bool = False,
    ):
        if not self.accepts(model):
            raise ValueError(
                "VisionLanguage serves a `ViLBERT`. Received: "
                f"{type(model).__name__} {model.name!r}"
            )
        head = model.config["head"]
        if labels is not None and head != "vqa":
            raise ValueError(
                f"The head {head!r} has no answers to name: `labels` goes with "
                f'head="vqa". Received: labels={list(labels)}'
            )
        tokenizer_checks.check_tokenizer(
            model, tokenizer, "tokens", parts=("pad", "start", "end")
        )
        if model.config["pad_id"] != tokenizer.pad_id:
            raise ValueError(
                "Rows of a batch are padded, so the model and its tokenizer "
                "must agree on the id of padding. Received: pad_id="
                f"{model.config['pad_id']} in the model, {tokenizer.pad_id} in "
                "the tokenizer."
            )
        positions = model.config["max_length"]
        if max_length is not None:
            tokenizer_checks.check_length("max_length", max_length, positions)
        super().__init__(model)
        self.xla = xla
        self.longest = max_length or positions
        self.texts = TextPairs(tokenizer, max_length=self.longest)
        self.labels = None
        if head == "vqa":
            classes = model.config["num_classes"]
            self.labels = Labels(labels, num_classes=classes)
        self.images = None
        if model.patches is not None:
            *size, channels = model.input["image"].shape[1:]
            self.images = EncodedImages(
                tuple(size),
                channels,
                fit=fit,
                value_range=value_range,
                max_pixels=max_pixels,
            )
        self._predict = shared_function(self.predict)

    @staticmethod
    def accepts(model) -> bool:
        """Whether this is the task of a model."""
        return isinstance(model, ViLBERT)

    def predict(self, inputs):
        """What the model says of its inputs."""
        return self.model(inputs, training=False)

    def look(self, inputs):
        """The weights of the last co-attention, forth and back."""
        *_, forth, back = self.model.read(inputs, return_attention_scores=True)
        return forth[-1], back[-1]

    def signatures(self):
        verbs = {
            "vqa": ("answer", self._answer),
            "alignment": ("align", self._align),
            "pretraining": ("align", self._align),
            "retrieval": ("rank", self._rank),
            "referring": ("refer", self._refer),
        }
        made = []
        if self.model.config["head"] in verbs:
            verb, answer = verbs[self.model.config["head"]]
            made += self._verb(verb, self._predict, self.predict, answer)
        made += self._verb("attention", self.look, self.look, self._attention)
        return made

    def _verb(self, name, run, to_compile, answer):
        """A signature, and its XLA signature if there is to be one."""

        def respond(run, fixed):
            def response(text, **seen):
                inputs, valid, truncated = self._read(text, fixed, **seen)
                outputs = tf.nest.map_structure(
                    lambda x: tf.cast(x, tf.float32), run(inputs)
                )
                outputs = answer(outputs, inputs)
                outputs["truncated"] = truncated
                return blank_invalid(outputs, valid)

            return response

        def run_compiled(inputs):
            run = compiled(
                lambda *tensors: to_compile(
                    dict(zip(inputs, tensors, strict=True))
                )
            )
            return run(*inputs.values())

        given = self._specs(), self._examples()
        signatures = [Signature(name, respond(run, False), *given)]
        if self.xla:
            function = respond(run_compiled, True)
            signatures.append(Signature(f"{name}_xla", function, *given, True))
        return signatures

    def _specs(self):
        specs = {"text": tf.TensorSpec([None], tf.string, "text")}
        if self.images is not None:
            specs["image_bytes"] = tf.TensorSpec([None], tf.string)
        else:
            length = self.model.config["region_features"]
            shapes = {"features": length, "boxes": 4}
            specs |= {
                name: tf.TensorSpec([None, None, size], tf.float32, name)
                for name, size in shapes.items()
            }
        return specs

    def _read(self, text, fixed, image_bytes=None, features=None, boxes=None):
        """What the model takes, and a word on each row."""
        rows = self.texts(text, fixed=fixed)
        inputs = {name: rows[name] for name in ("tokens", "segments")}
        valid = rows["valid"]
        if self.images is not None:
            read = self.images(image_bytes)
            inputs["image"] = read["images"]
            return inputs, valid & read["valid"], rows["truncated"]
        finite = tf.reduce_all(tf.math.is_finite(features), axis=[1, 2])
        seen = finite & boxes_inside(boxes)
        kept = seen[:, None, None]
        inputs["features"] = tf.where(kept, features, 0.0)
        inputs["boxes"] = tf.where(kept, boxes, 0.0)
        return inputs, valid & seen, rows["truncated"]

    def _answer(self, logits, inputs):
        scores = tf.nn.softmax(logits)  # (batch, classes)
        return {"answer": self.labels(scores), "scores": scores}

    def _align(self, logits, inputs):
        logits = logits["alignment"] if isinstance(logits, dict) else logits
        return {"alignment": tf.nn.softmax(logits)[:, 1]}

    def _rank(self, scores, inputs):
        return {"score": scores[:, 0]}

    def _refer(self, logits, inputs):
        scores = tf.sigmoid(logits[..., 0])  # (batch, regions)
        if self.images is None:
            # What pads a row is no region that a text could refer to.
            scores = tf.where(has_area(inputs["boxes"]), scores, 0.0)
        return {"region": tf.argmax(scores, -1), "scores": scores}

    def _attention(self, weights, inputs):
        forth, back = (tf.reduce_mean(each, axis=1) for each in weights)
        forth, back = forth[:, :, 1:], back[:, 1:]  # without IMG
        if self.model.grid is not None:
            batch, tokens, _ = tf.unstack(tf.shape(forth))
            grid = self.model.grid
            forth = tf.reshape(forth, [batch, tokens, *grid])
            back = tf.reshape(back, [batch, *grid, tokens])
        return {"text_to_regions": forth, "regions_to_text": back}

    def _examples(self):
        """Requests of one row, and of several, some of them hard to read."""
        tokenizer = self.texts.tokenizer
        one, *more = example_texts.sentences(tokenizer)
        long = example_texts.too_long(tokenizer, self.longest)
        texts = [one, *more, long, b"", example_texts.BROKEN]
        if self.images is not None:
            (first, *others), (broken,) = self.images.example_files()
            files = [first, *others, broken]
            seen = np.resize(text_column(*files), len(texts))
            columns = {"image_bytes": seen}
        else:
            regions = [_EXAMPLE_BOXES, _EXAMPLE_BOXES[::-1], _OUTSIDE]
            regions = (regions + [_EXAMPLE_BOXES, _NO_REGION] * 2)[: len(texts)]
            boxes = np.array(regions, "float32")
            length = self.model.config["region_features"]
            shape = (*boxes.shape[:2], length)
            numbers = np.linspace(-1, 1, np.prod(shape), dtype="float32")
            columns = {"features": numbers.reshape(shape), "boxes": boxes}
        columns["text"] = text_column(*texts)
        return tuple(
            {name: column[rows] for name, column in columns.items()}
            for rows in (slice(1), slice(1, None))
        )
