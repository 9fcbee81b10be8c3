"""What all tasks have in common whose answers are written token by token."""

import abc
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding.protocol import GenerativeModel
from keras_attn.decoding.scoring import score
from keras_attn.export.graph import row_options
from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.padded_batches import compiled
from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.tasks import example_texts
from keras_attn.export.tasks.search import Search
from keras_attn.export.tasks.task import Task
from keras_attn.text.tokenizer import Tokenizer

TEXT = tf.TensorSpec([None], tf.string)


class GenerativeTask(Task):
    """A model that writes an answer to a text.

        inputs, start = prepare(read(text))
        answer        = search(encode(inputs), start)

    Subclasses name their `VERB`, and define how texts and answers are read
    and what the model is given.

    Args:
        model: A Keras model that writes token by token.
        tokenizer: Turns tokens that the model writes into text.
        search: Finds the answers.
        xla: Whether the first two signatures have XLA signatures beside them.
    """

    VERB: str

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
    def read(self, text, *, fixed: bool = False):
        """Read texts.

        Args:
            text: (batch,) strings.
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

    @abc.abstractmethod
    def read_answers(self, answer):
        """Read answers that are given.

        Args:
            answer: (batch,) strings.

        Returns:
            (batch, max_length) ids, (batch,) lengths, (batch,) valid and
            (batch,) truncated.
        """

    @abc.abstractmethod
    def example_texts(self) -> tuple[Sequence[bytes], bytes]:
        """Texts that can be answered, and one that is too long."""

    def signatures(self) -> list[Signature]:
        verbs = [
            Signature(
                self.VERB, self._answer, {"text": TEXT}, self._examples()
            ),
            Signature(
                f"{self.VERB}_with_options",
                self._answer_with_options,
                {"text": TEXT, **row_options.INPUTS},
                (self._example_with_options(),),
            ),
            Signature(
                "score",
                self._score,
                {"text": TEXT, "answer": TEXT},
                (self._example_of_score(),),
            ),
        ]
        return [*verbs, *self.further_signatures(), *self._xla_signatures()]

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
        # A model may know more ids than the tokenizer.
        most = self.tokenizer.vocabulary_size - 1
        text = self._detokenize(tf.minimum(tokens, most))
        outputs = {"text": text, "truncated": truncated, **outputs}
        return blank_invalid(outputs, valid)

    def limits(self, valid):
        """The most tokens for each row: (batch,); none if it is not valid."""
        return tf.where(valid, self.search.max_length, 0)

    def _answer(self, text, *, fixed=False, find=None):
        inputs, valid, truncated = self._read(text, fixed=fixed)
        found = (find or self._find)(*inputs, self.limits(valid))
        return self.reply(valid=valid, truncated=truncated, **found)

    def _answer_with_options(
        self, text, max_length, temperature, seed, *, fixed=False, draw=None
    ):
        inputs, valid, truncated = self._read(text, fixed=fixed)
        valid, limits, temperature = row_options.check(
            valid, max_length, temperature, most=self.search.max_length
        )
        found = (draw or self._draw)(*inputs, limits, temperature, seed)
        return self.reply(valid=valid, truncated=truncated, **found)

    def _score(self, text, answer):
        inputs, valid, truncated = self._read(text)
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
        return _written(self.search.find(*self._begin(*inputs), limits))

    def _draw(self, *inputs):
        *inputs, limits, temperature, seed = inputs
        state, start_id = self._begin(*inputs)
        return _written(
            self.search.draw(state, start_id, limits, temperature, seed)
        )

    def _xla_signatures(self):
        if not self.xla:
            return
        find, draw = compiled(self._find), compiled(self._draw)

        def answer(text):
            return self._answer(text, fixed=True, find=find)

        def answer_with_options(text, max_length, temperature, seed):
            return self._answer_with_options(
                text, max_length, temperature, seed, fixed=True, draw=draw
            )

        yield Signature(
            f"{self.VERB}_xla",
            answer,
            {"text": TEXT},
            self._examples(),
            compiled=True,
        )
        yield Signature(
            f"{self.VERB}_with_options_xla",
            answer_with_options,
            {"text": TEXT, **row_options.INPUTS},
            (self._example_with_options(),),
            compiled=True,
        )

    def _examples(self):
        (first, *others), too_long = self.example_texts()
        odd = (*others, b"", too_long, example_texts.BROKEN)
        return (
            {"text": text_column(first)},
            {"text": text_column(*odd)},
        )

    def _example_with_options(self):
        texts, _ = self.example_texts()
        texts = [*texts, texts[0]]
        most = self.search.max_length
        return {
            "text": text_column(*texts),
            **row_options.examples(len(texts) - 1, most),
        }

    def _example_of_score(self):
        texts, _ = self.example_texts()
        answers = [*example_texts.sentences(self.tokenizer), b""]
        texts = [texts[0], *texts, b""][: len(answers)]
        return {
            "text": text_column(*texts),
            "answer": text_column(*answers),
        }


def _written(found):
    return {"tokens": found["tokens"], "score": found["log_probability"]}
