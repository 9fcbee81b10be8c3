"""Where the steps of padded vectors end."""

import keras
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class PaddedSteps(Layer):
    """Zeros and a mask where a sequence of vectors has ended.

        real(t)   = a feature of some step ≥ t is neither 0 nor NaN
        output(t) = inputs(t) if real(t) else 0

    What stands at the end and is 0 or NaN throughout is padding, as
    `data.batches` adds it; such a step before a real one is real.

    Call arguments:
        inputs: (batch, time, features), or with more axes, as frames have.
        mask: (batch, time) booleans, where more is known to be padding.

    Returns:
        Like `inputs`; the mask goes on through Keras.
    """

    def call(self, inputs, mask=None):
        return masks.zero_padding(inputs, self.compute_mask(inputs, mask))

    def compute_mask(self, inputs, mask=None):
        """True up to the last step that is not padding."""
        nothing = ops.logical_or(ops.equal(inputs, 0), ops.isnan(inputs))
        holds = ops.logical_not(nothing)
        holds = ops.any(holds, axis=tuple(range(2, len(inputs.shape))))
        following = ops.flip(
            ops.cumsum(ops.flip(ops.cast(holds, "int32"), 1), 1), 1
        )
        return masks.combine(following > 0, mask)
