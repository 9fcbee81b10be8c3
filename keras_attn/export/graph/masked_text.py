"""Texts with holes: the name of MASK, and what is written in its place."""

import tensorflow as tf

from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.utf8 import is_utf8
from keras_attn.text.byte_pair import BytePairTokenizer
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.word_piece import WordPieceTokenizer

# One space, as there is between a word and what follows it.
_SPACE = " $"


class Holes(tf.Module):
    """Finds the holes of texts, and fills them.

        text = part, MASK, part, ... MASK, part

    Tokenizers read the name of MASK as plain text, so texts are split there
    first. Byte pairs hold the space before a word: before a hole it belongs
    to the hole, as when the model was trained.

    Args:
        tokenizer: Its vocabulary has MASK.
    """

    def __init__(self, tokenizer: Tokenizer):
        super().__init__()
        if tokenizer.mask_id is None:
            raise ValueError(
                "The vocabulary of `tokenizer` has no MASK token, which marks "
                "a hole. Choose one of its tokens: "
                'special_tokens={"mask": ...}.'
            )
        self.tokenizer = tokenizer
        self._tokenize = shared_function(tokenizer)
        self._holds_space = isinstance(tokenizer, BytePairTokenizer)
        self._continues = isinstance(tokenizer, WordPieceTokenizer)

    def read(self, text):
        """Split texts at the holes, and tokenize them.

        Args:
            text: (batch,) strings.

        Returns:
            The parts between the holes, ragged (batch, parts) strings; ragged
            (batch, tokens) int32 ids with MASK in the holes; (batch,)
            booleans, False where a text is not UTF-8, which reads as empty,
            or has no token.
        """
        valid = is_utf8(text)
        mask = self.tokenizer.special_tokens.mask
        parts = tf.strings.split(tf.where(valid, text, ""), sep=mask)
        ends = parts.row_limits() - 1
        is_last = tf.scatter_nd(
            ends[:, tf.newaxis],
            tf.ones_like(ends),
            tf.shape(parts.values, tf.int64),
        )
        strings = parts.values
        if self._holds_space:
            trimmed = tf.strings.regex_replace(strings, _SPACE, "")
            strings = tf.where(is_last > 0, strings, trimmed)
        ids = self._tokenize(strings)  # (all parts, tokens)
        masks = tf.RaggedTensor.from_row_lengths(
            tf.fill([tf.reduce_sum(1 - is_last)], self.tokenizer.mask_id),
            1 - is_last,
            validate=False,
        )
        ids = parts.with_values(tf.concat([ids, masks], axis=1))
        ids = ids.merge_dims(1, 2)
        return parts, ids, valid & (ids.row_lengths() > 0)

    def spell(self, candidates, counts):
        """Write candidates as text.

        Args:
            candidates: (all holes, candidates) ids, best first.
            counts: (batch,) numbers of holes.

        Returns:
            (all holes, candidates) strings, and the best of each hole, ragged
            (batch, holes). A single byte may be no text.
        """
        tokens = self.tokenizer.detokenize(
            candidates[:, :, tf.newaxis], keep_special=True
        )
        best = tf.RaggedTensor.from_row_lengths(
            tokens[:, 0], counts, validate=False
        )
        return tokens, best

    def fill(self, parts, best):
        """Write the best tokens into the holes.

        Args:
            parts: From `read`.
            best: From `spell`; the holes that a row has beyond stay.

        Returns:
            (batch,) strings.
        """
        num_holes = parts.row_lengths() - 1
        left = num_holes - best.row_lengths()
        names = tf.RaggedTensor.from_row_lengths(
            tf.fill([tf.reduce_sum(left)], self.tokenizer.special_tokens.mask),
            left,
            validate=False,
        )
        nothing = tf.fill([parts.nrows(), 1], "")
        after = tf.concat([best, names, nothing], axis=1).values
        filled = tf.concat(
            [
                tf.ones_like(best, tf.bool),
                tf.zeros_like(names, tf.bool),
                tf.zeros_like(nothing, tf.bool),
            ],
            axis=1,
        ).values
        moves = filled & self._holds_space
        if self._continues:
            moves |= filled & tf.strings.regex_full_match(after, "##.+")
            bare = tf.strings.regex_replace(after, "^##", "")
            after = tf.where(moves, bare, after)
        before = tf.where(
            moves,
            tf.strings.regex_replace(parts.values, _SPACE, ""),
            parts.values,
        )
        pieces = parts.with_values(tf.strings.join([before, after]))
        return tf.strings.reduce_join(pieces, axis=-1)
