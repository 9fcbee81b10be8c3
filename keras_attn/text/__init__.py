"""Strings to ids and back, in core TensorFlow ops.

Tokenizer             the base of all; loads every kind
WordPieceTokenizer    as BERT cuts
BytePairTokenizer     as GPT-2, Llama 3 and Qwen cut
CharacterPairTokenizer    as Llama 2, Mistral and Gemma cut
UnigramTokenizer      as T5, XLM-R and Marian cut
WordTokenizer         whole words
CharacterTokenizer    characters
ByteTokenizer         bytes
learn_vocabulary      the vocabulary of a kind, from texts
"""

from keras_attn.text.byte import ByteTokenizer
from keras_attn.text.byte_pair import BytePairTokenizer
from keras_attn.text.character import CharacterTokenizer
from keras_attn.text.character_pair import CharacterPairTokenizer
from keras_attn.text.learn import learn_vocabulary
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.unigram import UnigramTokenizer
from keras_attn.text.word import WordTokenizer
from keras_attn.text.word_piece import WordPieceTokenizer

__all__ = [
    "BytePairTokenizer",
    "ByteTokenizer",
    "CharacterPairTokenizer",
    "CharacterTokenizer",
    "Tokenizer",
    "UnigramTokenizer",
    "WordPieceTokenizer",
    "WordTokenizer",
    "learn_vocabulary",
]
