"""Words as tokens."""

import tensorflow as tf

from keras_attn.text import files
from keras_attn.text import tables
from keras_attn.text.segmentation.join_punctuation import join_punctuation
from keras_attn.text.segmentation.normalize import Normalizer
from keras_attn.text.segmentation.split import split_words
from keras_attn.text.tokenizer import Tokenizer


@files.register
class WordTokenizer(Tokenizer):
    """Each word is a token.

        id = index of the word in the vocabulary

    The shortest sequences, and the largest vocabulary: all words that it
    lacks are one token.

    Args:
        vocabulary: Special tokens and words in order of their ids.
            `learn_vocabulary(texts, size, kind="word")` makes one.
        lowercase: Whether letters become small first.
        strip_accents: Whether accents are taken off first.
        split: "punctuation", where every punctuation mark and Chinese
            character is a word of its own, as in BERT; or "whitespace", where
            words end at white space alone.
        tidy: Whether `detokenize` writes "hello, world!" and not "hello ,
            world !". Spaces inside of quotes and beside most marks go; ids
            of the text that it writes are the same ids.
        unknown_token: The token for all other words.
        special_tokens: Token by part ("pad", "start", "end", "mask"), where
            it has not its usual name.

    Call arguments:
        strings: UTF-8 strings of any shape, dense or ragged.

    Returns:
        int32 ids, ragged: (batch,) strings give (batch, words).

    Reference:
        Sutskever et al. 2014, section 3.1. https://arxiv.org/abs/1409.3215
    """

    def __init__(
        self,
        vocabulary,
        *,
        lowercase=False,
        strip_accents=False,
        split="punctuation",
        tidy=False,
        unknown_token="[UNK]",
        special_tokens=None,
    ):
        if split not in ("punctuation", "whitespace"):
            raise ValueError(
                '`split` must be "punctuation" or "whitespace". Received: '
                f"{split!r}"
            )
        if tidy and split == "whitespace":
            raise ValueError(
                'With split="whitespace" marks stay with their words, so '
                "there is nothing to join: leave `tidy` out."
            )
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.split = split
        self.tidy = tidy
        self.unknown_token = unknown_token
        super().__init__(
            vocabulary,
            special_tokens=special_tokens,
            unknown_token=unknown_token,
        )
        folder = tables.AssetFolder(self)
        self._normalize = Normalizer(
            lowercase=lowercase, strip_accents=strip_accents, folder=folder
        )
        path = folder.write("vocabulary.txt", self._vocabulary.tokens)
        self._ids = tables.line_numbers(path, default=self.unknown_id)
        self._words = tables.lines_by_number(path, default=unknown_token)

    def get_config(self):
        return {
            **super().get_config(),
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "split": self.split,
            "tidy": self.tidy,
            "unknown_token": self.unknown_token,
        }

    def split_words(self, texts):
        """Split texts as the tokenizer does, and look nothing up.

        A reference that was split so, and joined with spaces, compares with
        what `detokenize` writes, unless that is tidy: it then compares with
        the reference as it is.

        Args:
            texts: (batch,) UTF-8 strings.

        Returns:
            Ragged (batch, words) strings: normalised, the unknown ones too.
        """
        return split_words(
            self._normalize(tf.convert_to_tensor(texts, tf.string)),
            punctuation=self.split == "punctuation",
        )

    def _tokenize(self, strings):
        words = self.split_words(strings)
        return words.with_values(
            tf.cast(self._ids.lookup(words.values), tf.int32)
        )

    def _detokenize(self, ids):
        words = ids.with_values(
            self._words.lookup(self._known_or(ids, self.unknown_id).values)
        )
        texts = tf.strings.reduce_join(words, axis=-1, separator=" ")
        return join_punctuation(texts) if self.tidy else texts
