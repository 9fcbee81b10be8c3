"""Multi-head attention, to be put in the place of Keras' own."""

import keras

from keras_attn.attention import checks
from keras_attn.attention.axes import AttentionAxes
from keras_attn.attention.cached import CachedAttention
from keras_attn.attention.padding import without_padding
from keras_attn.attention.projected import project_each
from keras_attn.modifiers import registry
from keras_attn.ops import masks
from keras_attn.ops.checks import IMPLEMENTATIONS
from keras_attn.ops.checks import dropout_rate


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiHeadAttention(CachedAttention):
    """Several attentions side by side, each in its own projection.

        head(i) = softmax(Q W_q(i) · K W_k(i) / √key_dim) V W_v(i)
        output  = [head(1), …, head(num_heads)] W_o

    A drop-in for `keras.layers.MultiHeadAttention`: the same arguments, weights
    and files. Padding, however its mask arrives, changes nothing at real
    positions, and long sequences are attended to in linear memory. `prefill`
    and `step` attend token by token, with a cache.

    Args:
        num_heads: Number of heads.
        key_dim: Depth of a head of the query and the key.
        value_dim: Depth of a head of the value; `key_dim` if not given.
        dropout: Fraction of the weights dropped while training.
        use_bias: Whether the projections have a bias.
        output_shape: Axes of one output; the query's features if not given.
        attention_axes: Axes that look at each other; all between the batch and
            the features if not given.
        sliding_window: Keys this many positions away, or more, are hidden.
        flash_attention: True stands for `implementation="tiled"`.
        kernel_initializer, bias_initializer, kernel_regularizer,
            bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint: Of each projection.
        use_gate: Whether head i is multiplied by sigmoid(Q W_g(i)).
        seed: Seed of the dropout.
        num_kv_heads: Number of heads of the key and the value; must divide
            `num_heads`. 1 is multi-query, between is grouped-query attention.
        modifiers: What position does to heads and scores, such as `Rotary()`:
            modifiers, configs or names. Positions count from 0.
        implementation: "auto", "dense" or "tiled", as for `ops.attention`.
            Weights that are asked for are made densely in any case.

    Call arguments:
        query: (batch, query, query_features), or with more axes in between.
        value: (batch, key, value_features).
        key: (batch, key, key_features); `value` if not given.
        query_mask, value_mask, key_mask: (batch, query) and (batch, key);
            filled in by Keras from upstream.
        attention_mask: (query, key), (batch, query, key) or (batch, heads,
            query, key) booleans; an axis may be 1.
        return_attention_scores: Whether to return the weights as well.
        training: Whether weights are dropped.
        use_causal_mask: Whether query i sees keys 0 to i only.

    Returns:
        (batch, query, *output_shape), then the (batch, heads, query, key)
        weights that made it if asked for. A query that may see nothing, or is
        padding, gets heads and weights of 0: its output is the bias.

    Reference:
        Vaswani et al. 2017, section 3.2.2. https://arxiv.org/abs/1706.03762
        Ainslie et al. 2023, section 2.2. https://arxiv.org/abs/2305.13245
        Qiu et al. 2025, section 2. https://arxiv.org/abs/2505.06708
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape=None,
        attention_axes=None,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        use_gate: bool = False,
        seed: int | None = None,
        *,
        num_kv_heads: int | None = None,
        modifiers=(),
        implementation: str = "auto",
        **kwargs,
    ):
        super().__init__(
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        checks.size(num_heads, "num_heads")
        checks.size(key_dim, "key_dim")
        checks.size(key_dim if value_dim is None else value_dim, "value_dim")
        checks.size(kv_heads, "num_kv_heads")
        if num_heads % kv_heads:
            raise ValueError(
                "`num_kv_heads` must divide `num_heads`, so that each key head "
                f"serves as many query heads. Received: num_heads={num_heads}, "
                f"num_kv_heads={num_kv_heads}"
            )
        dropout_rate(dropout)
        checks.choice(implementation, IMPLEMENTATIONS, "implementation")
        masks.check_window(sliding_window, "sliding_window")
        self.num_heads = num_heads
        self.key_dim = key_dim
        self._given_value_dim = value_dim
        self.dropout = dropout
        # Keras takes `layer.output_shape` for the shape of a whole batch.
        self._output_shape = _as_tuple(output_shape, "output_shape")
        self._attention_axes = _as_tuple(attention_axes, "attention_axes")
        self.sliding_window = sliding_window
        self.flash_attention = flash_attention
        self.use_gate = use_gate
        self.seed = seed
        self.num_kv_heads = num_kv_heads
        self.modifiers = [registry.get(modifier) for modifier in modifiers]
        self.implementation = implementation
        self.supports_masking = True  # the output carries the query's mask

    @property
    def value_dim(self) -> int:
        """Depth of a head of the value."""
        given = self._given_value_dim
        return self.key_dim if given is None else given

    @property
    def attention_axes(self) -> tuple[int, ...] | None:
        """Axes that look at each other; counted from 0 once they are known."""
        return self._axes.axes if self.built else self._attention_axes

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = value_shape if key_shape is None else key_shape
        self._axes = AttentionAxes.of(self._attention_axes, len(query_shape))
        self._axes.check_shapes(query_shape, value_shape, key_shape)
        if self.sliding_window is not None:
            self._axes.check_order("sliding_window")
        heads, depth, value_depth = self.num_heads, self.key_dim, self.value_dim
        kv_heads = self.num_kv_heads or heads
        make = self.make_projection
        # In Keras' order, which is that of `get_weights` and of the seeds.
        self.query_dense = make("query", query_shape, heads, depth)
        self.key_dense = make("key", key_shape, kv_heads, depth)
        if self.use_gate:
            self._gate_dense = make(
                "gate", query_shape, heads, value_depth, activation="sigmoid"
            )
        self.value_dense = make("value", value_shape, kv_heads, value_depth)
        if self.dropout:
            self.seed_generator = keras.random.SeedGenerator(self.seed)
        self.output_dense = make(
            "attention_output",
            (*query_shape[:-1], heads, value_depth),
            *(self._output_shape or query_shape[-1:]),
            num_inputs=2,
        )
        for modifier in self.modifiers:
            modifier.prepare(
                (None, None, heads, depth), (None, None, kv_heads, depth)
            )

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        key = value if key is None else key
        axes = self._axes
        if use_causal_mask:
            axes.check_order("use_causal_mask")
        real_queries = axes.fold_padding(query_mask, query, "query_mask")
        mask = masks.for_attention(
            value_mask=axes.fold_padding(value_mask, value, "value_mask"),
            key_mask=axes.fold_padding(key_mask, key, "key_mask"),
            attention_mask=axes.fold_mask(
                attention_mask, query, key, self.num_heads
            ),
        )
        if mask is not None and len(mask.shape) == 3:
            mask = mask[:, None]  # (batch, 1, 1, key)
        query, value, key = without_padding(
            query,
            value,
            key,
            query_mask=query_mask,
            value_mask=value_mask,
            key_mask=key_mask,
        )

        projections = (self.query_dense, self.key_dense, self.value_dense)
        heads = project_each((query, key, value), projections)
        heads = [axes.fold(each) for each in heads]
        output, weights = self.attend_heads(
            *heads,
            mask=mask,
            query_mask=real_queries,
            causal=use_causal_mask,
            training=training,
            return_weights=return_attention_scores,
        )
        output = axes.unfold(output, query)  # (batch, query, heads, depth)
        if self.use_gate:
            output *= self._gate_dense(query)
        output = self.output_dense(output)
        if not return_attention_scores:
            return output
        return output, axes.unfold_weights(weights, query, key)

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        """Return the shape of the output, without the weights."""
        axes = AttentionAxes.of(self._attention_axes, len(query_shape))
        key_shape = value_shape if key_shape is None else key_shape
        axes.check_shapes(query_shape, value_shape, key_shape)
        return (*query_shape[:-1], *(self._output_shape or query_shape[-1:]))

    def compute_output_spec(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        """Describe what `call` returns."""
        masks.as_boolean(attention_mask, "attention_mask")
        key = value if key is None else key
        if use_causal_mask:
            self._axes.check_order("use_causal_mask")
        shape = self.compute_output_shape(query.shape, value.shape, key.shape)
        output = keras.KerasTensor(shape, self.compute_dtype)
        if not return_attention_scores:
            return output
        shape = self._axes.weights_shape(query.shape, key.shape, self.num_heads)
        return output, keras.KerasTensor(shape, self.compute_dtype)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self._given_value_dim,
            "dropout": self.dropout,
            "output_shape": self._output_shape,
            "attention_axes": self._attention_axes,
            "sliding_window": self.sliding_window,
            "flash_attention": self.flash_attention,
            "use_gate": self.use_gate,
            "seed": self.seed,
            "num_kv_heads": self.num_kv_heads,
            "modifiers": [serialize(modifier) for modifier in self.modifiers],
            "implementation": self.implementation,
        }


def _as_tuple(value, name):
    """Take an integer or several as a tuple; None stays None."""
    value = (value,) if isinstance(value, int) else value
    if value is None or isinstance(value, (list, tuple)):
        return value and tuple(value)
    raise ValueError(
        f"`{name}` must be None, an integer, or a tuple of integers. "
        f"Received: {name}={value!r}"
    )
