"""What position or normalisation does to heads and scores."""

from keras_attn.modifiers.alibi import ALiBi as ALiBi
from keras_attn.modifiers.modifier import Modifier as Modifier
from keras_attn.modifiers.qk_norm import QKNorm as QKNorm
from keras_attn.modifiers.registry import get as get
from keras_attn.modifiers.relative_bias import RelativeBias as RelativeBias
from keras_attn.modifiers.rotary import Rotary as Rotary
from keras_attn.modifiers.sinks import Sinks as Sinks
from keras_attn.modifiers.soft_cap import SoftCap as SoftCap
