"""Pure functions: scores, masks, softmax and attention itself.

attention       what every layer calls
"""

from keras_attn.ops.attend import attention

__all__ = [
    "attention",
]
