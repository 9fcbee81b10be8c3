"""Text in, text in another language out."""

import keras
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.decoding.protocol import GenerativeModel
from keras_attn.decoding.protocol import continues_prompts
from keras_attn.export.graph import request_text
from keras_attn.export.graph.answer_text import spell
from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.search import Search
from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.settings import example_texts
from keras_attn.export.settings import tokenizer_checks
from keras_attn.export.tasks.generative_task import GenerativeTask
from keras_attn.text.layouts import source_row
from keras_attn.text.tokenizer import Tokenizer

_USUAL_LENGTH = 128


class Translation(GenerativeTask):
    """A model that reads a source and writes a target, such as `Transformer`.

        source = ids, END        target = START, answer

    A text is `valid` if it is UTF-8 and has at least one token, and if its
    row's options are in range; any other gets an empty answer. It is
    `truncated` if it has more tokens than are read: the first ones are.

    Args:
        model: Writes from what `encode({"source"}, max_length)` reads.
        tokenizer: One for both sides, or `{"source": ..., "target": ...}`.
        search: "greedy", "sample" or "beam".
        max_length: The most tokens of an answer, its end included; if None,
            128, or the positions that the model has learned if they are fewer.
        source_length: The most tokens of a source, its end included; if
            None, the positions, or `max_length` where none are learned.
        start_id: What targets begin with, such as padding in Marian and T5;
            the tokenizer's START if None.
        source_start: Whether sources begin with START, as BART's do.
        reverse_source: Whether sources are read backwards, END still last.
        xla: Whether the first two signatures have XLA signatures beside them.
        **search_options: Further arguments of the search, such as `width`, or
            `end_id`, one or several, if it is not the tokenizer's END.
    """

    VERB = "translate"

    def __init__(
        self,
        model: keras.Model,
        *,
        tokenizer: Tokenizer | dict | None = None,
        search: str = "greedy",
        max_length: int | None = None,
        source_length: int | None = None,
        start_id: int | None = None,
        source_start: bool = False,
        reverse_source: bool = False,
        xla: bool = False,
        **search_options,
    ):
        if not isinstance(tokenizer, dict):
            tokenizer = {"source": tokenizer, "target": tokenizer}
        source, target = tokenizer.get("source"), tokenizer.get("target")
        needed = ["pad", "end", *(["start"] if source_start else [])]
        tokenizer_checks.check_tokenizer(model, source, "source", parts=needed)
        needed = ["end", *(["start"] if start_id is None else [])]
        tokenizer_checks.check_tokenizer(model, target, "target", parts=needed)
        _check_padding(model, source)
        if start_id is not None:
            _check_start(model, start_id)

        positions = tokenizer_checks.positions(model)
        if max_length is None:
            max_length = min(_USUAL_LENGTH, positions or _USUAL_LENGTH)
        if source_length is None:
            source_length = positions or max_length
        tokenizer_checks.check_length("max_length", max_length, positions)
        tokenizer_checks.check_length("source_length", source_length, positions)
        self.source = source
        self.source_length = source_length
        self.longest = max(source_length, max_length)
        self.start_id = target.start_id if start_id is None else start_id
        self.source_start = source_start
        self.reverse_source = reverse_source
        search = Search(
            model,
            search,
            max_length=max_length,
            end_id=target.end_id,
            options=search_options,
        )
        super().__init__(model, tokenizer=target, search=search, xla=xla)
        self._encoder = None
        if hasattr(model, "encoder"):
            self._encoder = shared_function(lambda source: model.memory(source))

    @staticmethod
    def accepts(model: keras.Model) -> bool:
        """Whether a model writes a target to a source."""
        names = {x.name for x in getattr(model, "inputs", None) or ()}
        from_source = not names or "source" in names
        writes = isinstance(model, GenerativeModel)
        return writes and from_source and not continues_prompts(model)

    def further_signatures(self) -> list[Signature]:
        example = {"text": text_column(self.example_inputs()[0][-1])}
        signatures = []
        if callable(getattr(self.model, "alignment", None)):
            signatures.append(
                self.signature("attention", self._attention, example)
            )
        if self._encoder is not None:
            signatures.append(self.signature("embed", self._embed, example))
        return signatures

    def read(self, text, *, fixed=False):
        room = self.source_length - 1 - self.source_start
        ids, valid, truncated = request_text.read(self.source, text, room)
        rows = source_row(
            self.source,
            ids,
            start=self.source_start,
            reverse=self.reverse_source,
        )
        width = self.source_length if fixed else None
        source = rows.to_tensor(self.source.pad_id, shape=(None, width))
        return (source,), valid, truncated

    def prepare(self, source):
        inputs = {"source": source}
        if self._encoder is not None:
            inputs["memory"] = self._encoder(source)
        return inputs, tf.fill([tf.shape(source)[0]], self.start_id)

    def example_inputs(self):
        room = self.source_length - 1 - self.source_start
        texts = example_texts.sentences(self.source)
        return texts, example_texts.odd(self.source, room)

    def _attention(self, text):
        (source,), valid, truncated = self._read(text)
        inputs, start_id = self.prepare(source)
        weights, answer, written = self.align(inputs, start_id, valid)
        width = self.source_length
        missing = [0, width - tf.shape(source)[1]]
        source = tf.pad(
            source, [[0, 0], missing], constant_values=self.source.pad_id
        )
        source = tf.ensure_shape(source, [None, width])
        weights = tf.pad(weights, [[0, 0], [0, 0], missing])
        real = source != self.source.pad_id
        seen = written[:, :, None] & real[:, None, :]
        return self.reply(
            valid=valid,
            truncated=truncated,
            source_tokens=spell(self.source, source, real),
            source_lengths=tf.reduce_sum(tf.cast(real, tf.int32), axis=1),
            weights=tf.where(seen, weights, 0.0),
            **answer,
        )

    def _embed(self, text):
        (source,), valid, truncated = self._read(text)
        real = tf.cast(source != self.source.pad_id, tf.float32)
        memory = tf.cast(self._encoder(source), tf.float32)
        total = tf.einsum("bsf,bs->bf", memory, real)
        mean = total / tf.reduce_sum(real, axis=1, keepdims=True)
        outputs = {"embedding": mean, "truncated": truncated}
        return blank_invalid(outputs, valid)


def _check_start(model, start_id):
    argument_checks.integer(start_id, "start_id", at_least=0)
    size = tokenizer_checks.vocabulary_size(model, "target")
    if size is not None and start_id >= size:
        raise ValueError(
            "`start_id` must be an id of the target, of which the model knows "
            f"{size}. Received: start_id={start_id}"
        )


def _check_padding(model, tokenizer):
    config = tokenizer_checks.config_of(model)
    pad_id = config.get("pad_id", tokenizer.pad_id)
    if pad_id is None or pad_id != tokenizer.pad_id:
        raise ValueError(
            "Sources of one batch are padded, so the model and the source's "
            f"tokenizer must agree on the id of padding. Received: pad_id="
            f"{pad_id} in the model, {tokenizer.pad_id} in the tokenizer."
        )
