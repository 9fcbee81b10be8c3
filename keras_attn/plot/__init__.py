"""Pictures of attention.

alignment       attention weights of each written token
over_image      the same over a picture, a panel for each word
"""

from keras_attn.plot.align import alignment
from keras_attn.plot.over_image import over_image

__all__ = [
    "alignment",
    "over_image",
]
