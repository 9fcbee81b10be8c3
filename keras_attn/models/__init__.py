"""Whole networks, in their published sizes."""

from keras_attn.models.bert import BERT as BERT
from keras_attn.models.gpt import GPT as GPT
from keras_attn.models.transformer import Transformer as Transformer
