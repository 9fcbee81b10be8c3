"""Byte-pair encoding of characters, as SentencePiece has it."""

import json
from collections.abc import Iterable
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from keras_attn.text import files
from keras_attn.text import tables
from keras_attn.text.segmentation import byte_letters
from keras_attn.text.segmentation import byte_runs
from keras_attn.text.segmentation.byte_runs import BYTE_TOKENS
from keras_attn.text.segmentation.merges import Merges
from keras_attn.text.segmentation.pattern_split import split_words
from keras_attn.text.segmentation.word_ids import word_ids
from keras_attn.text.sentence_piece.marked_words import MARK
from keras_attn.text.tokenizer import Tokenizer

_PREFIXES = ("text", "always", "first", "never")


@files.register
class CharacterPairTokenizer(Tokenizer):
    """Text as characters, of which neighbours are merged in a learned order.

        ids(text) = merge(characters of text, with ▁ for a space)

    The tokenizer of Llama 2, Mistral and Gemma. A character that the vocabulary
    lacks is written in bytes, <0xE2> and so on, or is unknown.

    Args:
        vocabulary: Id by token, or tokens in order of their ids.
        merges: Pairs of tokens, first what is merged first.
        prefix: What gets a ▁ before it: every "text", even one that begins with
            a space; "always" those that do not; "first", of these those that
            follow no added token; "never".
        split: Whether each ▁ opens a word, and words are merged apart.
        byte_fallback: Whether unknown characters are written in bytes.
        fuse_unknown: Whether unknown characters side by side are one token.
        strip_prefix: Whether detokenized text loses the space it begins with.
        special_tokens: Token by part ("pad", "start", "end", "unknown",
            "mask"), where it has not its usual name.

    Call arguments:
        strings: UTF-8 strings of any shape, dense or ragged.

    Returns:
        int32 ids, ragged: (batch,) strings give (batch, tokens).

    Reference:
        Kudo and Richardson 2018, "SentencePiece".
        https://arxiv.org/abs/1808.06226
    """

    def __init__(
        self,
        vocabulary,
        merges,
        *,
        prefix="text",
        split=False,
        byte_fallback=True,
        fuse_unknown=True,
        strip_prefix=True,
        special_tokens=None,
    ):
        if prefix not in _PREFIXES:
            raise ValueError(
                f"`prefix` must be one of {', '.join(_PREFIXES)}. Received: "
                f"{prefix!r}"
            )
        self.prefix = prefix
        self.split = split
        self.byte_fallback = byte_fallback
        self.fuse_unknown = fuse_unknown
        self.strip_prefix = strip_prefix
        if isinstance(vocabulary, Mapping):
            vocabulary = sorted(vocabulary, key=vocabulary.get)
        super().__init__(vocabulary, special_tokens=special_tokens)
        ids = self._vocabulary.ids
        if byte_fallback and not ids.keys() >= {*BYTE_TOKENS}:
            raise ValueError(
                "`byte_fallback` needs the tokens <0x00> to <0xFF>, of which "
                f"`vocabulary` lacks {min({*BYTE_TOKENS} - ids.keys())}."
            )
        merges = [_pair(merge) for merge in merges]
        # A plain object: TensorFlow would wrap and track a list's entries.
        self._pairs = lambda: merges
        assets = tables.AssetFolder(self)
        self._merge = Merges(self._numbered(), self.vocabulary_size, assets)
        self._byte_ids = np.array([ids.get(token, -1) for token in BYTE_TOKENS])
        self._rule = self._word_rule()
        characters = [f"{ord(t)}\t{i}" for t, i in ids.items() if len(t) == 1]
        self._characters = tables.columns(
            assets.write("characters.txt", characters or ["-1\t-1"]),
            tf.int64,
            tf.int64,
            default=-1,
        )
        unknown = self._special.unknown or "\ufffd"
        self._letters = tables.lines_by_number(
            assets.write("vocabulary.txt", map(self._spell, ids)),
            default=byte_letters.spell(unknown.encode()),
        )
        self._words = tables.words(assets, self._whole_words())

    @property
    def merges(self) -> list[tuple[str, str]]:
        """Pairs of tokens, first what is merged first."""
        return list(self._pairs())

    def get_config(self):
        return {
            **super().get_config(),
            "prefix": self.prefix,
            "split": self.split,
            "byte_fallback": self.byte_fallback,
            "fuse_unknown": self.fuse_unknown,
            "strip_prefix": self.strip_prefix,
        }

    def write_vocabulary(self, folder):
        """Write `vocab.json` and `merges.json`: tokens may hold line breaks."""
        for name, content in (
            ("vocab.json", self._vocabulary.tokens),
            ("merges.json", self.merges),
        ):
            text = json.dumps(content, ensure_ascii=False)
            (folder / name).write_text(text, encoding="utf-8")

    @classmethod
    def read_vocabulary(cls, folder) -> tuple:
        """Read what `write_vocabulary` wrote."""
        names = ("vocab.json", "merges.json")
        return tuple(files.read_json(folder / name) for name in names)

    def _prepare(self, strings):
        strings = tf.strings.regex_replace(strings, " ", MARK)
        if self.prefix == "text":
            return _with_prefix(strings, strings != "")
        return strings

    def _tokenize_parts(self, strings, is_first):
        if self.prefix in ("always", "first"):
            opens = tf.strings.regex_full_match(strings, f"(?s)[^{MARK}].*")
            if self.prefix == "first":
                opens &= is_first
            strings = _with_prefix(strings, opens)
        if self._rule is not None:
            words = split_words(strings, self._rule)
        else:
            words = tf.RaggedTensor.from_uniform_row_length(strings, 1)
        return word_ids(words, self._words.lookup, self._merge_words)

    def _detokenize(self, ids):
        letters = ids.with_values(self._letters.lookup(ids.values))
        if self.byte_fallback:
            is_byte = tf.reduce_any(
                ids.values[:, tf.newaxis] == tf.constant(self._byte_ids), 1
            )
            letters = byte_runs.join(letters, is_byte)
        texts = tf.strings.reduce_join(letters, axis=-1)
        texts = byte_letters.to_bytes(texts)
        if self.strip_prefix:
            texts = tf.strings.regex_replace(texts, "^ ", "")
        return texts

    def _merge_words(self, words):
        """(words,) strings to ragged (words, tokens) ids."""
        codes = tf.strings.unicode_decode(words, "UTF-8")
        ids = codes.with_values(
            self._characters.lookup(tf.cast(codes.values, tf.int64))
        )
        ids = tf.cond(
            tf.reduce_any(ids.values < 0),
            lambda: self._write_unknown(codes, ids),
            lambda: ids,
        )
        return self._merge.rows(ids)

    def _write_unknown(self, codes, ids):
        """Ids with bytes, one unknown id or nothing for -1."""
        if self.byte_fallback:
            signs = tf.strings.unicode_encode(
                codes.values[:, tf.newaxis], "UTF-8"
            )
            lengths = tf.where(ids.values < 0, tf.strings.length(signs), 1)
            signs = tf.where(ids.values < 0, signs, "_")
            data = tf.io.decode_raw(tf.strings.reduce_join(signs), tf.uint8)
            written = tf.gather(
                tf.constant(self._byte_ids), tf.cast(data, tf.int32)
            )
            known = tf.repeat(ids.values, lengths)
            values = tf.where(known < 0, written, known)
            ends = tf.concat([[0], tf.cumsum(tf.cast(lengths, tf.int64))], 0)
            splits = tf.gather(ends, ids.row_splits)
            return tf.RaggedTensor.from_row_splits(
                values, splits, validate=False
            )
        kept = ids.values >= 0
        unknown = self.unknown_id
        if unknown is not None:
            kept = tf.ones_like(kept)
            if self.fuse_unknown:
                starts = tf.scatter_nd(
                    ids.row_splits[:, tf.newaxis],
                    tf.ones_like(ids.row_splits, tf.int32),
                    [tf.size(kept) + 1],
                )[:-1]
                after = (tf.roll(ids.values, 1, 0) < 0) & (starts == 0)
                kept = (ids.values >= 0) | ~after
            values = tf.where(ids.values < 0, _int64(unknown), ids.values)
            ids = ids.with_values(values)
        return tf.ragged.boolean_mask(ids, ids.with_values(kept))

    def _numbered(self):
        """Merges as (left, right, merged) ids."""
        ids = self._vocabulary.ids
        for left, right in self._pairs():
            for token in (left, right, left + right):
                if token not in ids:
                    raise ValueError(
                        f"The merge of {left!r} and {right!r} needs the token "
                        f"{token!r}, which is not in the vocabulary. Do the "
                        "two belong together?"
                    )
            yield ids[left], ids[right], ids[left + right]

    def _word_rule(self):
        """How text may be cut into words that are merged apart; None: not."""
        if self.split:
            return "one_mark"
        special = {*BYTE_TOKENS, self._special.unknown}
        joins_words = any(
            (right[0] == MARK and left[-1] != MARK) or {left, right} & special
            for left, right in self._pairs()
        )
        # Otherwise nothing is ever merged across the beginning of a word.
        can_cut = MARK in self._vocabulary.ids and not joins_words
        return "all_marks" if can_cut else None

    def _spell(self, token):
        """A token as detokenized text, its bytes as letters."""
        if token in BYTE_TOKENS and self.byte_fallback:
            return byte_letters.BYTE_LETTERS[BYTE_TOKENS.index(token)]
        return byte_letters.spell(token.replace(MARK, " ").encode())

    def _whole_words(self):
        """Yield lines for words that merge to one token, and its id."""
        words = {
            token: number
            for token, number in self._vocabulary.ids.items()
            # Others, rare as words, would not survive in lines of text.
            if not {*token} & {*"\t\n\r"}
        }
        pieces = self._merge_words(tf.constant([*words], tf.string))
        for (word, number), ids in zip(
            words.items(), pieces.to_list(), strict=True
        ):
            if ids == [number]:
                yield f"{word}\t{number}"


def _pair(merge: str | Iterable[str]) -> tuple[str, str]:
    pair = tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge)
    if len(pair) != 2 or not all(pair):
        raise ValueError(
            f'A merge is two tokens, such as ("t", "h"). Received: {merge!r}'
        )
    return pair


def _with_prefix(strings, chosen):
    return tf.where(chosen, tf.strings.join([MARK, strings]), strings)


def _int64(number):
    return tf.constant(number, tf.int64)
