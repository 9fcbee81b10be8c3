"""Pictures of attention.

alignment       attention weights of each written token
"""

from keras_attn.plot.align import alignment

__all__ = [
    "alignment",
]
