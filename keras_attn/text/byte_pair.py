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
from keras_attn.text.segmentation.compose import Compose
from keras_attn.text.segmentation.merges import Merges
from keras_attn.text.segmentation.pattern_split import PATTERNS
from keras_attn.text.segmentation.pattern_split import split_words
from keras_attn.text.segmentation.word_ids import word_ids
from keras_attn.text.tokenizer import Tokenizer

# The first line of a `merges.txt`.
_VERSION = "#version: 0.2"


@files.register
class BytePairTokenizer(Tokenizer):
    """Words as bytes, of which neighbours are merged in a learned order.

        ids(word) = merge(bytes of word)

    Text is split into words, with the space before them, by a pattern. In each
    word the pair that stands first in `merges` is merged, again and again. Any
    string, even one that is not UTF-8, comes back byte for byte, but for what
    `prefix_space` and `nfc` change. The name of a special token in a text is
    text like any other, unless it is one of `added_tokens`.

    Args:
        vocabulary: Id by token, tokens in order of their ids, or the path of
            a `vocab.json`. Bytes are spelled as GPT-2 does: "Ġthe" is " the".
        merges: Pairs of tokens, first what is merged first, as ("a", "b") or
            "a b", or the path of a `merges.txt`.
        split: Whose pattern: "gpt2", "llama3" or "qwen2".
        prefix_space: Whether a text that has no space before it gets one.
        ignore_merges: Whether a word that is a token is never cut, even where
            its merges would end otherwise, as in Llama 3.
        nfc: Whether text is composed first (Unicode's form C), as in Qwen.
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

    def __init__(
        self,
        vocabulary,
        merges,
        *,
        split="gpt2",
        prefix_space=False,
        ignore_merges=False,
        nfc=False,
        special_tokens=None,
    ):
        if split not in PATTERNS:
            raise ValueError(
                f"`split` must be one of {', '.join(PATTERNS)}. Received: "
                f"{split!r}"
            )
        self.split = split
        self.prefix_space = prefix_space
        self.ignore_merges = ignore_merges
        self.nfc = nfc
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
        lines, odd = self._whole_words()
        self._words = tables.words(assets, lines)
        self._odd_words = tables.constants(odd) if odd else None
        if nfc:
            self._compose = Compose(assets)

    @property
    def merges(self) -> list[str]:
        """Pairs of tokens with a space between, first what is merged first."""
        return self._merge_lines.split("\n") if self._merge_lines else []

    def get_config(self):
        return {
            **super().get_config(),
            "split": self.split,
            "prefix_space": self.prefix_space,
            "ignore_merges": self.ignore_merges,
            "nfc": self.nfc,
        }

    def write_vocabulary(self, folder):
        """Write `vocab.json` and `merges.txt`, which others can read too."""
        text = json.dumps(self._vocabulary.ids, ensure_ascii=False)
        (folder / "vocab.json").write_text(text, encoding="utf-8")
        files.write_lines(folder / "merges.txt", [_VERSION, *self.merges])

    @classmethod
    def read_vocabulary(cls, folder) -> tuple:
        """Read what `write_vocabulary` wrote."""
        return folder / "vocab.json", folder / "merges.txt"

    def _prepare(self, strings):
        return self._compose(strings) if self.nfc else strings

    def _tokenize(self, strings):
        if self.prefix_space:
            strings = tf.strings.regex_replace(strings, "^([^ ])", r" \1")
        words = split_words(strings, self.split)
        return word_ids(words, self._find, self._merge_words)

    def _detokenize(self, ids):
        letters = ids.with_values(self._letters.lookup(ids.values))
        return byte_letters.to_bytes(tf.strings.reduce_join(letters, axis=-1))

    def _merge_words(self, words):
        """(words,) strings to ragged (words, tokens) ids."""
        symbols = tf.gather(
            tf.constant(self._byte_ids, tf.int64),
            tf.cast(
                tf.io.decode_raw(tf.strings.reduce_join(words), tf.uint8),
                tf.int32,
            ),
        )
        lengths = tf.cast(tf.strings.length(words), tf.int64)
        return self._merge.rows(
            tf.RaggedTensor.from_row_lengths(symbols, lengths, validate=False)
        )

    def _find(self, words):
        """Ids of whole words, -1 for others."""
        ids = self._words.lookup(words)
        if self._odd_words is not None:
            ids = tf.maximum(ids, self._odd_words.lookup(words))
        return ids

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
        """Words that are one token: lines of a table, and id by odd word."""
        words = {}
        for number, token in enumerate(self._vocabulary.tokens):
            word = byte_letters.read(token)
            if word and _is_utf8(word):
                words[word] = number
        if not words:
            return [], {}
        pieces = self._merge_words(tf.constant(list(words))).to_list()
        merged = [
            ids == [number]
            for ids, number in zip(pieces, words.values(), strict=True)
        ]
        # Others, rare as words, would not survive in lines of text.
        plain = [not set(word) & set(b"\t\n\r") for word in words]
        rows = list(zip(words.items(), merged, plain, strict=True))
        lines = [
            f"{word.decode()}\t{number}"
            for (word, number), is_merged, is_plain in rows
            if is_plain and (is_merged or self.ignore_merges)
        ]
        odd = {
            word: number
            for (word, number), is_merged, is_plain in rows
            if self.ignore_merges and not is_merged and not is_plain
        }
        return lines, odd


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
