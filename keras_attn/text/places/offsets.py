"""Where the tokens of a text stand in it."""

import tensorflow as tf

from keras_attn.text.byte_pair import BytePairTokenizer
from keras_attn.text.places.unigram_sizes import UnigramSizes
from keras_attn.text.segmentation.split import CHINESE
from keras_attn.text.segmentation.split import PUNCTUATION
from keras_attn.text.segmentation.split import WHITE_SPACE
from keras_attn.text.segmentation.split import character_class
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.unigram import UnigramTokenizer
from keras_attn.text.word_piece import WordPieceTokenizer

# Of ASCII alone: byte pairs may hold half of another character.
_BLANK = r"[\t-\r ]"
_SPACE = f"[{character_class(WHITE_SPACE)}]"
_ALONE = f"[{character_class(f'{PUNCTUATION} {CHINESE}')}]"
_CONTINUES = "##"


class Offsets(tf.Module):
    """The characters that tokens were made of, in the text as it came.

        text[start : end] = what a token stands for

    Tokenizers change texts: letters become small, accents and control
    characters go. So lengths are compared. In a text as it is looked up, less
    its white space, tokens stand side by side, each as long as its name and an
    unknown one as its word; and so do the characters of the original, each as
    long as what it becomes. A token starts with the character of its first
    byte and ends after that of its last one, as in Hugging Face's `tokenizers`.
    A name of several words that is one token must stand apart from letters.

    Args:
        tokenizer: A `WordPieceTokenizer`, a `BytePairTokenizer`, or a
            `UnigramTokenizer`, where `UnigramSizes` tells more.
        whole_words: Whether a token gets the offsets of the words that it is
            part of; these end at white space, and a punctuation mark or a
            Chinese character is one.

    Call arguments:
        strings: (batch,) UTF-8 strings.
        ids: Ragged (batch, tokens), all ids of the strings.

    Returns:
        `starts` and `ends`, ragged int32 (batch, tokens), in characters (code
        points). A token that is white space alone starts with the letter after
        it and ends with the one before, so that no span begins or ends in it.
    """

    def __init__(self, tokenizer: Tokenizer, *, whole_words: bool = False):
        super().__init__()
        kinds = WordPieceTokenizer, BytePairTokenizer, UnigramTokenizer
        if not isinstance(tokenizer, kinds):
            raise ValueError(
                "Offsets in texts are known for a WordPieceTokenizer, a "
                "BytePairTokenizer and a UnigramTokenizer. Received: "
                f"{type(tokenizer).__name__}"
            )
        self.tokenizer = tokenizer
        self.whole_words = whole_words
        self._has_words = isinstance(tokenizer, WordPieceTokenizer)
        self._unigram = None
        if isinstance(tokenizer, UnigramTokenizer):
            self._unigram = UnigramSizes(tokenizer)
        else:
            self._sizes, self._opened = self._of_vocabulary()

    def __call__(self, strings, ids):
        characters = tf.strings.unicode_split(strings, "UTF-8")
        distinct, which = tf.unique(characters.values)
        taken = tf.gather(self._sizes_of(distinct), which)
        ends = tf.cumsum(taken)  # of all rows together
        row = ids.value_rowids()
        if self._unigram is not None:
            start, stop = self._unigram.of_tokens(strings, characters, ids)
        else:
            sizes = self._sizes_of_tokens(strings, ids)
            # A row of tokens begins where its row of characters does.
            offset = _before(taken, characters.row_starts())
            offset -= _before(sizes, ids.row_starts())
            stop = tf.cumsum(sizes) + tf.gather(offset, row)
            start = stop - sizes
        first = tf.searchsorted(ends, start, side="right")
        last = tf.searchsorted(ends, stop, side="left") + 1
        last = tf.where(stop > start, last, tf.minimum(first, last))
        if self.whole_words:
            first, last = _widen(characters, distinct, which, first, last)
        low = tf.gather(characters.row_starts(), row)
        high = tf.gather(characters.row_limits(), row)
        first = tf.clip_by_value(tf.cast(first, tf.int64), low, high)
        last = tf.clip_by_value(tf.cast(last, tf.int64), low, high)
        return tuple(
            ids.with_values(tf.cast(place - low, tf.int32))
            for place in (first, last)
        )

    def _of_vocabulary(self):
        """For each id its size, and how many words it opens."""
        tokens = self.tokenizer.vocabulary
        if not self._has_words:
            ids = tf.range(len(tokens))[:, tf.newaxis]
            names = self.tokenizer.detokenize(ids, keep_special=True)
            sizes = self._sizes_of(names).numpy()
            if self.tokenizer.unknown_id is not None:
                # It stands for one byte.
                sizes[self.tokenizer.unknown_id] = 1
            return sizes, None
        continues = [token.startswith(_CONTINUES) for token in tokens]
        names = tf.constant([t.removeprefix(_CONTINUES) for t in tokens])
        # A special token such as [MASK] is three words by itself.
        counts = self.tokenizer.words(names).row_lengths()
        opened = tf.where(continues, tf.zeros_like(counts), counts).numpy()
        opened[self.tokenizer.unknown_id] = 1
        return self._sizes_of(names).numpy(), opened

    def _sizes_of(self, strings):
        """How many bytes are left of each of (strings,) strings."""
        if self._unigram is not None:
            return self._unigram.of_characters(strings)
        if not self._has_words:
            return _length(tf.strings.regex_replace(strings, _BLANK, ""))
        words = self.tokenizer.words(strings)
        sizes = tf.concat([[0], tf.cumsum(_length(words.values))], axis=0)
        splits = tf.gather(sizes, words.row_splits)
        return splits[1:] - splits[:-1]

    def _sizes_of_tokens(self, strings, ids):
        sizes = tf.gather(tf.constant(self._sizes), ids.values)
        if not self._has_words:
            return sizes
        # The word of an unknown token is the one after those opened before.
        words = self.tokenizer.words(strings)
        opened = tf.gather(tf.constant(self._opened), ids.values)
        offset = words.row_starts() - _before(opened, ids.row_starts())
        number = tf.cumsum(opened, exclusive=True)
        number += tf.gather(offset, ids.value_rowids())
        lengths = tf.concat([_length(words.values), [0]], axis=0)
        number = tf.minimum(number, tf.size(words.values, tf.int64))
        unknown = ids.values == self.tokenizer.unknown_id
        return tf.where(unknown, tf.gather(lengths, number), sizes)


