"""What a training run needs, apart from models and data."""

from keras_attn.training.accelerator import (
    accelerator_check as accelerator_check,
)
from keras_attn.training.masked_accuracy import MaskedAccuracy as MaskedAccuracy
from keras_attn.training.masked_crossentropy import (
    MaskedCrossentropy as MaskedCrossentropy,
)
from keras_attn.training.perplexity import Perplexity as Perplexity
from keras_attn.training.warmup_cosine import WarmupCosine as WarmupCosine
from keras_attn.training.warmup_rsqrt import WarmupRsqrt as WarmupRsqrt
