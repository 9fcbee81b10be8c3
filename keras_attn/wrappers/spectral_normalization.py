"""Spectral normalisation: a layer that stretches nothing by more than 1."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.empty_batch import apply_to_rows
from keras_attn.base.layer import Layer

# What is normalised, by the names that Keras gives it.
WEIGHTS = ("kernel", "embeddings")

# Keeps what is divided by a length of 0 finite.
_EPSILON = 1e-12


@keras.saving.register_keras_serializable(package="keras_attn")
class SpectralNormalization(Layer):
    """Runs a layer with its weights divided by their largest singular value.

        v = W u / |W u|    u = Wᵀ v / |Wᵀ v|        while training, kept
        σ(W) = v · W u                              u, v taken as constants
        output = layer(inputs)                      with W / σ(W) for W

    W is the kernel, or the table of an `Embedding`, as a matrix (the rest, last
    axis). What is stored and trained is W itself; the gradient goes through
    σ, so that it holds no part that only makes W longer. Weights change little
    in a step, so one iteration in each keeps u close to the singular vector.

    Args:
        layer: A layer with a `kernel` or with `embeddings`: Dense, EinsumDense,
            any convolution, Embedding. Its bias stays as it is.
        power_iterations: How often u and v are improved in a step of training.

    Call arguments:
        inputs: What the layer takes, such as (batch, height, width, channels).
        training: Whether u is improved.

    Returns:
        What the layer returns.

    Reference:
        Miyato et al. 2018, section 2.1, appendix A.
        https://arxiv.org/abs/1802.05957
    """

    def __init__(
        self, layer: keras.layers.Layer, *, power_iterations: int = 1, **kwargs
    ):
        if not isinstance(layer, keras.layers.Layer):
            raise ValueError(f"`layer` must be a layer. Received: {layer!r}")
        kwargs.setdefault("dtype", layer.dtype_policy)
        super().__init__(**kwargs)
        self.layer = layer
        self.power_iterations = argument_checks.integer(
            power_iterations, "power_iterations", at_least=1
        )
        self.supports_masking = True

    def build(self, input_shape):
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        weight, _, _ = self._parts()
        self.u = self.add_weight(
            name="u",
            shape=(weight.shape[-1],),
            initializer="random_normal",
            trainable=False,
            autocast=False,
            # It depends on weights alone, which all replicas share.
            aggregation="only_first_replica",
        )

    def call(self, inputs, training=None):
        changed = self._normalised(training)
        # The other variables keep the values they have around here, and what
        # the layer assigns to them is assigned to them when it has run.
        names = [variable.path for variable, _ in changed]
        others = [x for x in self.layer.variables if x.path not in names]
        values = [(x, x.value) for x in others]
        with keras.StatelessScope([*values, *changed]) as scope:
            before = [scope.get_current_value(x) for x in others]
            outputs = apply_to_rows(self.layer, inputs)
        for variable, old in zip(others, before, strict=True):
            new = scope.get_current_value(variable)
            if new is not old:
                variable.assign(new)
        return ops.cast(outputs, self.compute_dtype)

    def compute_mask(self, inputs, previous_mask):
        return self.layer.compute_mask(inputs, previous_mask)

    def get_config(self):
        return {
            **super().get_config(),
            "layer": keras.saving.serialize_keras_object(self.layer),
            "power_iterations": self.power_iterations,
        }

    @classmethod
    def from_config(cls, config):
        layer = keras.saving.deserialize_keras_object(config["layer"])
        return cls(**{**config, "layer": layer})

    def _normalised(self, training):
        """The variables of which W is made, with what they are for W / σ."""
        weight, scale, low_rank = self._parts()
        dtype = self.u.dtype
        if scale is not None:
            # int8: the layer divides its output by the scale.
            divisor = ops.cast(scale, dtype)
            sigma = self._sigma(ops.cast(weight, dtype) / divisor, training)
            return [(scale, divisor * sigma)]
        # With LoRA, W is the sum of the weight and of a product.
        whole = ops.cast(getattr(self.layer, weight.name), dtype)
        sigma = self._sigma(whole, training)
        factors = [weight] if low_rank is None else [weight, low_rank]
        return [(x, ops.cast(x, dtype) / sigma) for x in factors]

    def _sigma(self, weight, training):
        """The largest singular value, differentiable in the weight."""
        matrix = ops.reshape(weight, (-1, weight.shape[-1]))
        constant = ops.stop_gradient(matrix)
        # Neither at first nor as an average of several does it have length 1.
        u = _unit(ops.convert_to_tensor(self.u))
        v = _unit(ops.matmul(constant, u))
        if training:
            u = _unit(ops.matmul(v, constant))
            for _ in range(self.power_iterations - 1):
                v = _unit(ops.matmul(constant, u))
                u = _unit(ops.matmul(v, constant))
            # Of a W of zeros nothing can be learnt, and it stays as it is.
            self.u.assign(ops.where(ops.any(u != 0), u, self.u))
        sigma = ops.sum(v * ops.matmul(matrix, u))
        return ops.where(sigma == 0, 1, sigma)

    def _parts(self):
        """The weight, its scale if it is int8, and a factor of LoRA's."""
        found = {x.name: x for x in self.layer.weights}
        names = [name for name in WEIGHTS if name in found]
        if not names:
            raise ValueError(
                "`layer` must have one weight to normalise, a `kernel` or "
                f"`embeddings`. Received: {self.layer!r} with the weights "
                f"{sorted(found)}. Wrap the layers inside it instead."
            )
        weight = found[names[0]]
        scale = found.get(f"{names[0]}_scale")
        low_rank = found.get(f"lora_{names[0]}_b")
        mode = getattr(self.layer, "quantization_mode", None)
        if mode is not None and (
            (mode, low_rank) != ("int8", None)
            or tuple(scale.shape) != tuple(weight.shape[-1:])
        ):
            raise ValueError(
                "Of quantised layers, `SpectralNormalization` takes Dense in "
                f"int8, without LoRA. Received: {self.layer!r} in {mode}."
            )
        return weight, scale, low_rank


def _unit(vector):
    """A vector of the same direction and of length 1."""
    return vector / (ops.norm(vector) + _EPSILON)
