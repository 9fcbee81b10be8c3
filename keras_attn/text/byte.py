"""Bytes of UTF-8 as tokens."""

import tensorflow as tf

from keras_attn.text import files
from keras_attn.text.segmentation.byte_runs import BYTE_TOKENS
from keras_attn.text.special_tokens import DEFAULT
from keras_attn.text.tokenizer import Tokenizer

_FIRST_BYTE = len(DEFAULT)
_REPLACEMENT = "\ufffd".encode()


@files.register
class ByteTokenizer(Tokenizer):
    """Each byte of the text is a token: nothing to learn, nothing unknown.

        id = number of special tokens + byte

    The vocabulary is the five special tokens and 256 bytes. Any text, and
    any other string, comes back byte for byte; sequences are long.

    Call arguments:
        strings: Strings of any shape, dense or ragged.

    Returns:
        int32 ids, ragged: (batch,) strings give (batch, bytes).

    Reference:
        Xue et al. 2022, "ByT5", section 3.1.
        https://arxiv.org/abs/2105.13626
    """

    def __init__(self):
        super().__init__([*DEFAULT, *BYTE_TOKENS])

    def get_config(self):
        return {}

    def write_vocabulary(self, folder):
        """Nothing is written: there is only one such vocabulary."""

    @classmethod
    def read_vocabulary(cls, folder) -> tuple:
        """Nothing is read: there is only one such vocabulary."""
        return ()

    def _tokenize(self, strings):
        lengths = tf.strings.length(strings, unit="BYTE")
        # One long string, because `decode_raw` wants equal lengths.
        text = tf.strings.reduce_join(strings)
        ids = tf.cast(tf.io.decode_raw(text, tf.uint8), tf.int32) + _FIRST_BYTE
        return tf.RaggedTensor.from_row_lengths(ids, tf.cast(lengths, tf.int64))

    def _detokenize(self, ids):
        # Special tokens read as they are spelled, bytes as themselves.
        spelled = [token.encode() for token in DEFAULT]
        pieces = [*spelled, *(bytes([byte]) for byte in range(256))]
        pieces = tf.constant([*pieces, _REPLACEMENT])
        ids = self._known_or(ids, self.vocabulary_size)
        return tf.strings.reduce_join(tf.gather(pieces, ids), axis=-1)
