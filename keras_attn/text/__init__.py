"""Strings to ids and back, in core TensorFlow ops."""

from keras_attn.text.byte import ByteTokenizer as ByteTokenizer
from keras_attn.text.character import CharacterTokenizer as CharacterTokenizer
from keras_attn.text.tokenizer import Tokenizer as Tokenizer
