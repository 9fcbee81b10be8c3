"""Words to the pieces of a unigram language model."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.sentence_piece.best_path import BestPath
from keras_attn.text.sentence_piece.marked_words import MARK
from keras_attn.text.sentence_piece.trie import Trie

# An unknown character is as bad as the worst piece, and this.
_PENALTY = 10.0
# Longer words are cut here, which bounds the time that one may take.
_MOST = 4096
_EPSILON = float(np.finfo("float32").eps)


class UnigramPieces(tf.Module):
    """The pieces of highest total score, for all words of many texts.

    No piece but the first of a word has a mark in it, so words can be cut one
    by one: those that are pieces are found in a table, of the others each is
    cut once. With `whole_text` sums are rounded to float32 as sentencepiece
    does, which goes from the first word of a text to the last. That can matter
    only where two sums are almost equal: such texts are cut again as a whole.

    Args:
        scores: Log-probability by piece.
        whole_text: Whether sums are taken over texts in float32, not over
            words in float64.
        folder: Where the tables' files are written; it must outlive this.

    Call arguments:
        words: Ragged (batch, words) strings.

    Returns:
        Ragged (batch, pieces) int64: a piece's place among `scores`, or
        -1 - code point of an unknown character; and (pieces,) booleans: where
        a word (with `whole_text`, a text) starts.
    """

    def __init__(
        self,
        scores: Mapping[str, float],
        *,
        whole_text: bool,
        folder: tables.AssetFolder,
    ):
        super().__init__()
        self.whole_text = whole_text
        # Then words cannot be cut by themselves.
        self._crossed = any(MARK in piece[1:] for piece in scores)
        numbers = np.array([*scores.values()])
        keys = {piece: number for number, piece in enumerate(scores)}
        trie = Trie(keys, folder=folder, name="pieces.txt")
        options = {"unknown_score": numbers.min() - _PENALTY, "most": _MOST}
        self._best = BestPath(trie, numbers, **options)
        self._rounded = BestPath(trie, numbers, float32=True, **options)
        # How far rounding can move a sum of any pieces, for each character
        # of the text, and for each of the word that is cut.
        largest = float(np.abs(numbers).max()) + _PENALTY
        self._tolerance = _EPSILON * largest
        lines = (f"{word}\t{number}" for word, number in self._whole(keys))
        self._words = tables.words(folder, lines)

    def __call__(self, words):
        if self.whole_text and self._crossed:
            texts = tf.strings.reduce_join(words, axis=-1)
            pieces, _ = self._rounded(tf.strings.unicode_decode(texts, "UTF-8"))
            return pieces, _starts(pieces)
        numbers = self._words.lookup(words.values)
        missing = tf.where(numbers < 0)
        distinct, which = tf.unique(tf.gather_nd(words.values, missing))
        cut, margins = self._best(tf.strings.unicode_decode(distinct, "UTF-8"))
        by_word = _replace_rows(
            _one_in_each_row(numbers), missing, tf.gather(cut, which)
        )
        pieces = tf.RaggedTensor.from_row_splits(
            by_word.values,
            tf.gather(by_word.row_splits, words.row_splits),
            validate=False,
        )
        if not self.whole_text:
            return pieces, _starts(by_word)
        margins = tf.tensor_scatter_nd_update(
            tf.fill(tf.shape(numbers), tf.constant(np.inf, tf.float64)),
            missing,
            tf.gather(margins, which),
        )
        pieces = self._rounded_where_close(words, margins, pieces)
        return pieces, _starts(pieces)

    def _rounded_where_close(self, words, margins, pieces):
        lengths = tf.strings.length(words.values)
        lengths = words.with_values(tf.cast(lengths, tf.float64))
        totals = tf.reduce_sum(lengths, axis=1)
        slack = lengths.with_values(margins / lengths.values)
        close = tf.reduce_min(slack, axis=1) < self._tolerance * totals
        rows = tf.where(close & (totals <= _MOST))

        def again():
            texts = tf.strings.reduce_join(
                tf.gather(words, rows[:, 0]), axis=-1
            )
            codes = tf.strings.unicode_decode(texts, "UTF-8")
            return _replace_rows(pieces, rows, self._rounded(codes)[0])

        return tf.cond(tf.size(rows) > 0, again, lambda: pieces)

    def _whole(self, keys):
        """Yield words that are one piece, and its number."""
        words = [
            piece
            for piece in keys
            if piece.startswith(MARK) and not set(piece) & set("\t\n\r")
        ]
        if not words or self._crossed:
            return
        pieces, margins = self._best(tf.strings.unicode_decode(words, "UTF-8"))
        limit = self._tolerance * _MOST if self.whole_text else -1.0
        for word, numbers, margin in zip(
            words, pieces.to_list(), margins.numpy(), strict=True
        ):
            certain = margin > limit * len(word.encode())
            if numbers == [keys[word]] and certain:
                yield word, keys[word]


def _one_in_each_row(values):
    return tf.RaggedTensor.from_row_splits(
        values, tf.range(tf.size(values, tf.int64) + 1), validate=False
    )


def _replace_rows(ragged, places, rows):
    """Ragged rows, of which those at (rows, 1) `places` are others."""
    count = ragged.nrows()
    index = tf.tensor_scatter_nd_update(
        tf.range(count), places, count + tf.range(rows.nrows())
    )
    return tf.gather(tf.concat([ragged, rows], axis=0), index)


def _starts(ragged):
    """(values,) booleans: which are the first of their row."""
    starts = tf.scatter_nd(
        ragged.row_splits[:, tf.newaxis],
        tf.ones_like(ragged.row_splits),
        tf.size(ragged.values, tf.int64)[tf.newaxis] + 1,
    )
    return starts[:-1] > 0
