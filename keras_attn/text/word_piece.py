"""Pieces of words as tokens."""

import tensorflow as tf

from keras_attn.text import files
from keras_attn.text import tables
from keras_attn.text.segmentation.longest_match import LongestMatch
from keras_attn.text.segmentation.normalize import Normalizer
from keras_attn.text.segmentation.split import WHITE_SPACE
from keras_attn.text.segmentation.split import code_points
from keras_attn.text.segmentation.split import split_words
from keras_attn.text.tokenizer import Tokenizer

# As BERT and tensorflow-text have it: what is longer is hardly a word.
_MAX_BYTES = 100
_CONTINUES = "##"


@files.register
class WordPieceTokenizer(Tokenizer):
    """Words, or the longest pieces that words can be put together from.

        word = piece_1 ##piece_2 ... ##piece_n,    each the longest that fits

    The tokenizer of BERT: id for id what `FastWordpieceTokenizer` of
    tensorflow-text gives, in core ops. A word that cannot be put together, or
    has more than 100 bytes (Hugging Face: characters), is one unknown token.
    White space that is in the vocabulary, alone and with ##, is a letter.

    Args:
        vocabulary: Special tokens, words and pieces in order of their ids;
            pieces that continue a word start with ##.
        lowercase: Whether letters become small first.
        strip_accents: Whether accents are taken off first. With `lowercase`
            this is what uncased BERT does.
        clean_text: Whether control characters are taken out first, as in
            BERT's own code; `FastWordpieceTokenizer` does not.
        unknown_token: The token for words that have no pieces.
        special_tokens: Token by part ("pad", "start", "end", "mask"), where
            it has not its usual name.

    Call arguments:
        strings: UTF-8 strings of any shape, dense or ragged.

    Returns:
        int32 ids, ragged: (batch,) strings give (batch, tokens).

    Reference:
        Wu et al. 2016, section 4.1. https://arxiv.org/abs/1609.08144
    """

    def __init__(
        self,
        vocabulary,
        *,
        lowercase=False,
        strip_accents=False,
        clean_text=False,
        unknown_token="[UNK]",
        special_tokens=None,
    ):
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.clean_text = clean_text
        self.unknown_token = unknown_token
        super().__init__(
            vocabulary,
            special_tokens=special_tokens,
            unknown_token=unknown_token,
        )
        folder = tables.AssetFolder(self)
        self._normalize = Normalizer(
            lowercase=lowercase,
            strip_accents=strip_accents,
            clean_text=clean_text,
            folder=folder,
        )
        tokens = self._vocabulary.tokens
        self._tokens = tables.lines_by_number(
            folder.write("vocabulary.txt", tokens), default=unknown_token
        )
        opening, following = _pieces(tokens)
        self._letters = _letters(opening, following)
        lines = (f"{piece.decode()}\t{id}" for piece, id in opening.items())
        self._words = tables.words(folder, lines)
        self._match = LongestMatch(
            opening,
            following,
            unknown_id=self.unknown_id,
            max_bytes=_MAX_BYTES,
            folder=folder,
        )

    def words(self, strings):
        """Words in the form in which they are looked up.

        Args:
            strings: (batch,) UTF-8 strings.

        Returns:
            Ragged (batch, words) strings.
        """
        return split_words(self._normalize(strings), letters=self._letters)

    def get_config(self):
        return {
            **super().get_config(),
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "clean_text": self.clean_text,
            "unknown_token": self.unknown_token,
        }

    def _prepare(self, strings):
        return self._normalize(strings)

    def _tokenize(self, strings):
        words = split_words(strings, letters=self._letters)
        ids = self._words.lookup(words.values)
        # Most words are in the vocabulary. Of the rest each is cut once.
        missing = tf.where(ids < 0)
        rest = tf.gather_nd(words.values, missing)
        distinct, which = tf.unique(rest)
        pool, starts, counts = self._match(distinct)
        # Every word becomes a range of numbers: below the size of the
        # vocabulary they are ids, from there on they are places in the pool.
        size = self.vocabulary_size
        starts = tf.tensor_scatter_nd_update(
            ids, missing, tf.gather(starts + size, which)
        )
        counts = tf.tensor_scatter_nd_update(
            tf.ones_like(ids), missing, tf.gather(counts, which)
        )
        ranges = tf.ragged.range(starts, starts + counts)
        numbers = ranges.values
        pieces = tf.gather(pool, tf.maximum(numbers - size, 0))
        return tf.RaggedTensor.from_row_splits(
            tf.cast(tf.where(numbers < size, numbers, pieces), tf.int32),
            tf.gather(ranges.row_splits, words.row_splits),
            validate=False,
        )

    def _detokenize(self, ids):
        tokens = ids.with_values(
            self._tokens.lookup(self._known_or(ids, self.unknown_id).values)
        )
        texts = tf.strings.reduce_join(tokens, axis=-1, separator=" ")
        # A piece that opens a text keeps its mark, as in tensorflow-text.
        return tf.strings.regex_replace(texts, f" {_CONTINUES}([^ ])", r"\1")


def _pieces(tokens):
    """Ids by piece, of those that open a word and those that follow."""
    opening, following = {}, {}
    for number, token in enumerate(tokens):
        pieces = opening
        if token.startswith(_CONTINUES):
            token, pieces = token.removeprefix(_CONTINUES), following
        piece = token.encode()
        # No word is longer, or has a space or a tab in it.
        if 0 < len(piece) <= _MAX_BYTES and len(piece.split()) == 1:
            pieces[piece] = number
    return opening, following


def _letters(opening, following):
    """White space in the vocabulary, which was learned as part of words."""
    return "".join(
        chr(code)
        for code in code_points(WHITE_SPACE)
        if opening.keys() & following.keys() & {chr(code).encode()}
    )
