"""How much of a prepared text the tokens of a unigram model take."""

import tensorflow as tf

from keras_attn.text.segmentation.split import split_words
from keras_attn.text.sentence_piece.marked_words import MARK
from keras_attn.text.unigram import UnigramTokenizer


class UnigramSizes(tf.Module):
    """Bytes of characters and of tokens, white space and marks left out.

        size(token) = bytes of its name

    A word begins with each token that has a mark. What its tokens leave over
    is its unknown token's; several of one word share it. Characters are
    prepared one by one. Where neighbours become one, such as a letter and its
    accent, a word has other bytes here than there: then its tokens are as long
    as its characters allow, and the words after it are not moved.

    Args:
        tokenizer: Its texts must begin as if with a space (`prefix`).
    """

    def __init__(self, tokenizer: UnigramTokenizer):
        super().__init__()
        if tokenizer.prefix == "never":
            raise ValueError(
                "Offsets in texts are known for a UnigramTokenizer that marks "
                'the first word of a text, too. Received: prefix="never"'
            )
        self.tokenizer = tokenizer
        names = tokenizer.vocabulary
        added = {token["content"] for token in tokenizer.added_tokens}
        self._opened = [MARK in x or x in added for x in names]
        self._sizes = [len(x.replace(MARK, "").encode()) for x in names]
        self._sizes[tokenizer.unknown_id] = 0
        self._opened[tokenizer.unknown_id] = False

    def of_characters(self, characters):
        """Bytes of (characters,) strings: (characters,) int64."""
        return _totals(self._words(self.tokenizer._prepare(characters)))

    def of_tokens(self, strings, characters, ids):
        """Where tokens stand among the bytes of all characters.

        Args:
            strings: (batch,) strings.
            characters: Ragged (batch, characters), those of the strings.
            ids: Ragged (batch, tokens).

        Returns:
            `start` and `stop`, (tokens,) int64, from the first row on.
        """
        prepare = self.tokenizer._prepare
        words = _lengths(self._words(prepare(strings)))
        distinct, which = tf.unique(characters.values)
        each = tf.gather(prepare(distinct), which)
        rows = tf.strings.reduce_join(characters.with_values(each), axis=-1)
        room = _lengths(self._words(rows))
        row = ids.value_rowids()
        opened = tf.gather(tf.cast(self._opened, tf.int64), ids.values)
        number = tf.cumsum(opened)
        number -= _before(opened, ids.row_starts(), row) + 1
        word = _at(words, number, row)
        sizes = tf.gather(tf.constant(self._sizes, tf.int64), ids.values)
        unknown = ids.values == self.tokenizer.unknown_id
        count = tf.size(words.values, tf.int64) + 1
        known = tf.math.unsorted_segment_sum(sizes, word, count)
        holes = tf.cast(unknown, tf.int64)
        holes = tf.math.unsorted_segment_sum(holes, word, count)
        left = tf.concat([words.values, [0]], axis=0) - known
        left = tf.maximum(left, 0) // tf.maximum(holes, 1)
        sizes = tf.where(unknown, tf.gather(left, word), sizes)
        # From the start of the word, which `known` and `left` fill.
        stop = tf.cumsum(sizes)
        totals = tf.math.unsorted_segment_sum(sizes, word, count)
        stop -= tf.gather(tf.cumsum(totals, exclusive=True), word)
        place = _at(room, number, row)
        lengths = tf.concat([room.values, [0]], axis=0)
        base = tf.gather(tf.cumsum(lengths, exclusive=True), place)
        most = tf.gather(lengths, place)
        return (
            base + tf.minimum(stop - sizes, most),
            base + tf.minimum(stop, most),
        )

    def _words(self, prepared):
        spaced = tf.strings.regex_replace(prepared, MARK, " ")
        return split_words(spaced, punctuation=False)


def _lengths(words):
    lengths = tf.strings.length(words.values)
    return words.with_values(tf.cast(lengths, tf.int64))


def _totals(words):
    ends = tf.concat([[0], tf.cumsum(_lengths(words).values)], axis=0)
    ends = tf.gather(ends, words.row_splits)
    return ends[1:] - ends[:-1]


def _before(sizes, starts, row):
    """The sum of all sizes before the row of each token."""
    ends = tf.concat([[0], tf.cumsum(sizes)], axis=0)
    return tf.gather(tf.gather(ends, starts), row)


def _at(words, number, row):
    """The place among all words of a row's word, the nearest if it has none."""
    first = tf.gather(words.row_starts(), row)
    last = tf.gather(words.row_limits(), row) - 1
    place = tf.maximum(tf.minimum(first + number, last), first)
    return tf.minimum(place, tf.size(words.values, tf.int64))
