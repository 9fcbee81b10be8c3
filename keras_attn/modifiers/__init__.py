"""What position or normalisation does to heads and scores.

Modifier        the base of all
ALiBi           a bias that falls with the distance
RelativeBias    a learned bias for every distance
Rotary          positions as rotations of query and key
QKNorm          query and key normalised before they meet
Locality        a temperature for each head, and no position sees itself
Sinks           learned scores for attending to nothing
SoftCap         scores that stay below a limit
get             finds one by its name
"""

from keras_attn.modifiers.alibi import ALiBi
from keras_attn.modifiers.locality import Locality
from keras_attn.modifiers.modifier import Modifier
from keras_attn.modifiers.qk_norm import QKNorm
from keras_attn.modifiers.registry import get
from keras_attn.modifiers.relative_bias import RelativeBias
from keras_attn.modifiers.rotary import Rotary
from keras_attn.modifiers.sinks import Sinks
from keras_attn.modifiers.soft_cap import SoftCap

__all__ = [
    "ALiBi",
    "Locality",
    "Modifier",
    "QKNorm",
    "RelativeBias",
    "Rotary",
    "Sinks",
    "SoftCap",
    "get",
]
