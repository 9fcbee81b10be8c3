"""Pure functions: scores, masks, softmax and attention itself.

attention       what every layer calls
rollout         what its weights tell, followed through all layers
"""

from keras_attn.ops.attend import attention
from keras_attn.ops.explain.rollout import rollout

__all__ = [
    "attention",
    "rollout",
]
