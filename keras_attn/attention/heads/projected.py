"""The linear maps into heads and out of them, as Keras makes them."""

import string

import keras

from keras_attn.attention.heads.axes import AttentionAxes
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.modifiers import registry
from keras_attn.ops import masks
from keras_attn.ops.checks import IMPLEMENTATIONS

# Keras' files go by these names.
PROJECTIONS = (
    "query_dense",
    "key_dense",
    "_gate_dense",
    "value_dense",
    "output_dense",
)


class ProjectedAttention(Layer):
    """Heads: what they are made by, and what they are made into.

        (batch, ..., features) → (batch, ..., heads, depth) → (batch, ..., *out)

    The projections are `keras.layers.EinsumDense` with the equations, weights
    and names of Keras' multi-head attention, so that its files, LoRA and
    quantisation fit.

    Args: as for `MultiHeadAttention`.
    """

    def __init__(
        self,
        num_heads,
        key_dim,
        *,
        value_dim,
        dropout,
        use_bias,
        output_shape,
        attention_axes,
        sliding_window,
        flash_attention,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        use_gate,
        seed,
        num_kv_heads,
        modifiers,
        implementation,
        use_output_bias,
        **kwargs,
    ):
        super().__init__(**kwargs)
        kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        num_heads = argument_checks.integer(num_heads, "num_heads", at_least=1)
        key_dim = argument_checks.integer(key_dim, "key_dim", at_least=1)
        if value_dim is not None:
            value_dim = argument_checks.integer(
                value_dim, "value_dim", at_least=1
            )
        kv_heads = argument_checks.integer(kv_heads, "num_kv_heads", at_least=1)
        if num_heads % kv_heads:
            raise ValueError(
                "`num_kv_heads` must divide `num_heads`, so that each key head "
                f"serves as many query heads. Received: num_heads={num_heads}, "
                f"num_kv_heads={num_kv_heads}"
            )
        argument_checks.rate(dropout)
        argument_checks.choice(
            implementation, "implementation", IMPLEMENTATIONS
        )
        masks.check_window(sliding_window, "sliding_window")
        self.num_heads = num_heads
        self.key_dim = key_dim
        self._given_value_dim = value_dim
        self.value_dim = key_dim if value_dim is None else value_dim
        self.dropout = dropout
        self.use_bias = use_bias
        # Keras takes `layer.output_shape` for the shape of a whole batch.
        self._output_shape = _as_tuple(output_shape, "output_shape")
        self._attention_axes = _as_tuple(attention_axes, "attention_axes")
        self.sliding_window = sliding_window
        self.flash_attention = flash_attention
        self._projection_options = dict(
            kernel_initializer=keras.initializers.get(kernel_initializer),
            bias_initializer=keras.initializers.get(bias_initializer),
            kernel_regularizer=keras.regularizers.get(kernel_regularizer),
            bias_regularizer=keras.regularizers.get(bias_regularizer),
            activity_regularizer=keras.regularizers.get(activity_regularizer),
            kernel_constraint=keras.constraints.get(kernel_constraint),
            bias_constraint=keras.constraints.get(bias_constraint),
        )
        self.use_gate = use_gate
        self.seed = seed
        self.num_kv_heads = num_kv_heads
        self.modifiers = [registry.get(modifier) for modifier in modifiers]
        self.implementation = implementation
        self.use_output_bias = use_output_bias
        self.supports_masking = True  # the output carries the query's mask

    @property
    def attention_axes(self) -> tuple[int, ...] | None:
        """Axes that attend to each other; counted from 0 once known."""
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
            use_bias=self.use_output_bias,
        )
        for modifier in self.modifiers:
            modifier.prepare(
                (None, None, heads, depth), (None, None, kv_heads, depth)
            )

    def quantized_call(self, *args, **kwargs):
        """Call as ever: it is the projections that are quantised."""
        return self.call(*args, **kwargs)

    def quantize(self, mode=None, **options):
        """Quantise every projection; `mode` is "int8", for example."""
        for projection in self.projections():
            projection.quantize(mode, **options)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        options = self._projection_options.items()
        policy = keras.dtype_policies.serialize(self._policy_to_rebuild())
        return {
            **super().get_config(),
            "dtype": policy,
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self._given_value_dim,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "output_shape": self._output_shape,
            "attention_axes": self._attention_axes,
            "sliding_window": self.sliding_window,
            "flash_attention": self.flash_attention,
            **{name: serialize(option) for name, option in options},
            "use_gate": self.use_gate,
            "seed": self.seed,
            "num_kv_heads": self.num_kv_heads,
            "modifiers": [serialize(modifier) for modifier in self.modifiers],
            "implementation": self.implementation,
            "use_output_bias": self.use_output_bias,
        }

    def projections(self) -> list:
        """Return the projections made so far."""
        return [getattr(self, x) for x in PROJECTIONS if hasattr(self, x)]

    def make_projection(
        self,
        name: str,
        input_shape,
        *output_shape: int,
        num_inputs: int = 1,
        activation: str | None = None,
        use_bias: bool | None = None,
    ) -> keras.layers.EinsumDense:
        """Make and build the map of the last axes of an input to others.

        Args:
            name: Of the projection.
            input_shape: (batch, ..., *inputs).
            output_shape: Sizes of the outputs' axes, such as heads and depth.
            num_inputs: How many axes `inputs` are.
            activation: What follows the map, if anything.
            use_bias: Whether it has a bias; the layer's if not given.

        Returns:
            The built projection.
        """
        kept = string.ascii_uppercase[: len(input_shape) - num_inputs]
        inputs = string.ascii_lowercase[:num_inputs]
        outputs = string.ascii_lowercase[num_inputs:][: len(output_shape)]
        use_bias = self.use_bias if use_bias is None else use_bias
        options = dict(self._projection_options)
        for initializer in ("kernel_initializer", "bias_initializer"):
            # One and the same makes the same numbers for every projection.
            options[initializer] = options[initializer].clone()
        projection = keras.layers.EinsumDense(
            f"{kept}{inputs},{inputs}{outputs}->{kept}{outputs}",
            output_shape=(*[None] * (len(kept) - 1), *output_shape),
            bias_axes=outputs if use_bias else None,
            activation=activation,
            name=name,
            dtype=_policy_at(self.dtype_policy, f"{self.path}/{name}"),
            **options,
        )
        # Otherwise Keras warns that the mask of the input goes no further.
        projection.supports_masking = True
        projection.build(input_shape)
        return projection

    def _policy_to_rebuild(self):
        """Return a dtype policy that makes the projections as they are now.

        `model.quantize` quantises them one by one, and does not tell the
        layer around them.
        """
        policy = self.dtype_policy
        changed = {
            projection.path: projection.dtype_policy
            for projection in self.projections()
            if projection.dtype_policy != _policy_at(policy, projection.path)
        }
        if not changed:
            return policy
        policy_map = keras.dtype_policies.DTypePolicyMap
        if isinstance(policy, policy_map):
            return policy_map(policy.default_policy.name, {**policy, **changed})
        return policy_map(policy.name, changed)


def _policy_at(policy, path):
    """Return the policy for one path, out of the map if it is one."""
    # Keras' quantised projections do not look themselves up in a map.
    is_map = isinstance(policy, keras.dtype_policies.DTypePolicyMap)
    return policy[path] if is_map else policy


def _as_tuple(value, name):
    """Take an integer or several as a tuple; None stays None."""
    value = (value,) if isinstance(value, int) else value
    if value is None or isinstance(value, (list, tuple)):
        return value and tuple(value)
    raise ValueError(
        f"`{name}` must be None, an integer, or a tuple of integers. "
        f"Received: {name}={value!r}"
    )
