"""What all tasks of a model that reads whole texts have in common."""

from collections.abc import Callable

import tensorflow as tf

from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.padded_batches import compiled
from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.graph.text_pairs import TextPairs
from keras_attn.export.settings import example_texts
from keras_attn.export.tasks.task import Task
from keras_attn.models.bert.model import BERT
from keras_attn.text.tokenizer import Tokenizer


class TextTask(Task):
    """A BERT that answers texts.

    Subclasses name the heads that they serve in `HEADS`.

    Args:
        model: A `BERT`.
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read of a text or a pair, special
            ones included; all that the model has positions for if None.
        xla: Whether every signature has an XLA signature beside it, whose rows
            are all of `max_length`.
    """

    HEADS: tuple[str | None, ...]

    def __init__(
        self,
        model: BERT,
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        xla: bool = False,
    ):
        _check(type(self), model, tokenizer, max_length)
        super().__init__(model)
        self.longest = max_length or model.config["max_length"]
        self.pairs = TextPairs(tokenizer, max_length=self.longest)
        self.xla = xla
        self._predict_once = shared_function(self.predict)
        self._encode_once = shared_function(self.encode)

    @classmethod
    def accepts(cls, model) -> bool:
        """Whether this is the task of a model."""
        return isinstance(model, BERT) and model.config["head"] in cls.HEADS

    def predict(self, tokens, segments):
        """What the model says of (batch, length) tokens and segments."""
        return self.model(self._inputs(tokens, segments), training=False)

    def encode(self, tokens, segments):
        """What the last block makes of them: (batch, length, units)."""
        return self.model.sequence(self._inputs(tokens, segments))

    def verb(
        self,
        name: str,
        answer: Callable,
        *,
        of: Callable | None = None,
        read: Callable | None = None,
        examples: tuple | None = None,
    ) -> list[Signature]:
        """A verb of one text or of two.

        Args:
            name: The verb.
            answer: Takes what `of` returns and what `read` returned, and
                returns outputs by name.
            of: `predict`, which is the default, or `encode`.
            read: Reads the texts; one or two, as in training, if None.
            examples: Requests, `examples("text")` if None; their fields are
                the inputs.

        Returns:
            The signature, and its XLA signature if there is to be one. Their
            answers have `valid` and `truncated` too.
        """
        read = read or self.pairs
        examples = examples or self.examples("text")
        run_once = self._predict_once
        if of == self.encode:
            run_once = self._encode_once

        def respond(run, fixed):
            def response(**texts):
                rows = read(**texts, fixed=fixed)
                outputs = answer(run(rows["tokens"], rows["segments"]), rows)
                outputs["truncated"] = rows["truncated"]
                return blank_invalid(outputs, rows["valid"])

            return response

        specs = {
            field: tf.TensorSpec([None], tf.string, field)
            for field in examples[0]
        }
        signatures = [
            Signature(name, respond(run_once, False), specs, examples)
        ]
        if self.xla:
            function = respond(compiled(of or self.predict), True)
            signatures.append(
                Signature(f"{name}_xla", function, specs, examples, True)
            )
        return signatures

    def embed(self, name: str = "embed", **options) -> list[Signature]:
        """The verb that answers with vectors of texts.

        Returns:
            As `verb`. `embedding` is the mean of the last layer over all
            tokens, and `pooled` what the model makes of the first one, if it
            has been taught to: float32 (batch, units) each.
        """
        return self.verb(name, self._vectors, of=self.encode, **options)

    def examples(self, *fields: str) -> tuple:
        """Requests of one row, and of several, some of them hard to read."""
        tokenizer = self.pairs.tokenizer
        one, *more = example_texts.sentences(tokenizer)
        long = example_texts.too_long(tokenizer, self.pairs.max_length)
        return tuple(
            {field: text_column(*rows) for field in fields}
            for rows in ([one], [*more, long, b"", example_texts.BROKEN])
        )

    def _inputs(self, tokens, segments):
        if self.model.config["num_segments"] < 2:
            # Such a model has not been told a second text from the first.
            segments = tf.zeros_like(segments)
        return {"tokens": tokens, "segments": segments}

    def _vectors(self, sequence, rows):
        pad_id = self.pairs.tokenizer.pad_id
        real = tf.cast(rows["tokens"] != pad_id, tf.float32)
        total = tf.einsum("blu,bl->bu", tf.cast(sequence, tf.float32), real)
        mean = total / tf.reduce_sum(real, axis=1, keepdims=True)
        outputs = {"embedding": mean}
        if self.model.pooler is not None:
            pooled = self.model.pooler(sequence[:, 0])
            outputs["pooled"] = tf.cast(pooled, tf.float32)
        return outputs


def _check(task, model, tokenizer, max_length):
    if not task.accepts(model):
        raise ValueError(
            f"{task.__name__} serves a `BERT` whose head is one of "
            f"{task.HEADS}. Received: {type(model).__name__}, "
            f"head={getattr(model, 'config', {}).get('head')!r}"
        )
    config = model.config
    if not isinstance(tokenizer, Tokenizer):
        raise ValueError(
            "A BERT is exported with the tokenizer that it was trained with: "
            f"tokenizer=.... Received: {tokenizer!r}"
        )
    # Published models may have rows that no token has, for a round number.
    if tokenizer.vocabulary_size > config["vocabulary_size"]:
        raise ValueError(
            f"The model has a vocabulary of {config['vocabulary_size']} ids, "
            f"and the tokenizer one of {tokenizer.vocabulary_size}. Export it "
            "with the tokenizer that it was trained with."
        )
    if config["pad_id"] is None or tokenizer.pad_id != config["pad_id"]:
        raise ValueError(
            "Rows of a batch are padded, so the model and its tokenizer must "
            f"agree on the id of padding. Received: pad_id={config['pad_id']} "
            f"in the model, {tokenizer.pad_id} in the tokenizer."
        )
    if max_length is not None and max_length > config["max_length"]:
        raise ValueError(
            f"The model has learned {config['max_length']} positions. "
            f"Received: max_length={max_length}"
        )
