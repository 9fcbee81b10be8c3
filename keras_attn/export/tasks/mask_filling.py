"""A masked language model that fills the holes of texts, as a servable."""

import numpy as np
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.export.graph.masked_text import Holes
from keras_attn.export.graph.signature import text_column
from keras_attn.export.tasks.text_task import TextTask
from keras_attn.models.bert.model import BERT
from keras_attn.text.tokenizer import Tokenizer


class MaskFilling(TextTask):
    """The most probable tokens where a text says [MASK].

        score = softmax(logits at the hole)

    The verbs are `fill` and `embed` (text). `fill` answers `text`, with every
    hole filled by its most probable token and all else as it came; `holes`,
    (batch,) numbers of holes; for the first holes of a row `tokens` and
    `scores`, (batch, max_holes, num_candidates), best first and padded with ""
    and 0; `valid` and `truncated`. Holes are filled independently; those
    that are cut off stay. Special tokens fill no hole.

    Args:
        model: A `BERT` with the head "masked_lm" or "pretraining".
        tokenizer: The tokenizer that it was trained with; its vocabulary has
            MASK, whose name marks a hole.
        max_length: The most tokens that are read; all positions if None.
        num_candidates: How many tokens are given for a hole.
        max_holes: For how many holes.
        xla: Whether every signature has an XLA signature beside it.
    """

    HEADS = ("masked_lm", "pretraining")

    def __init__(
        self,
        model: BERT,
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        num_candidates: int = 5,
        max_holes: int = 8,
        xla: bool = False,
    ):
        super().__init__(
            model, tokenizer=tokenizer, max_length=max_length, xla=xla
        )
        self.holes = Holes(tokenizer)
        special = tokenizer.special_tokens.values()
        ordinary = ~np.isin(tokenizer.vocabulary, list(special))
        rest = model.config["vocabulary_size"] - len(ordinary)
        self._is_ordinary = np.pad(ordinary, (0, rest))
        for name, number, most in (
            ("num_candidates", num_candidates, self._is_ordinary.sum()),
            ("max_holes", max_holes, self.pairs.max_length - 2),
        ):
            number = argument_checks.integer(number, name, at_least=1)
            # There are no more to be had.
            setattr(self, name, min(number, most))

    def signatures(self):
        mask = self.pairs.tokenizer.special_tokens.mask.encode()
        examples = tuple(
            {"text": text_column(*(mask + b" " + t for t in texts))}
            for texts in (request["text"] for request in self.examples("text"))
        )
        return [
            *self.verb(
                "fill",
                self._fill,
                of=self.encode,
                read=self._read,
                examples=examples,
            ),
            *self.embed(),
        ]

    def _read(self, text, *, fixed):
        parts, ids, valid = self.holes.read(text)
        rows = self.pairs.lay_out(ids, fixed=fixed)
        return {**rows, "valid": valid, "parts": parts}

    def _fill(self, sequence, rows):
        parts = rows["parts"]
        is_hole = rows["tokens"] == self.pairs.tokenizer.mask_id
        # The head is large, so it sees nothing but holes.
        vectors = tf.gather_nd(sequence, tf.where(is_hole))
        logits = self.model.score_masked(vectors[tf.newaxis])[0]
        logits = tf.cast(logits, tf.float32)
        scores = tf.where(self._is_ordinary, tf.nn.softmax(logits), -1.0)
        scores, candidates = tf.math.top_k(scores, self.num_candidates)
        counts = tf.reduce_sum(tf.cast(is_hole, tf.int64), axis=1)
        tokens, best = self.holes.spell(candidates, counts)
        return {
            "text": self.holes.fill(parts, best),
            "holes": tf.cast(parts.row_lengths() - 1, tf.int32),
            "tokens": self._pad(tokens, counts, ""),
            "scores": self._pad(scores, counts, 0.0),
        }

    def _pad(self, values, counts, blank):
        """(holes, candidates) to (batch, max_holes, candidates)."""
        rows = tf.RaggedTensor.from_row_lengths(values, counts, validate=False)
        shape = (None, self.max_holes, self.num_candidates)
        return rows[:, : self.max_holes].to_tensor(blank, shape=shape)
