"""Pictures of attention.

alignment       what each written token looked at
"""

from keras_attn.plot.align import alignment

__all__ = [
    "alignment",
]
