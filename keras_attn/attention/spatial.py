"""Self-attention over the positions of an image, for convolutional networks."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.ops.attend import attention
from keras_attn.wrappers.spectral_normalization import SpectralNormalization

# By form: the channels are divided by this for h, and keys are pooled or not.
FORMS = {"released": (2, True), "paper": (8, False)}
_KEY_DIVISOR = 8
_POOL = 2


@keras.saving.register_keras_serializable(package="keras_attn")
class SpatialSelfAttention(Layer):
    """Lets each position of a feature grid look at all others (SAGAN).

        β(q, k) = softmax(f(x(q)) · g(x(k)))        over the positions k
        o(q)    = v(Σ β(q, k) h(x(k)))
        output  = γ o + x                           γ = 0 at first

    f, g, h and v are linear maps of the channels (1 × 1 convolutions without
    bias); products are not scaled. Put it behind any convolution: until γ has
    learnt, it changes nothing. It never forms the (query, key) matrix unless
    asked for it, so that memory grows with the number of positions.

    Args:
        form: "released", as the paper's code has it: f and g make C/8 channels,
            h makes C/2, and the largest g and h of each 2 × 2 positions stand
            for them; or "paper": all three make C/8, of every position.
        spectral_normalization: Whether the maps are `SpectralNormalization`s.
        implementation: "auto", "dense", "tiled" or "fused", as for
            `ops.attention`.
        kernel_initializer: Of the four maps.
        gamma_initializer: Of γ.

    Call arguments:
        inputs: (batch, height, width, channels), 8 channels at least; C/8 is
            rounded down. Of odd sizes the last row or column is pooled alone.
        return_attention_scores: Whether to return β as well.
        training: Whether spectral norms are improved.

    Returns:
        (batch, height, width, channels), then (batch, height, width, rows,
        columns) weights if asked for: rows and columns are those of the keys.

    Reference:
        Zhang et al. 2019, section 3. https://arxiv.org/abs/1805.08318
    """

    def __init__(
        self,
        *,
        form: str = "released",
        spectral_normalization: bool = False,
        implementation: str = "auto",
        kernel_initializer="glorot_uniform",
        gamma_initializer="zeros",
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.choice(form, "form", FORMS)
        self.form = form
        self.spectral_normalization = spectral_normalization
        self.implementation = implementation
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.gamma_initializer = keras.initializers.get(gamma_initializer)

    def build(self, input_shape):
        channels = input_shape[-1] if len(input_shape) == 4 else None
        if channels is None or channels < _KEY_DIVISOR:
            raise ValueError(
                "`inputs` must be (batch, height, width, channels), with "
                f"{_KEY_DIVISOR} channels at least, of known number. Received: "
                f"inputs.shape={tuple(input_shape)}"
            )
        divisor, _ = FORMS[self.form]
        self.query_dense = self._make_map("query", channels // _KEY_DIVISOR)
        self.key_dense = self._make_map("key", channels // _KEY_DIVISOR)
        self.value_dense = self._make_map("value", channels // divisor)
        self.output_dense = self._make_map("output", channels)
        for layer in (self.query_dense, self.key_dense, self.value_dense):
            layer.build(input_shape)
        self.output_dense.build((*input_shape[:-1], channels // divisor))
        self.gamma = self.add_weight(
            name="gamma", shape=(), initializer=self.gamma_initializer
        )

    def call(self, inputs, *, return_attention_scores=False, training=None):
        query, key, value = (
            layer(inputs, training=training)
            for layer in (self.query_dense, self.key_dense, self.value_dense)
        )
        if FORMS[self.form][1]:
            key, value = _largest(key), _largest(value)
        attended = attention(
            *(_as_one_head(x) for x in (query, key, value)),
            scale=1.0,
            implementation=self.implementation,
            return_weights=return_attention_scores,
        )
        if return_attention_scores:
            attended, weights = attended
            grids = (*ops.shape(inputs)[:3], *ops.shape(key)[1:3])
            weights = ops.reshape(weights, grids)
        shape = (*ops.shape(inputs)[:3], value.shape[-1])
        attended = ops.reshape(attended, shape)
        output = self.output_dense(attended, training=training)
        output = self.gamma * output + inputs
        return (output, weights) if return_attention_scores else output

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "form": self.form,
            "spectral_normalization": self.spectral_normalization,
            "implementation": self.implementation,
            "kernel_initializer": serialize(self.kernel_initializer),
            "gamma_initializer": serialize(self.gamma_initializer),
        }

    def _make_map(self, name, units):
        layer = keras.layers.Dense(
            units,
            use_bias=False,
            kernel_initializer=self.kernel_initializer.clone(),
            name=name,
            dtype=self.dtype_policy,
        )
        if self.spectral_normalization:
            return SpectralNormalization(layer, name=f"normalised_{name}")
        return layer


def _largest(x):
    """The largest of each 2 × 2 positions, or of fewer at an odd end."""
    return ops.max_pool(x, _POOL, padding="same")


def _as_one_head(x):
    """(batch, height, width, depth) to (batch, positions, 1, depth)."""
    return ops.reshape(x, (ops.shape(x)[0], -1, 1, x.shape[-1]))
