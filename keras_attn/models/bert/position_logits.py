"""Which position of a text, as logits."""

import keras
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.ops import masks
from keras_attn.ops.softmax import lowest_logit


@keras.saving.register_keras_serializable(package="keras_attn")
class PositionLogits(Layer):
    """Scores every position of a row, such as where an answer begins.

        logit(t) = w x(t) + b

    A softmax over the positions makes probabilities. Padding has a logit so
    low that it gets none, and the output carries no mask: the loss of a row
    is one number, as `SparseCategoricalCrossentropy(from_logits=True)` has
    it, whose label is the position.

    Args:
        kernel_initializer: Of w.

    Call arguments:
        inputs: (batch, length, features).
        mask: (batch, length) padding mask; filled in by Keras.

    Returns:
        (batch, length) logits.

    Reference:
        Devlin et al. 2019, section 4.2. https://arxiv.org/abs/1810.04805
    """

    def __init__(self, *, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.dense = keras.layers.Dense(
            1,
            kernel_initializer=self.kernel_initializer.clone(),
            name="dense",
            dtype=self.dtype_policy,
        )
        self.supports_masking = True

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, inputs, mask=None):
        inputs = masks.zero_padding(inputs, mask, "mask")
        logits = ops.squeeze(self.dense(inputs), axis=-1)  # (batch, length)
        if mask is None:
            return logits
        return ops.where(mask, logits, lowest_logit(logits.dtype))

    def compute_mask(self, inputs, mask=None):
        return None

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "kernel_initializer": serialize(self.kernel_initializer),
        }
