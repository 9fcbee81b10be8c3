"""One vector of all steps: their mean, or the last."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.ops import masks

KINDS = ("mean", "last")


@keras.saving.register_keras_serializable(package="keras_attn")
class StepPooling(Layer):
    """The mean of the steps that are not padding, or the last of them.

        output = Σ h(t) / number of steps, or h(last)

    Args:
        kind: "mean" or "last".

    Call arguments:
        inputs: (batch, time, features).
        mask: (batch, time) padding mask; filled in by Keras.

    Returns:
        (batch, features); zeros for a row of nothing but padding.

    Reference:
        Lin et al. 2014, "Network In Network", section 3.2.
        https://arxiv.org/abs/1312.4400
    """

    def __init__(self, kind: str, **kwargs):
        super().__init__(**kwargs)
        argument_checks.choice(kind, "kind", KINDS)
        self.kind = kind
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None:
            mask = ops.ones(ops.shape(inputs)[:2], "bool")
        inputs = masks.zero_padding(inputs, mask, "mask")
        if self.kind == "last":
            # Of steps that are alike, `argmax` finds the first.
            from_end = ops.argmax(ops.flip(ops.cast(mask, "int32"), 1), axis=1)
            last = ops.shape(inputs)[1] - 1 - ops.cast(from_end, "int32")
            return ops.take_along_axis(inputs, last[:, None, None], axis=1)[
                :, 0
            ]
        # float16 counts to 2,048 only.
        dtype = keras.backend.result_type(inputs.dtype, "float32")
        total = ops.sum(ops.cast(inputs, dtype), axis=1)
        steps = ops.sum(ops.cast(mask, dtype), axis=1)[:, None]
        mean = total / ops.maximum(steps, 1.0)
        return ops.cast(mean, self.compute_dtype)

    def compute_mask(self, inputs, previous_mask):
        return None  # what was padded has been pooled away

    def get_config(self):
        return {**super().get_config(), "kind": self.kind}
