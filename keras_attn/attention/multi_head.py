"""Multi-head attention, a drop-in for Keras' own."""

import keras

from keras_attn.attention.heads.axes import AttentionAxes
from keras_attn.attention.heads.cached import CachedAttention
from keras_attn.attention.heads.projecting import project_each
from keras_attn.attention.padding import without_padding
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiHeadAttention(CachedAttention):
    """Several attentions side by side, each in its own projection.

        head(i) = softmax(Q W_q(i) · K W_k(i) / √key_dim) V W_v(i)
        output  = [head(1), …, head(num_heads)] W_o

    A drop-in for `keras.layers.MultiHeadAttention`: the same arguments, weights
    and files. Padding, however its mask arrives, changes nothing at real
    positions, and long sequences are attended to in linear memory. `prefill`
    and `step` attend token by token, with a cache; `project_memory` and
    `attend_memory` project a memory once and attend to it many times.

    Args:
        num_heads: Number of heads.
        key_dim: Depth of a head of the query and the key.
        value_dim: Depth of a head of the value; `key_dim` if not given.
        dropout: Fraction of the weights dropped while training.
        use_bias: Whether the projections have a bias.
        output_shape: Axes of one output; the query's features if not given.
        attention_axes: Axes that attend to each other; all between the batch
            and the features if not given.
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
        implementation: "auto", "dense", "tiled" or "fused", as for
            `ops.attention`.
            Weights that are asked for are made densely in any case.
        use_output_bias: Whether W_o has a bias; `use_bias` if not given.

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
        segments: (batch, length) integers, or a tuple of those of the query
            and of the key: each sees its own segment only, and 0 is padding.

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
        use_output_bias: bool | None = None,
        **kwargs,
    ):
        super().__init__(
            num_heads,
            key_dim,
            value_dim=value_dim,
            dropout=dropout,
            use_bias=use_bias,
            output_shape=output_shape,
            attention_axes=attention_axes,
            sliding_window=sliding_window,
            flash_attention=flash_attention,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            use_gate=use_gate,
            seed=seed,
            num_kv_heads=num_kv_heads,
            modifiers=modifiers,
            implementation=implementation,
            use_output_bias=use_output_bias,
            **kwargs,
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
        *,
        segments=None,
    ):
        key = value if key is None else key
        axes = self._axes
        if use_causal_mask:
            axes.check_order("use_causal_mask")
        if segments is not None:
            axes.check_sequences("`segments`")
            segments = masks.segment_pair(segments)
            of_query, of_key = segments
            query_mask = masks.combine(query_mask, of_query != 0)
            value_mask = masks.combine(value_mask, of_key != 0)
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
            segments=segments,
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
        *,
        segments=None,
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
