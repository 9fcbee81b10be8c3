"""Text in, its continuation out."""

import keras
import tensorflow as tf

from keras_attn.decoding.protocol import continues_prompts
from keras_attn.decoding.protocol import earlier_tokens
from keras_attn.export.graph import request_text
from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.search import Search
from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.graph.utf8 import is_utf8
from keras_attn.export.settings import example_texts
from keras_attn.export.settings import tokenizer_checks
from keras_attn.export.tasks.generative_task import GenerativeTask
from keras_attn.text.layouts import prompt_row
from keras_attn.text.layouts import prompt_special
from keras_attn.text.tokenizer import Tokenizer

_USUAL_LENGTH = 128
_USUAL_PROMPT = 512


class TextGeneration(GenerativeTask):
    """A language model that goes on from a text, such as `GPT`.

        tokens = prompt, answer

    A text is `valid` if it is UTF-8 and has at least one token, and if its
    row's options are in range; any other gets an empty answer. It is
    `truncated` if it has more tokens than are read: the last ones are. The
    special tokens of the tokenizer's template are put around what is read.

    Args:
        model: Writes on from what `prompt({"tokens", "lengths"})` reads.
        tokenizer: The tokenizer that the model was trained with.
        search: "greedy", "sample" or "beam".
        max_length: The most tokens of an answer, its end included; if None,
            128, or half of the positions that the model has learned if that
            is fewer.
        prompt_length: The most tokens of a prompt, the template's included;
            if None, the positions that `max_length` leaves, or 512 where none
            are learned.
        xla: Whether the first two signatures have XLA signatures beside them.
        **search_options: Further arguments of the search, such as `top_k`, or
            `end_id`, one or several, if it is not the tokenizer's END.
    """

    VERB = "generate"

    def __init__(
        self,
        model: keras.Model,
        *,
        tokenizer: Tokenizer | None = None,
        search: str = "greedy",
        max_length: int | None = None,
        prompt_length: int | None = None,
        xla: bool = False,
        **search_options,
    ):
        tokenizer_checks.check_tokenizer(model, tokenizer, "target")
        positions = tokenizer_checks.positions(model)
        if max_length is None:
            max_length = _USUAL_LENGTH
            if positions is not None:
                max_length = min(max_length, positions // 2)
        # A prompt has one token at least.
        most = None if positions is None else positions - 1
        tokenizer_checks.check_length("max_length", max_length, most)
        room = None if positions is None else positions - max_length
        if prompt_length is None:
            prompt_length = room or _USUAL_PROMPT
        tokenizer_checks.check_length("prompt_length", prompt_length, room)
        self.prompt_length = prompt_length
        self.prompt_room = prompt_length - prompt_special(tokenizer)
        if self.prompt_room < 1:
            raise ValueError(
                "`prompt_length` must leave room for the special tokens of the "
                "tokenizer's template and a token. Received: prompt_length="
                f"{prompt_length}"
            )
        self.longest = prompt_length + max_length
        search = Search(
            model,
            search,
            max_length=max_length,
            end_id=tokenizer.end_id,
            options=search_options,
        )
        super().__init__(model, tokenizer=tokenizer, search=search, xla=xla)
        self._prefill = shared_function(self.prefill)

    @staticmethod
    def accepts(model: keras.Model) -> bool:
        """Whether a model goes on from prompts."""
        return continues_prompts(model)

    def further_signatures(self) -> list[Signature]:
        if not hasattr(self.model, "prefill"):
            return []
        example = {"text": text_column(self.example_inputs()[0][-1])}
        return [self.signature("embed", self._embed, example)]

    def read(self, text, *, fixed=False):
        ids, valid, truncated = request_text.read(
            self.tokenizer, text, self.prompt_room, from_end=True
        )
        ids = prompt_row(self.tokenizer, ids)
        width = self.prompt_length if fixed else None
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        # Nothing after a row's length is attended to.
        tokens = ids.to_tensor(shape=(None, width))
        return (tokens, lengths), valid, truncated

    def prepare(self, tokens, lengths):
        return self.model.prompt({"tokens": tokens, "lengths": lengths})

    def earlier(self, tokens, lengths):
        if not self.search.reads_prompts:
            return None
        # The last token is the first that is fed.
        return earlier_tokens({"tokens": tokens, "lengths": lengths - 1})

    def begin(self, tokens, lengths):
        if hasattr(self.model, "prefill"):
            return self._prefill(tokens, lengths)[1:]
        return super().begin(tokens, lengths)

    def prefill(self, tokens, lengths):
        """Vectors of a prompt's tokens, the state and the last tokens."""
        inputs, last = self.prepare(tokens, lengths)
        return *self.model.prefill(inputs, self.search.max_length), last

    def read_answers(self, answer):
        # Without an end: the text may go on.
        length = self.search.max_length
        ids, _, truncated = request_text.read(self.tokenizer, answer, length)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        dense = ids.to_tensor(shape=(None, length))
        return dense, lengths, is_utf8(answer), truncated

    def example_inputs(self):
        texts = example_texts.sentences(self.tokenizer)
        return texts, example_texts.odd(self.tokenizer, self.prompt_room)

    def _embed(self, text):
        (tokens, lengths), valid, truncated = self._read(text)
        real = tf.sequence_mask(lengths, tf.shape(tokens)[1], tf.float32)
        vectors = tf.cast(self._prefill(tokens, lengths)[0], tf.float32)
        total = tf.einsum("blf,bl->bf", vectors, real)
        mean = total / tf.reduce_sum(real, axis=1, keepdims=True)
        outputs = {"embedding": mean, "truncated": truncated}
        return blank_invalid(outputs, valid)
