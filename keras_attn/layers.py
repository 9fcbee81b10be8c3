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
from keras_attn.blocks.decoder import DecoderBlock as DecoderBlock
from keras_attn.blocks.encoder import EncoderBlock as EncoderBlock
from keras_attn.blocks.feed_forward import FeedForward as FeedForward
from keras_attn.blocks.gated_feed_forward import (
    GatedFeedForward as GatedFeedForward,
)
from keras_attn.blocks.layer_scale import LayerScale as LayerScale
from keras_attn.blocks.stochastic_depth import (
    StochasticDepth as StochasticDepth,
)
from keras_attn.embeddings.learned_position import (
    LearnedPosition as LearnedPosition,
)
from keras_attn.embeddings.sine_position import SinePosition as SinePosition
from keras_attn.embeddings.token import TokenEmbedding as TokenEmbedding
