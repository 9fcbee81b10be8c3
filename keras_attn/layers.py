"""The public door to every layer."""

from keras_attn.attention.additive import AdditiveAttention as AdditiveAttention
from keras_attn.attention.dot import DotAttention as DotAttention
from keras_attn.attention.local import LocalAttention as LocalAttention
from keras_attn.attention.multi_head import (
    MultiHeadAttention as MultiHeadAttention,
)
from keras_attn.attention.multiplicative import (
    MultiplicativeAttention as MultiplicativeAttention,
)
from keras_attn.attention.pooling import AttentionPooling as AttentionPooling
from keras_attn.attention.self_attention import SelfAttention as SelfAttention
