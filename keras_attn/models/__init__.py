"""Whole networks, in their published sizes.

Transformer     encoder and decoder: a text to another
GPT             decoder: a text and how it goes on
BERT            encoder: a text as vectors
"""

from keras_attn.models.bert import BERT
from keras_attn.models.gpt import GPT
from keras_attn.models.transformer import Transformer

__all__ = [
    "BERT",
    "GPT",
    "Transformer",
]
