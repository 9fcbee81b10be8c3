"""Strings to ids and back, in core TensorFlow ops."""

from keras_attn.text.byte import ByteTokenizer as ByteTokenizer
from keras_attn.text.byte_pair import BytePairTokenizer as BytePairTokenizer
from keras_attn.text.character import CharacterTokenizer as CharacterTokenizer
from keras_attn.text.learn import learn_vocabulary as learn_vocabulary
from keras_attn.text.tokenizer import Tokenizer as Tokenizer
from keras_attn.text.word import WordTokenizer as WordTokenizer
from keras_attn.text.word_piece import WordPieceTokenizer as WordPieceTokenizer
