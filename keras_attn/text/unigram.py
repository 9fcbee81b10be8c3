"""Pieces of highest probability, as SentencePiece."""

import json
import re

import numpy as np
import tensorflow as tf

from keras_attn.text import files
from keras_attn.text import tables
from keras_attn.text.segmentation import byte_letters
from keras_attn.text.segmentation import byte_runs
from keras_attn.text.segmentation.byte_runs import BYTE_TOKENS
from keras_attn.text.sentence_piece import leading_codes
from keras_attn.text.sentence_piece import unknown_runs
from keras_attn.text.sentence_piece.character_map import CharacterMap
from keras_attn.text.sentence_piece.marked_words import MARK
from keras_attn.text.sentence_piece.marked_words import split_words
from keras_attn.text.sentence_piece.unigram_pieces import UnigramPieces
from keras_attn.text.tokenizer import Tokenizer

_SPACES = ("strip", "collapse", "keep")
_PREFIXES = ("always", "first", "never")
_ARITHMETIC = ("sentencepiece", "tokenizers")


@files.register
class UnigramTokenizer(Tokenizer):
    """Text cut into the pieces whose total log-probability is the highest.

        pieces = argmax sum_i score(piece_i),    piece_1 ... piece_n = text

    The tokenizer of T5, XLM-R, ALBERT and Marian, id for id, in core ops. A
    space is part of the word behind it, written as ▁ (U+2581). A character
    that no piece has is unknown; neighbours are one unknown token together.
    Words of more than 4096 characters are cut there.

    Args:
        vocabulary: Tokens in order of their ids.
        scores: Log-probability by piece. Pieces outside the vocabulary give
            the unknown id; other tokens are never cut from text.
        replacements: Mappings from characters, or runs of them, to what they
            are replaced by first; one after the other.
        spaces: "strip" those at both ends and take several for one,
            "collapse" without stripping, or "keep" them all.
        prefix: Whether a text starts as if a space were before it: "always",
            "first" (not after an added token) or "never".
        byte_fallback: Whether unknown characters are bytes, <0x00> to <0xFF>.
        marian: Whether a text may open with a token such as >>fra<<, and
            neighbours without pieces are looked up among the tokens, too.
        arithmetic: How sums that are almost equal are told apart: as
            "sentencepiece" (float32, over a text) or "tokenizers" (float64,
            over a word). The latter takes a space for the prefix, too.
        unknown_token: The token for what has no pieces.
        special_tokens: Token by part ("pad", "start", "end", "mask").

    Call arguments:
        strings: UTF-8 strings of any shape, dense or ragged.

    Returns:
        int32 ids, ragged: (batch,) strings give (batch, tokens).

    Reference:
        Kudo 2018, section 3.2. https://arxiv.org/abs/1804.10959
    """

    def __init__(
        self,
        vocabulary,
        scores,
        replacements=(),
        *,
        spaces="strip",
        prefix="always",
        byte_fallback=False,
        marian=False,
        arithmetic="sentencepiece",
        unknown_token="<unk>",
        special_tokens=None,
    ):
        _check("spaces", spaces, _SPACES)
        _check("prefix", prefix, _PREFIXES)
        _check("arithmetic", arithmetic, _ARITHMETIC)
        self.spaces = spaces
        self.prefix = prefix
        self.byte_fallback = byte_fallback
        self.marian = marian
        self.arithmetic = arithmetic
        self.unknown_token = unknown_token
        super().__init__(
            vocabulary,
            special_tokens=special_tokens,
            unknown_token=unknown_token,
        )
        # One string each: TensorFlow would track every entry of a mapping.
        self._scores_json = _scores_json(scores)
        self._replacements_json = _json([*map(dict, replacements)])
        scores = self.scores
        folder = tables.AssetFolder(self)
        self._maps = [
            CharacterMap(mapping, folder=folder, name=f"characters_{place}.txt")
            for place, mapping in enumerate(self.replacements)
        ]
        ids = self._vocabulary.ids
        self._ids = np.array(
            [ids.get(piece, self.unknown_id) for piece in scores], "int32"
        )
        self._cut = UnigramPieces(
            scores, whole_text=arithmetic == "sentencepiece", folder=folder
        )
        self._byte_ids = self._ids_of_bytes()
        if marian:
            self._code_ids = leading_codes.table(ids)
            others = {t.encode(): i for t, i in ids.items() if t not in scores}
            self._others = tables.constants(others or {b"": -1})
        unknown = byte_letters.spell(unknown_token.encode())
        self._letters = tables.lines_by_number(
            folder.write("vocabulary.txt", self._spelled()), default=unknown
        )

    @property
    def scores(self) -> dict[str, float]:
        """Log-probability by piece."""
        return json.loads(self._scores_json)

    @property
    def replacements(self) -> list[dict[str, str]]:
        """What characters are replaced by, one mapping after the other."""
        return json.loads(self._replacements_json)

    def get_config(self):
        return {
            **super().get_config(),
            "spaces": self.spaces,
            "prefix": self.prefix,
            "byte_fallback": self.byte_fallback,
            "marian": self.marian,
            "arithmetic": self.arithmetic,
            "unknown_token": self.unknown_token,
        }

    def write_vocabulary(self, folder):
        """Write JSON: a piece may hold a line break."""
        for name, text in (
            ("vocabulary.json", _json(self._vocabulary.tokens)),
            ("scores.json", self._scores_json),
            ("replacements.json", self._replacements_json),
        ):
            (folder / name).write_bytes(text.encode())

    @classmethod
    def read_vocabulary(cls, folder) -> tuple:
        """Read what `write_vocabulary` wrote."""
        names = ("vocabulary", "scores", "replacements")
        return tuple(files.read_json(folder / f"{n}.json") for n in names)

    def _read(self, strings):
        if not self.marian:
            return super()._read(strings)
        unknown = tf.constant(self.unknown_id)
        rest, codes = leading_codes.split(strings, self._code_ids)
        codes = codes.with_values(
            tf.where(codes.values < 0, unknown, codes.values)
        )
        return tf.concat([codes, super()._read(rest)], axis=1)

    def _prepare(self, strings):
        for mapping in self._maps:
            strings = mapping(strings)
        return strings

    def _tokenize_parts(self, strings, is_first):
        words = split_words(
            strings,
            spaces=self.spaces,
            prefix=is_first
            if self.prefix == "first"
            else self.prefix != "never",
            sentencepiece=self.arithmetic == "sentencepiece",
        )
        pieces, starts = self._cut(words)
        if self.byte_fallback:
            pieces = unknown_runs.to_bytes(pieces)
        else:
            pieces, runs = unknown_runs.fuse(pieces, starts)
        numbers = pieces.values
        ids = tf.gather(tf.constant(self._ids), tf.maximum(numbers, 0))
        unknown = tf.constant(self.unknown_id)
        if self.byte_fallback:
            unknown = tf.gather(
                tf.constant(self._byte_ids), tf.maximum(-1 - numbers, 0)
            )
        ids = tf.where(numbers < 0, unknown, ids)
        if self.marian and not self.byte_fallback:
            found = self._others.lookup(
                tf.strings.unicode_encode(runs, "UTF-8")
            )
            found = tf.where(found < 0, unknown, tf.cast(found, tf.int32))
            ids = tf.tensor_scatter_nd_update(ids, tf.where(numbers < 0), found)
        return pieces.with_values(ids)

    def _detokenize(self, ids):
        letters = ids.with_values(self._letters.lookup(ids.values))
        if self.byte_fallback:
            is_byte = ids.values[:, tf.newaxis] == tf.constant(
                self._byte_ids, tf.int64
            )
            letters = byte_runs.join(letters, tf.reduce_any(is_byte, 1))
        texts = tf.strings.reduce_join(letters, axis=-1)
        texts = byte_letters.to_bytes(texts)
        if self.marian:
            return tf.strings.strip(texts)
        if self.spaces == "strip" and self.arithmetic == "sentencepiece":
            return tf.strings.regex_replace(texts, "^ +", "")
        if self.prefix != "never":
            return tf.strings.regex_replace(texts, "^ ", "")
        return texts

    def _ids_of_bytes(self):
        """Id of each byte, if unknown characters are written in them."""
        if not self.byte_fallback:
            return None
        ids = [self._vocabulary.ids.get(token) for token in BYTE_TOKENS]
        if None in ids:
            raise ValueError(
                "`byte_fallback` needs all 256 bytes in the vocabulary. It "
                f"lacks {BYTE_TOKENS[ids.index(None)]!r}."
            )
        return np.array(ids, "int32")

    def _spelled(self):
        """What each token is as text, in letters that stand for bytes."""
        special = set(vars(self._special).values())
        for token in self._vocabulary.tokens:
            byte = re.fullmatch(r"<0x([0-9A-F]{2})>", token)
            if byte and self.byte_fallback:
                yield byte_letters.spell(bytes.fromhex(byte[1]))
            elif token in special:
                yield byte_letters.spell(token.encode())
            else:
                yield byte_letters.spell(token.replace(MARK, " ").encode())


def _check(name, value, known):
    if value not in known:
        raise ValueError(
            f"`{name}` must be one of {', '.join(known)}. Received: {value!r}"
        )


def _scores_json(scores):
    """Check scores, and write them as one string."""
    scores = {piece: float(score) for piece, score in dict(scores).items()}
    if not scores or not np.isfinite([*scores.values()]).all() or "" in scores:
        raise ValueError(
            "`scores` must hold a finite number for each piece, which is not "
            f"empty. Received {len(scores)} of them."
        )
    return _json(scores)


def _json(value):
    return json.dumps(value, ensure_ascii=False)
