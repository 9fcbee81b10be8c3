"""A model that tells numbers or classes of sequences, as a servable."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.export.graph import model_io
from keras_attn.export.graph import request_text
from keras_attn.export.graph.invalid_rows import BLANKS
from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.labels import Labels
from keras_attn.export.graph.padded_batches import compiled
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.settings import example_texts
from keras_attn.export.settings import tokenizer_checks
from keras_attn.export.tasks.task import Task
from keras_attn.models.sequence_regressor.model import SequenceRegressor
from keras_attn.text.tokenizer import Tokenizer

_USUAL_LENGTH = 512


class SequencePrediction(Task):
    """The numbers or the class of a sequence, or of each of its steps.

        value  = outputs of the model
        scores = softmax(logits)    label = labels[argmax(scores)]

    The verb is `regress`, or `classify` for a model with classes. With a
    tokenizer it takes `text`, (batch,) strings, and reads their tokens alone;
    without, the model's own input by its name, ids or vectors, padded at the
    end.
    `regress` answers `value`, (batch,) floats or (batch, outputs); `classify`
    answers `label`, (batch,) strings or int64, and `scores`, (batch, classes).
    For a model with an output at each step they have an axis for the steps
    after the batch. Both answer `valid`, and `truncated` where texts are read.

    Args:
        model: A `SequenceRegressor`.
        tokenizer: The tokenizer that it was trained with, to take texts.
        max_length: The most tokens of a text that are read; 512 if None.
        labels: Names of the classes; answers are numbers without them.
        xla: Whether the verb has an XLA signature beside it; texts are then
            read as rows of `max_length`.
    """

    def __init__(
        self,
        model: SequenceRegressor,
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        labels: Sequence[str] | None = None,
        xla: bool = False,
    ):
        _check(model, tokenizer, max_length, labels)
        super().__init__(model)
        self.tokenizer = tokenizer
        self.max_length = max_length or _USUAL_LENGTH
        if tokenizer is not None:
            self.longest = self.max_length
        self.labels = Labels(labels, num_classes=model.output_shape[-1])
        self.xla = xla

    def signatures(self):
        classes = self.model.config["num_classes"] is not None
        verb = "classify" if classes else "regress"
        if self.tokenizer is None:
            ((name, tensor),) = model_io.inputs(self.model).items()
            shape = (None, *tensor.shape[1:])
            specs = {name: tf.TensorSpec(shape, tensor.dtype, name)}
            examples = self._numbers(specs[name])
            answer = self._of_numbers
        else:
            specs = {"text": tf.TensorSpec([None], tf.string, "text")}
            examples = self._texts()
            answer = self._of_texts
        signatures = [Signature(verb, answer(self.predict), specs, examples)]
        if self.xla:
            function = answer(compiled(self.predict), fixed=True)
            signatures.append(
                Signature(f"{verb}_xla", function, specs, examples, True)
            )
        return signatures

    def predict(self, steps):
        """What the model says of (batch, time, ...) steps, by name."""
        outputs = tf.cast(self.model(steps, training=False), tf.float32)
        if self.model.config["num_classes"] is not None:
            outputs = tf.nn.softmax(outputs)
        if self.model.config["return_sequences"]:
            # What is told of padding means nothing.
            real = self.model.layers[1].compute_mask(steps)
            if real is not None:
                outputs = tf.where(real[:, :, None], outputs, 0.0)
        return outputs

    def _of_texts(self, run, fixed=False):
        pad_id = self.model.config["pad_id"]

        def answer(text):
            ids, valid, truncated = request_text.read(
                self.tokenizer, text, self.max_length
            )
            width = self.max_length if fixed else None
            rows = ids.to_tensor(pad_id, shape=(None, width))
            if not fixed:
                # One step at least, so that there is one if all are empty.
                missing = tf.maximum(1 - tf.shape(rows)[1], 0)
                rows = tf.pad(
                    rows, [[0, 0], [0, missing]], constant_values=pad_id
                )
            outputs = self._named(run(rows))
            outputs["truncated"] = truncated
            return blank_invalid(outputs, valid)

        return answer

    def _of_numbers(self, run, fixed=False):
        size = self.model.config["vocabulary_size"]

        def answer(**inputs):
            (steps,) = inputs.values()
            valid = tf.ones(tf.shape(steps)[:1], tf.bool)
            if size is not None:
                known = (steps >= 0) & (steps < size)
                valid = tf.reduce_all(known, axis=1)
                steps = tf.where(known, steps, 0)
            return blank_invalid(self._named(run(steps)), valid)

        return answer

    def _named(self, outputs):
        if self.model.config["num_classes"] is None:
            one = self.model.output_shape[-1] == 1
            return {"value": outputs[..., 0] if one else outputs}
        labels = self.labels(outputs)
        if self.model.config["return_sequences"]:
            # Probabilities add up to 1 but where there is padding.
            real = tf.reduce_any(outputs > 0, axis=-1)
            labels = tf.where(real, labels, BLANKS[labels.dtype])
        return {"label": labels, "scores": outputs}

    def _texts(self):
        one, *more = example_texts.sentences(self.tokenizer)
        long = example_texts.too_long(self.tokenizer, self.max_length)
        odd = [*more, long, b"", example_texts.BROKEN]
        return ({"text": text_column(one)}, {"text": text_column(*odd)})

    def _numbers(self, spec):
        """A row, and three of which two are padded."""
        examples = []
        for rows, steps in ((1, 3), (3, 5)):
            shape = (rows, steps, *(size or 1 for size in spec.shape[2:]))
            numbers = np.arange(np.prod(shape)).reshape(shape)
            if spec.dtype.is_floating:
                numbers = (1 + numbers) / numbers.size
            else:
                # Every vocabulary has the ids 0 and 1.
                numbers = numbers % 2
            for row in range(1, rows):
                numbers[row, -row:] = self.model.config["pad_id"] or 0
            numbers = numbers.astype(spec.dtype.as_numpy_dtype)
            examples.append({spec.name: numbers})
        return tuple(examples)


def _check(model, tokenizer, max_length, labels):
    if not isinstance(model, SequenceRegressor):
        raise ValueError(
            "SequencePrediction serves a `SequenceRegressor`. Received: "
            f"{type(model).__name__}"
        )
    config = model.config
    if labels is not None and config["num_classes"] is None:
        raise ValueError(
            "This model tells numbers, and `labels` name classes. Leave them "
            "out, or make the model with `num_classes`."
        )
    if tokenizer is None:
        if max_length is not None:
            raise ValueError(
                "`max_length` is how many tokens of a text are read. Give a "
                f"`tokenizer` too. Received: max_length={max_length}"
            )
        return
    if config["vocabulary_size"] is None or config["pad_id"] is None:
        raise ValueError(
            "Texts become rows of ids, filled up with padding. Make the model "
            "with `vocabulary_size` and a `pad_id`, or leave the tokenizer "
            f"out. Received: vocabulary_size={config['vocabulary_size']}, "
            f"pad_id={config['pad_id']}"
        )
    tokenizer_checks.check_tokenizer(model, tokenizer, "source", parts=())
    if max_length is not None:
        tokenizer_checks.check_length("max_length", max_length, None)