def _widen(characters, distinct, which, first, last):
    """Places of characters, moved to the ends of their words."""
    space, alone = (
        tf.gather(tf.strings.regex_full_match(distinct, pattern), which)
        for pattern in (_SPACE, _ALONE)
    )
    count = tf.size(which)
    opens_row = tf.scatter_nd(
        # A row without characters opens what comes after it, or nothing.
        characters.row_starts()[:, tf.newaxis],
        tf.ones_like(characters.row_starts()),
        [tf.cast(count, tf.int64) + 1],
    )
    opens = ~space & (
        alone | tf.roll(space | alone, 1, axis=0) | (opens_row[:-1] > 0)
    )
    word = tf.cumsum(tf.cast(opens, tf.int32))
    places = tf.range(count)
    num_words = tf.reduce_sum(tf.cast(opens, tf.int32)) + 1
    spans = [
        tf.math.unsorted_segment_min(places, word, num_words),
        tf.math.unsorted_segment_max(
            tf.where(space, -1, places), word, num_words
        ),
    ]
    first, last = tf.cast(first, tf.int32), tf.cast(last, tf.int32)
    begin, end = (
        tf.gather(tf.concat([word, [0]], axis=0), tf.clip_by_value(x, 0, count))
        for x in (first, last - 1)
    )
    return tf.gather(spans[0], begin), tf.gather(spans[1], end) + 1


def _before(sizes, starts):
    """The sum of all sizes before each of `starts`."""
    return tf.gather(tf.concat([[0], tf.cumsum(sizes)], axis=0), starts)


def _length(strings):
    return tf.cast(tf.strings.length(strings), tf.int64)
