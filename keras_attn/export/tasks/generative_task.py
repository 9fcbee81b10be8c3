"""What all tasks have in common whose answers are written token by token."""

import abc
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding.protocol import GenerativeModel
from keras_attn.decoding.scoring import score
from keras_attn.export.graph import request_text
from keras_attn.export.graph import row_options
from keras_attn.export.graph.answer_text import readable
from keras_attn.export.graph.answer_text import spell
from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.padded_batches import compiled
from keras_attn.export.graph.search import Search
from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.graph.utf8 import is_utf8
from keras_attn.export.settings import example_texts
from keras_attn.export.tasks.task import Task
from keras_attn.text.layouts import with_end
from keras_attn.text.tokenizer import Tokenizer

STRINGS = tf.TensorSpec([None], tf.string)


class GenerativeTask(Task):
    """A model that writes an answer to a text, or to an image.

        inputs, start = prepare(read(text))
        answer        = search(encode(inputs), start)

    Subclasses name their `VERB` and the `INPUT` that clients send, strings,
    and define how these are read and what the model is given.

    Args:
        model: A Keras model that writes token by token.
        tokenizer: Turns tokens that the model writes into text.
        search: Finds the answers.
        xla: Whether the first two signatures have XLA signatures beside them.
    """

    VERB: str
    INPUT = "text"

    def __init__(
        self,
        model: GenerativeModel,
        *,
        tokenizer: Tokenizer,
        search: Search,
        xla: bool,
    ):
        super().__init__(model)
        self.tokenizer = tokenizer
        self.search = search
        self.xla = xla
        self._read = shared_function(self.read)
        self._begin = shared_function(self.begin)
        self._detokenize = shared_function(tokenizer.detokenize)

    @abc.abstractmethod
    def read(self, given, *, fixed: bool = False):
        """Read what clients sent.

        Args:
            given: (batch,) strings, texts or image files.
            fixed: Whether rows are as long as they can ever be, not as long
                as the longest of them.

        Returns:
            A tuple of tensors, (batch,) valid and (batch,) truncated.
        """

    @abc.abstractmethod
    def prepare(self, *inputs):
        """Make of what `read` returned what `encode` takes, and the start.

        Returns:
            The inputs, and the (batch,) first tokens that are fed.
        """

    def begin(self, *inputs):
        """Make of what `read` returned a state and the first tokens."""
        inputs, start_id = self.prepare(*inputs)
        return self.model.encode(inputs, self.search.max_length), start_id

    def earlier(self, *inputs):
        """Tokens before the first ones, for a search that counts them.

        Returns:
            (batch, length) int32 with -1 for none; None if there are none.
        """
        return None

    @abc.abstractmethod
    def example_inputs(self) -> tuple[Sequence[bytes], Sequence[bytes]]:
        """Inputs that can be answered, and odd ones."""

    def read_answers(self, answer):
        """Read answers that are given, as targets end in training.

        Args:
            answer: (batch,) strings.

        Returns:
            (batch, max_length) ids, (batch,) lengths, (batch,) valid and
            (batch,) truncated.
        """
        # The end needs room too.
        length = self.search.max_length
        ids, _, truncated = request_text.read(
            self.tokenizer, answer, length - 1
        )
        ids = with_end(self.tokenizer, ids)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        dense = ids.to_tensor(shape=(None, length))
        return dense, lengths, is_utf8(answer), truncated

    def signatures(self) -> list[Signature]:
        verbs = [
            self.signature(self.VERB, self._answer, *self._examples()),
            self.signature(
                f"{self.VERB}_with_options",
                self._answer_with_options,
                self._example_with_options(),
                further=row_options.INPUTS,
            ),
            self.signature(
                "score",
                self._score,
                self._example_of_score(),
                further={"answer": STRINGS},
            ),
        ]
        return [*verbs, *self.further_signatures(), *self._xla_signatures()]

    def signature(
        self, name, function, *examples, further=None, compiled=False
    ) -> Signature:
        """A signature whose first input is `INPUT`.

        Args:
            name: The verb.
            function: Takes that input, and the `further` ones by name.
            examples: Requests; see `Signature`.
            further: Specs of more inputs.
            compiled: Whether `function` uses XLA.
        """

        def respond(**inputs):
            return function(inputs.pop(self.INPUT), **inputs)

        specs = {self.INPUT: STRINGS, **(further or {})}
        return Signature(name, respond, specs, examples, compiled)

    def further_signatures(self) -> list[Signature]:
        """Those that not every model of the kind has."""
        return []

    def reply(self, tokens, valid, truncated, **outputs) -> dict:
        """Put an answer together.

        Args:
            tokens: (batch, length) ids that the model wrote.
            valid, truncated: (batch,) booleans.
            outputs: Further outputs, (batch, ...).
        """
        tokens = readable(self.tokenizer, tokens, self.search.end_ids)
        text = self._detokenize(tokens)
        outputs = {"text": text, "truncated": truncated, **outputs}
        return blank_invalid(outputs, valid)

    def align(self, inputs, start_id, valid):
        """Search for answers, and tell where each of their tokens attended.

        Args:
            inputs, start_id: What `prepare` returned.
            valid: (batch,) booleans.

        Returns:
            (batch, max_length, ...) weights, what `reply` takes of the answer,
            and (batch, max_length) booleans, which tokens are part of it.
        """
        length = self.search.max_length
        state = self.model.encode(inputs, length)
        limits = tf.where(valid, length, 0)
        found = self.search.find(state, start_id, limits)
        tokens = found["tokens"]
        fed = tf.concat([start_id[:, None], tokens[:, :-1]], axis=1)
        written = tf.sequence_mask(found["lengths"], length)
        answer = {
            "tokens": tokens,
            "answer_tokens": spell(self.tokenizer, tokens, written),
            "answer_lengths": found["lengths"],
        }
        return self.model.alignment(inputs, fed), answer, written

    def _answer(self, given, *, fixed=False, find=None):
        inputs, valid, truncated = self._read(given, fixed=fixed)
        limits = tf.where(valid, self.search.max_length, 0)
        found = (find or self._find)(*inputs, limits)
        score = found["log_probability"]
        return self.reply(found["tokens"], valid, truncated, score=score)

    def _answer_with_options(
        self, given, max_length, temperature, seed, *, fixed=False, draw=None
    ):
        inputs, valid, truncated = self._read(given, fixed=fixed)
        valid, limits, temperature = row_options.check(
            valid, max_length, temperature, most=self.search.max_length
        )
        found = (draw or self._draw)(*inputs, limits, temperature, seed)
        score = found["log_probability"]
        return self.reply(found["tokens"], valid, truncated, score=score)

    def _score(self, given, answer):
        inputs, valid, truncated = self._read(given)
        ids, lengths, readable, too_long = self.read_answers(answer)
        valid &= readable
        inputs, start_id = self.prepare(*inputs)
        log_probs = score(
            self.model,
            inputs,
            ids,
            start_id=start_id,
            lengths=tf.where(valid, lengths, 0),
        )
        outputs = {
            "log_probability": tf.reduce_sum(log_probs, axis=1),
            "truncated": truncated | too_long,
        }
        return blank_invalid(outputs, valid)

    def _find(self, *inputs):
        *inputs, limits = inputs
        state, start_id = self._begin(*inputs)
        prompt = self.earlier(*inputs)
        return self.search.find(state, start_id, limits, prompt)

    def _draw(self, *inputs):
        *inputs, limits, temperature, seed = inputs
        state, start_id = self._begin(*inputs)
        prompt = self.earlier(*inputs)
        return self.search.draw(
            state, start_id, limits, temperature, seed, prompt
        )

    def _xla_signatures(self):
        if not self.xla:
            return
        find, draw = compiled(self._find), compiled(self._draw)

        def answer(given):
            return self._answer(given, fixed=True, find=find)

        def answer_with_options(given, **options):
            return self._answer_with_options(
                given, **options, fixed=True, draw=draw
            )

        yield self.signature(
            f"{self.VERB}_xla", answer, *self._examples(), compiled=True
        )
        yield self.signature(
            f"{self.VERB}_with_options_xla",
            answer_with_options,
            self._example_with_options(),
            further=row_options.INPUTS,
            compiled=True,
        )

    def _examples(self):
        (first, *others), odd = self.example_inputs()
        return (
            {self.INPUT: text_column(first)},
            {self.INPUT: text_column(*others, *odd)},
        )

    def _example_with_options(self):
        inputs, _ = self.example_inputs()
        inputs = [*inputs, inputs[0]]
        most = self.search.max_length
        return {
            self.INPUT: text_column(*inputs),
            **row_options.examples(len(inputs) - 1, most),
        }

    def _example_of_score(self):
        inputs, _ = self.example_inputs()
        answers = [*example_texts.sentences(self.tokenizer), b""]
        inputs = [inputs[0], *inputs, b""][: len(answers)]
        return {
            self.INPUT: text_column(*inputs),
            "answer": text_column(*answers[: len(inputs)]),
        }
