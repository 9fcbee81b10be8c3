"""Pictures of attention."""

from keras_attn.plot.align import alignment as alignment
