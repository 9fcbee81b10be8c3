"""The path around a sublayer, with its normalisation."""

import keras

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.blocks.layer_scale import LayerScale
from keras_attn.blocks.normalization.layer import LayerNormalization
from keras_attn.blocks.normalization.rms import RMSNormalization
from keras_attn.blocks.stochastic_depth import StochasticDepth
from keras_attn.ops import masks

NORMS = ("post", "pre", "both")
NORMALIZATIONS = ("layer", "rms", "batch")


@keras.saving.register_keras_serializable(package="keras_attn")
class Residual(Layer):
    """What stands before and after a sublayer of a block.

        post:  output = norm(x + sublayer(x))
        pre:   output = x + sublayer(norm(x))
        both:  output = x + norm'(sublayer(norm(x)))

    A block calls `before`, its sublayer, then `after`; dropout, `LayerScale`
    and `StochasticDepth` act on the sublayer's output, after norm'.

    Args:
        norm: "post", as in the first Transformer; "pre", which trains
            without warm-up; or "both", which bounds what is added as well.
        normalization: "layer", "rms", or "batch": each feature by its mean and
            variance over all positions but padding, in training those of the
            batch and then their moving average.
        epsilon: Added to the variance.
        dropout: Fraction of the sublayer's output dropped while training.
        layer_scale: What `LayerScale` starts from; None for none.
        stochastic_depth: How often the sublayer is left out while training.

    Reference:
        Xiong et al. 2020, section 3. https://arxiv.org/abs/2002.04745
        Shen et al. 2020, section 3. https://arxiv.org/abs/2003.07845
        Gemma team 2024, section 2. https://arxiv.org/abs/2408.00118
    """

    def __init__(
        self,
        *,
        norm: str = "post",
        normalization: str = "layer",
        epsilon: float = 1e-5,
        dropout: float = 0.0,
        layer_scale: float | None = None,
        stochastic_depth: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.choice(norm, "norm", NORMS)
        argument_checks.choice(normalization, "normalization", NORMALIZATIONS)
        argument_checks.rate(dropout)
        argument_checks.rate(stochastic_depth, "stochastic_depth")
        self.norm = norm
        self.normalization = normalization
        self.epsilon = epsilon
        self.dropout = dropout
        self.layer_scale = layer_scale
        self.stochastic_depth = stochastic_depth
        own = {"dtype": self.dtype_policy}
        self.normalize = make_normalization(normalization, epsilon, **own)
        self.normalize_output = None
        if norm == "both":
            self.normalize_output = make_normalization(
                normalization, epsilon, name="normalize_output", **own
            )
        self.branch = [keras.layers.Dropout(dropout, **own)]
        if layer_scale is not None:
            self.branch.append(LayerScale(layer_scale, **own))
        if stochastic_depth:
            self.branch.append(StochasticDepth(stochastic_depth, **own))

    def build(self, input_shape):
        self.normalize.build(input_shape)
        if self.normalize_output is not None:
            self.normalize_output.build(input_shape)
        for layer in self.branch:
            layer.build(input_shape)

    def before(self, inputs, training=None, mask=None):
        """What the sublayer takes in."""
        if self.norm == "post":
            return inputs
        return normalized(self.normalize, inputs, mask, training)

    def after(self, inputs, output, training=None, mask=None):
        """Lead the inputs past the sublayer to its output."""
        if self.normalize_output is not None:
            output = normalized(self.normalize_output, output, mask, training)
        for layer in self.branch:
            takes = (
                {} if isinstance(layer, LayerScale) else {"training": training}
            )
            output = layer(output, **takes)
        output = inputs + output
        if self.norm != "post":
            return output
        return normalized(self.normalize, output, mask, training)

    def get_config(self):
        return {
            **super().get_config(),
            "norm": self.norm,
            "normalization": self.normalization,
            "epsilon": self.epsilon,
            "dropout": self.dropout,
            "layer_scale": self.layer_scale,
            "stochastic_depth": self.stochastic_depth,
        }


def make_normalization(kind: str, epsilon: float, **options):
    """Make the layer that `kind`, "layer", "rms" or "batch", stands for."""
    kinds = {
        "layer": LayerNormalization,
        "rms": RMSNormalization,
        "batch": keras.layers.BatchNormalization,
    }
    return kinds[kind](epsilon=epsilon, **options)


def normalized(layer, inputs, mask=None, training=None):
    """What a layer that `make_normalization` made gives.

    Only the statistics of a batch ask what is padding, and whether they are to
    be learnt.

    Args:
        layer: The layer.
        inputs: (batch, length, features).
        mask: (batch, length) booleans, False for padding; or None.
        training: Whether the batch's own statistics are taken.

    Returns:
        (batch, length, features).
    """
    if not isinstance(layer, keras.layers.BatchNormalization):
        return layer(inputs)
    return layer(inputs, mask=masks.as_boolean(mask), training=training)
