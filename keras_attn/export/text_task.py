"""What all tasks of a model that reads whole texts have in common."""

from collections.abc import Callable
from collections.abc import Mapping

import tensorflow as tf

from keras_attn.export import example_texts
from keras_attn.export.answers import blank_invalid
from keras_attn.export.signature import Signature
from keras_attn.export.task import Task
from keras_attn.export.text_pairs import TextPairs
from keras_attn.models.bert import BERT
from keras_attn.text.tokenizer import Tokenizer


class TextTask(Task):
    """A BERT that answers texts.

    Subclasses name the heads that they serve in `HEADS`.

    Args:
        model: A `BERT`.
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read of a text or a pair, special
            ones included; all that the model has positions for if None.
    """

    HEADS: tuple[str | None, ...]

    def __init__(
        self,
        model: BERT,
        *,
        tokenizer: Tokenizer,
        max_length: int | None = None,
    ):
        _check(type(self), model, tokenizer, max_length)
        super().__init__(model)
        length = max_length or model.config["max_length"]
        self.pairs = TextPairs(tokenizer, max_length=length)

    @classmethod
    def accepts(cls, model) -> bool:
        """Whether this is the task of a model."""
        return isinstance(model, BERT) and model.config["head"] in cls.HEADS

    def verb(
        self, name: str, answer: Callable, *, pairs: bool = False
    ) -> Signature:
        """Make a signature of text, or of text and second.

        Args:
            name: The verb.
            answer: Takes `{"tokens", "segments"}`, (batch, length) each, and
                returns outputs by name.
            pairs: Whether it takes a second text.

        Returns:
            A signature; its answers have `valid` and `truncated` too.
        """

        def respond(text, second=None):
            rows = self.pairs(text, second)
            valid, truncated = rows.pop("valid"), rows.pop("truncated")
            outputs = {**answer(rows), "truncated": truncated}
            return blank_invalid(outputs, valid)

        fields = ("text", "second") if pairs else ("text",)
        return Signature(
            name, respond, text_specs(*fields), self.examples(*fields)
        )

    def embed(self, inputs: Mapping) -> dict:
        """Vectors of texts.

        Args:
            inputs: `{"tokens", "segments"}`, (batch, length) each.

        Returns:
            `{"mean"}`, the mean of the last layer over all tokens, and, where
            the model has one, `{"pooled"}`: float32 (batch, units) each.
        """
        sequence = self.sequence(inputs)
        pad_id = self.pairs.tokenizer.pad_id
        real = tf.cast(inputs["tokens"] != pad_id, tf.float32)
        total = tf.einsum("blu,bl->bu", tf.cast(sequence, tf.float32), real)
        outputs = {"mean": total / tf.reduce_sum(real, axis=1, keepdims=True)}
        if self.model.pooler is not None:
            pooled = self.model.pooler(sequence[:, 0])
            outputs["pooled"] = tf.cast(pooled, tf.float32)
        return outputs

    def sequence(self, inputs: Mapping):
        """What the last layer makes of rows: (batch, length, units)."""
        added = self.model.segment_embedding(inputs["segments"])
        return self.model.encoder(inputs["tokens"], added=added)

    def examples(self, *fields: str) -> tuple:
        """Requests of one row, and of several, some of them hard to read."""
        tokenizer = self.pairs.tokenizer
        one, *more = example_texts.sentences(tokenizer)
        long = example_texts.too_long(tokenizer, self.pairs.max_length)
        return tuple(
            {field: example_texts.column(*rows) for field in fields}
            for rows in ([one], [*more, long, b"", example_texts.BROKEN])
        )


def text_specs(*names: str) -> dict:
    """(batch,) strings by name."""
    return {name: tf.TensorSpec([None], tf.string, name) for name in names}


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
    if tokenizer.vocabulary_size != config["vocabulary_size"]:
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
