"""Attention for Keras 3 on TensorFlow.

    import keras_attn

    keras_attn.layers     attention layers: DotAttention to MultiHeadAttention
    keras_attn.modifiers  what changes how they score: Rotary, ALiBi, ...
    keras_attn.ops        the function under them all: attention
    keras_attn.models     whole networks: Transformer, GPT, BERT
    keras_attn.decoding   from a step to a text: greedy, sample, beam
    keras_attn.text       strings to ids and back: WordPieceTokenizer, ...
    keras_attn.data       files, TFDS or built-in data to fixed-shape batches
    keras_attn.training   losses, metrics, schedules; does a step fit a TPU?
    keras_attn.export     a trained model to a SavedModel that TF Serving runs
    keras_attn.plot       pictures of attention weights

The house: data flows from left to right, and a room imports only rooms to
its left.

    ops ──┬── embeddings ──────────────┬── blocks ── models ──┐
          ├── modifiers ── attention ──┘                      ├── export
          ├── wrappers ───────┘                               │
          ├── decoding ───────────────────────────────────────┤
          └── training                                        │
    text, image ─┬────────────────────────────────────────────┘
                 └── data
    layers, the door to embeddings, wrappers, attention and blocks
    plot, which no other room imports
"""

from keras_attn import backend as backend
from keras_attn import data
from keras_attn import decoding
from keras_attn import export
from keras_attn import layers
from keras_attn import models
from keras_attn import modifiers
from keras_attn import ops
from keras_attn import plot
from keras_attn import text
from keras_attn import training

__all__ = [
    "data",
    "decoding",
    "export",
    "layers",
    "models",
    "modifiers",
    "ops",
    "plot",
    "text",
    "training",
]
__version__ = "0.1.0"
