"""Characters as tokens."""

import unicodedata

import tensorflow as tf

from keras_attn.text import files
from keras_attn.text import tables
from keras_attn.text.tokenizer import Tokenizer


@files.register
class CharacterTokenizer(Tokenizer):
    """Each Unicode code point is a token.

        id = index of the character in the vocabulary

    A small vocabulary for small models; sequences are long. Characters that
    it lacks, and bytes that are not UTF-8, get the unknown id. Text whose
    characters are all known comes back byte for byte.

    Args:
        vocabulary: Special tokens and single characters, in order of ids.
            `learn_vocabulary(texts, size, kind="character")` makes one.
        unknown_token: The token for all other characters.
        special_tokens: Token by part ("pad", "start", "end", "mask"), where
            it has not its usual name.

    Call arguments:
        strings: UTF-8 strings of any shape, dense or ragged.

    Returns:
        int32 ids, ragged: (batch,) strings give (batch, characters).

    Reference:
        Al-Rfou et al. 2019, "Character-Level Language Modeling with Deeper
        Self-Attention". https://arxiv.org/abs/1808.04444
    """

    def __init__(
        self, vocabulary, *, unknown_token="[UNK]", special_tokens=None
    ):
        self.unknown_token = unknown_token
        super().__init__(
            vocabulary,
            special_tokens=special_tokens,
            unknown_token=unknown_token,
        )
        special = set(vars(self._special).values())
        for token in self._vocabulary.tokens:
            if len(token) != 1 and token not in special:
                raise ValueError(
                    "`vocabulary` must hold single characters, and special "
                    f"tokens named in `special_tokens`. Received: {token!r}"
                )
        lines = [
            f"{ord(token)}\t{number}"
            for number, token in enumerate(self._vocabulary.tokens)
            if len(token) == 1
        ]
        if not lines:
            raise ValueError("`vocabulary` holds no single character.")
        path = tables.AssetFolder(self).write("characters.txt", lines)
        self._ids = tables.columns(
            path, tf.int64, tf.int64, default=self.unknown_id
        )
        self._characters = tables.columns(
            path, tf.int64, tf.int64, default=-1, backwards=True
        )

    def get_config(self):
        return {**super().get_config(), "unknown_token": self.unknown_token}

    def write_vocabulary(self, folder):
        """Write one character on each line, line breaks and such as \\n."""
        escaped = [_escape(token) for token in self._vocabulary.tokens]
        files.write_lines(folder / "vocabulary.txt", escaped)

    @classmethod
    def read_vocabulary(cls, folder) -> tuple:
        """Read what `write_vocabulary` wrote."""
        lines = files.read_lines(folder / "vocabulary.txt")
        return ([_unescape(line) for line in lines],)

    def _tokenize(self, strings):
        # What is not UTF-8 reads as U+FFFD.
        characters = tf.strings.unicode_decode(strings, "UTF-8")
        ids = self._ids.lookup(tf.cast(characters.values, tf.int64))
        return characters.with_values(tf.cast(ids, tf.int32))

    def _detokenize(self, ids):
        ids = self._known_or(ids, self.unknown_id)
        characters = self._characters.lookup(ids.values)
        pieces = tf.strings.unicode_encode(
            tf.cast(characters, tf.int32)[:, tf.newaxis], "UTF-8"
        )
        for number, token in enumerate(self._vocabulary.tokens):
            if len(token) != 1:
                pieces = tf.where(ids.values == number, token, pieces)
        return tf.strings.reduce_join(ids.with_values(pieces), axis=-1)


def _escape(token):
    if len(token) != 1:
        return token
    if token == "\\" or unicodedata.category(token) in ("Cc", "Zl", "Zp"):
        return token.encode("unicode_escape").decode()
    return token


def _unescape(line):
    if line.startswith("\\"):
        return line.encode().decode("unicode_escape")
    return line
