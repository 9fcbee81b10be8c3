"""An image in, a caption out."""

from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_attn.decoding.protocol import GenerativeModel
from keras_attn.decoding.protocol import continues_prompts
from keras_attn.export.graph import model_io
from keras_attn.export.graph.encoded_images import EncodedImages
from keras_attn.export.graph.search import Search
from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.settings import tokenizer_checks
from keras_attn.export.tasks.generative_task import GenerativeTask
from keras_attn.image.file_size import MAX_PIXELS
from keras_attn.text.tokenizer import Tokenizer

_USUAL_LENGTH = 64


class Captioning(GenerativeTask):
    """A model that reads an image and writes a target.

        image = decode(image_bytes)        target = START, caption

    The verbs are `caption`, `caption_with_options`, `score` and, if the model
    has `alignment`, `attention`. They take `image_bytes`, (batch,) JPEG, PNG,
    GIF or BMP files as strings. A row is `valid` if its file can be read and
    its options are in range; any other gets an empty caption. `attention`
    answers (batch, max_length, rows, columns) `weights` over the image.

    Args:
        model: Writes from what `encode({"image"}, max_length)` reads, with an
            input "image", (batch, height, width, 1 or 3).
        tokenizer: The tokenizer of the captions.
        search: "greedy", "sample" or "beam".
        max_length: The most tokens of a caption, its end included; if None,
            64, or the positions that the model has learned if they are fewer.
        fit, value_range: As in training; see `ImageClassification`.
        max_pixels: Larger images are not read.
        xla: Whether the first two signatures have XLA signatures beside them.
        **search_options: Further arguments of the search, such as `width`, or
            `end_id`, one or several, if it is not the tokenizer's END.
    """

    VERB = "caption"
    INPUT = "image_bytes"

    def __init__(
        self,
        model: keras.Model,
        *,
        tokenizer: Tokenizer | None = None,
        search: str = "greedy",
        max_length: int | None = None,
        fit: str = "crop",
        value_range: Sequence[float] = (0.0, 1.0),
        max_pixels: int = MAX_PIXELS,
        xla: bool = False,
        **search_options,
    ):
        if not self.accepts(model):
            raise ValueError(
                "Captioning serves a model with the methods `encode` and "
                '`step` and an input "image", (batch, height, width, 1 or 3), '
                "whose sizes are known. Received: "
                f"{type(model).__name__} {model.name!r}"
            )
        tokenizer_checks.check_tokenizer(
            model, tokenizer, "target", parts=("start", "end")
        )
        positions = tokenizer_checks.positions(model)
        if max_length is None:
            max_length = min(_USUAL_LENGTH, positions or _USUAL_LENGTH)
        tokenizer_checks.check_length("max_length", max_length, positions)
        search = Search(
            model,
            search,
            max_length=max_length,
            end_id=tokenizer.end_id,
            options=search_options,
        )
        super().__init__(model, tokenizer=tokenizer, search=search, xla=xla)
        *size, channels = model_io.inputs(model)["image"].shape[1:]
        self.images = EncodedImages(
            tuple(size),
            channels,
            fit=fit,
            value_range=value_range,
            max_pixels=max_pixels,
        )
        self._memory = None
        if hasattr(model, "memory"):
            self._memory = shared_function(lambda image: model.memory(image))

    @staticmethod
    def accepts(model: keras.Model) -> bool:
        """Whether a model writes a target to an image."""
        if not isinstance(model, GenerativeModel) or continues_prompts(model):
            return False
        if not model_io.is_functional(model):
            return False
        image = model_io.inputs(model).get("image")
        return (
            image is not None
            and len(image.shape) == 4
            and None not in image.shape[1:]
            and image.shape[-1] in (1, 3)
        )

    def further_signatures(self) -> list[Signature]:
        # A model may have none: what it sees may be one vector.
        if not callable(getattr(self.model, "alignment", None)):
            return []
        example = {"image_bytes": text_column(self.example_inputs()[0][-1])}
        return [self.signature("attention", self._attention, example)]

    def read(self, image_bytes, *, fixed=False):
        read = self.images(image_bytes)
        valid = read["valid"]
        return (read["images"],), valid, tf.zeros_like(valid)

    def prepare(self, image):
        inputs = {"image": image}
        if self._memory is not None:
            inputs["memory"] = self._memory(image)
        return inputs, tf.fill([tf.shape(image)[0]], self.tokenizer.start_id)

    def example_inputs(self):
        return self.images.example_files()

    def reply(self, tokens, valid, truncated, **outputs):
        answer = super().reply(tokens, valid, truncated, **outputs)
        # Of an image, nothing is left out.
        del answer["truncated"]
        return answer

    def _attention(self, image_bytes):
        inputs, valid, truncated = self._read(image_bytes)
        inputs, start_id = self.prepare(*inputs)
        weights, answer, written = self.align(inputs, start_id, valid)
        return self.reply(
            valid=valid,
            truncated=truncated,
            weights=tf.where(written[:, :, None, None], weights, 0.0),
            **answer,
        )
