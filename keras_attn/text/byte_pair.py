"""Byte-level byte-pair encoding, as GPT-2."""

import json
import os
import pathlib
import re
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from keras_attn.text import files
from keras_attn.text import tables
from keras_attn.text.segmentation import byte_letters
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.segmentation.gpt2_split import split_words
from keras_attn.text.segmentation.merges import Merges
from keras_attn.text.tokenizer import Tokenizer

# The first line of a `merges.txt`.
_VERSION = "#version: 0.2"


@files.register
class BytePairTokenizer(Tokenizer):
    """Words as bytes, of which neighbours are merged in a learned order.

        ids(word) = merge(bytes of word)

    Text is split into words, with the space before them, by GPT-2's pattern.
    In each word the pair that stands first in `merges` is merged, again and
    again. Any string, even one that is not UTF-8, comes back byte for byte.
    The name of a special token in a text is text like any other.

    Args:
        vocabulary: Id by token, tokens in order of their ids, or the path of
            a `vocab.json`. Bytes are spelled as GPT-2 does: "Ġthe" is " the".
        merges: Pairs of tokens, first what is merged first, as ("a", "b") or
            "a b", or the path of a `merges.txt`.
        special_tokens: Token by part ("pad", "start", "end", "unknown",
            "mask"), where it has not its usual name.

    Call arguments:
        strings: Strings of any shape, dense or ragged.

    Returns:
        int32 ids, ragged: (batch,) strings give (batch, tokens). A byte that
        the vocabulary lacks gives the unknown id.

    Reference:
        Radford et al. 2019, "Language Models are Unsupervised Multitask
        Learners", section 2.2. https://openai.com/research/better-language-models
    """

    def __init__(self, vocabulary, merges, *, special_tokens=None):
        super().__init__(_tokens(vocabulary), special_tokens=special_tokens)
        # One string: TensorFlow would wrap and track every entry of a list.
        self._merge_lines = "\n".join(_lines(merges))
        assets = tables.AssetFolder(self)
        self._merge = Merges(self._numbered(), self.vocabulary_size, assets)
        self._byte_ids = np.array([*map(self._byte_id, BYTE_LETTERS)])
        tokens = self._vocabulary.tokens
        unknown = self._special.unknown or "\ufffd"
        self._letters = tables.lines_by_number(
            assets.write("vocabulary.txt", map(self._spell, tokens)),
            default=byte_letters.spell(unknown.encode()),
        )
        lines = [f"{word}\t{number}" for word, number in self._whole_words()]
        # A table without a line would be refused; no word has a tab within.
        path = assets.write("words.txt", lines or ["\t-1"])
        self._words = tables.columns(path, tf.string, tf.int64, default=-1)

    @property
    def merges(self) -> list[str]:
        """Pairs of tokens with a space between, first what is merged first."""
        return self._merge_lines.split("\n") if self._merge_lines else []

    def write_vocabulary(self, folder):
        """Write `vocab.json` and `merges.txt`, which others can read too."""
        text = json.dumps(self._vocabulary.ids, ensure_ascii=False)
        (folder / "vocab.json").write_text(text, encoding="utf-8")
        files.write_lines(folder / "merges.txt", [_VERSION, *self.merges])

    @classmethod
    def read_vocabulary(cls, folder) -> tuple:
        """Read what `write_vocabulary` wrote."""
        return folder / "vocab.json", folder / "merges.txt"

    def _tokenize(self, strings):
        words = split_words(strings)
        ids = self._words.lookup(words.values)
        missing = tf.where(ids < 0)
        rest, rest_row = tf.unique(tf.gather_nd(words.values, missing))
        pieces = self._merge_words(rest)
        # Rows of one id for all words, then the rows of the rest.
        num_words = tf.size(ids, tf.int64)
        rows = tf.RaggedTensor.from_row_splits(
            tf.concat([ids, pieces.values], 0),
            tf.concat([tf.range(num_words), pieces.row_splits + num_words], 0),
            validate=False,
        )
        row = tf.tensor_scatter_nd_update(
            tf.range(num_words),
            missing,
            tf.cast(rest_row, tf.int64) + num_words,
        )
        ids = tf.gather(rows, row)
        return tf.RaggedTensor.from_row_splits(
            tf.cast(ids.values, tf.int32),
            tf.gather(ids.row_splits, words.row_splits),
            validate=False,
        )

    def _detokenize(self, ids):
        letters = ids.with_values(self._letters.lookup(ids.values))
        return byte_letters.to_bytes(tf.strings.reduce_join(letters, axis=-1))

    def _merge_words(self, words):
        """(words,) strings to ragged (words, tokens) ids."""
        text = tf.strings.reduce_join(tf.strings.join([words, b"\0"]))
        symbols = tf.gather(
            tf.constant(self._byte_ids, tf.int64),
            tf.cast(tf.io.decode_raw(text, tf.uint8), tf.int32),
        )
        ends = tf.cumsum(tf.strings.length(words) + 1) - 1
        symbols = tf.tensor_scatter_nd_update(
            symbols,
            ends[:, tf.newaxis],
            tf.fill(tf.shape(ends), tf.cast(self._merge.end, tf.int64)),
        )
        symbols = self._merge(symbols)
        is_end = symbols == self._merge.end
        ends = tf.where(is_end)[:, 0]
        ends -= tf.range(tf.size(ends, tf.int64))
        return tf.RaggedTensor.from_row_splits(
            tf.gather_nd(symbols, tf.where(~is_end)),
            tf.concat([[0], ends], 0),
            validate=False,
        )

    def _numbered(self):
        """Merges as (left, right, merged) ids."""
        ids = self._vocabulary.ids
        for line in self.merges:
            left, right = line.split(" ")
            for token in (left, right, left + right):
                if token not in ids:
                    raise ValueError(
                        f"The merge {line!r} needs the token {token!r}, which "
                        "is not in the vocabulary. Do the two belong together?"
                    )
            yield ids[left], ids[right], ids[left + right]

    def _byte_id(self, letter):
        number = self._vocabulary.ids.get(letter, self.unknown_id)
        if number is None:
            raise ValueError(
                f"`vocabulary` lacks the byte spelled {letter!r} and has no "
                "unknown token: add one or the other."
            )
        return number

    def _spell(self, token):
        """A token in letters, which special ones need not be written in."""
        is_text = token not in vars(self._special).values()
        if is_text and byte_letters.read(token) is not None:
            return token
        return byte_letters.spell(token.encode())

    def _whole_words(self):
        """Yield words that merge to one token, and its id."""
        words = {}
        for number, token in enumerate(self._vocabulary.tokens):
            word = byte_letters.read(token)
            # Others, rare as words, would not survive in lines of text.
            if word and not set(word) & set(b"\t\n\r") and _is_utf8(word):
                words[word] = number
        if not words:
            return
        pieces = self._merge_words(tf.constant(list(words)))
        for (word, number), ids in zip(
            words.items(), pieces.to_list(), strict=True
        ):
            if ids == [number]:
                yield word.decode(), number


def _tokens(vocabulary):
    """Tokens in order of their ids."""
    if isinstance(vocabulary, (str, os.PathLike)):
        vocabulary = files.read_json(pathlib.Path(vocabulary))
    if not isinstance(vocabulary, Mapping):
        return list(vocabulary)
    tokens = sorted(vocabulary, key=vocabulary.get)
    ids = [vocabulary[token] for token in tokens]
    if ids != list(range(len(ids))):
        raise ValueError(
            "The ids of `vocabulary` must be 0, 1, 2, ... without a gap, each "
            f"for one token. Received {len(ids)} ids that end with {ids[-3:]}."
        )
    return tokens


def _lines(merges):
    """Merges as "left right"."""
    if isinstance(merges, (str, os.PathLike)):
        merges = files.read_lines(pathlib.Path(merges))
    lines = [
        merge if isinstance(merge, str) else " ".join(merge) for merge in merges
    ]
    if lines and lines[0].startswith("#version"):
        lines = lines[1:]
    for line in lines:
        if not re.fullmatch(r"[^ \n]+ [^ \n]+", line):
            raise ValueError(
                'A merge is two tokens with a space between, such as "t h". '
                f"Received: {line!r}"
            )
    return lines


def _is_utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
