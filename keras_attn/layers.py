"""The public door to every layer."""

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.attention.co_attention import CoAttention
from keras_attn.attention.dot import DotAttention
from keras_attn.attention.local import LocalAttention
from keras_attn.attention.locality import LocalitySelfAttention
from keras_attn.attention.location_sensitive import LocationSensitiveAttention
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.multiplicative import MultiplicativeAttention
from keras_attn.attention.pooling import AttentionPooling
from keras_attn.attention.self_attention import SelfAttention
from keras_attn.attention.spatial import SpatialSelfAttention
from keras_attn.blocks.attention_cell import AttentionCell
from keras_attn.blocks.attention_rnn import AttentionRNN
from keras_attn.blocks.co_attention import CoAttentionBlock
from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.blocks.feed_forward import FeedForward
from keras_attn.blocks.gated_feed_forward import GatedFeedForward
from keras_attn.blocks.layer_scale import LayerScale
from keras_attn.blocks.masked_convolution import MaskedConvolution
from keras_attn.blocks.stochastic_depth import StochasticDepth
from keras_attn.embeddings.class_token import ClassToken
from keras_attn.embeddings.learned_position import LearnedPosition
from keras_attn.embeddings.patch import PatchEmbedding
from keras_attn.embeddings.shifted_patch import ShiftedPatchTokenization
from keras_attn.embeddings.sine_position import SinePosition
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.wrappers.spectral_normalization import SpectralNormalization

__all__ = [
    "AdditiveAttention",
    "AttentionCell",
    "AttentionPooling",
    "AttentionRNN",
    "ClassToken",
    "CoAttention",
    "CoAttentionBlock",
    "DecoderBlock",
    "DotAttention",
    "EncoderBlock",
    "FeedForward",
    "GatedFeedForward",
    "LayerScale",
    "LearnedPosition",
    "LocalAttention",
    "LocalitySelfAttention",
    "LocationSensitiveAttention",
    "MaskedConvolution",
    "MultiHeadAttention",
    "MultiplicativeAttention",
    "PatchEmbedding",
    "SelfAttention",
    "ShiftedPatchTokenization",
    "SinePosition",
    "SpatialSelfAttention",
    "SpectralNormalization",
    "StochasticDepth",
    "TokenEmbedding",
]
