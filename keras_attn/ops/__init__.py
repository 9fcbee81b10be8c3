"""Pure functions: scores, masks, softmax and attention itself."""

from keras_attn.ops.attend import attention as attention
