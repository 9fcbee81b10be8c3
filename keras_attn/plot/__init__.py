"""Pictures of attention.

alignment       attention weights of each written token
heads           those of all heads of a layer, a panel for each
over_image      weights over a picture, a panel for each word
rollout         attention through all layers, over a picture
positions       which positions of an image have embeddings that are alike
grid            many images, such as those that a model has made
pixels          where chosen pixels of such an image looked
"""

from keras_attn.plot.align import alignment
from keras_attn.plot.grid import grid
from keras_attn.plot.heads import heads
from keras_attn.plot.over_image import over_image
from keras_attn.plot.pixels import pixels
from keras_attn.plot.positions import positions
from keras_attn.plot.rollout import rollout

__all__ = [
    "alignment",
    "grid",
    "heads",
    "over_image",
    "pixels",
    "positions",
    "rollout",
]
