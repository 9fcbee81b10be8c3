"""What encoder and decoder blocks have in common."""

import keras

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.blocks import activations
from keras_attn.blocks.feed_forward import FeedForward
from keras_attn.blocks.fresh_config import unshared
from keras_attn.blocks.gated_feed_forward import GatedFeedForward
from keras_attn.blocks.residual import Residual

# Gated networks by the names of their activations.
GATED = {"swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu_tanh"}


class Block(Layer):
    """Sublayers, each with a residual path around it.

    Args:
        num_heads: Number of heads.
        hidden_dim: Hidden length of the feed-forward network.
        norm: "post", "pre" or "both".
        normalization: "layer", "rms", or "batch", which only encoders take.
        epsilon: Added to the variance.
        activation: Of the feed-forward network; "swiglu", "geglu" or
            "geglu_tanh" for a gated one.
        use_bias: Whether linear maps have biases.
        dropout: Fraction of weights, hidden vectors and sublayers' outputs
            dropped while training; or a dictionary with some of the keys
            "attention", "hidden" and "output".
        attention: Further arguments of every `MultiHeadAttention`, such as
            `num_kv_heads` and `modifiers`, of which each makes its own;
            `key_dim` is features / num_heads if not given.
        layer_scale: What `LayerScale` starts from; None for none.
        stochastic_depth: How often a sublayer is left out while training.
        kernel_initializer: Of all linear maps.
    """

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        *,
        norm: str = "post",
        normalization: str = "layer",
        epsilon: float = 1e-5,
        activation="relu",
        use_bias: bool = True,
        dropout: float | dict = 0.0,
        attention: dict | None = None,
        layer_scale: float | None = None,
        stochastic_depth: float = 0.0,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        num_heads = argument_checks.integer(num_heads, "num_heads", at_least=1)
        hidden_dim = argument_checks.integer(
            hidden_dim, "hidden_dim", at_least=1
        )
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.norm = norm
        self.normalization = normalization
        self.epsilon = epsilon
        self.activation = (
            activation if is_gated(activation) else activations.get(activation)
        )
        self.use_bias = use_bias
        self.dropout = dropout
        # As configs: modifiers with weights must not be shared, neither by
        # two attentions nor by blocks that are given the same dictionary.
        self.attention = unshared(attention or {})
        self.shared_modifiers = []
        self.layer_scale = layer_scale
        self.stochastic_depth = stochastic_depth
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True
        self._rates = _rates(dropout)

    def share(self, modifiers):
        """Give self-attention modifiers that other blocks have as well.

        Args:
            modifiers: Those that follow its own. Whoever made the blocks keeps
                them: they are not part of the config.
        """
        if not modifiers:
            return
        if self.built:
            raise ValueError(
                "Modifiers are shared by blocks that are not built yet. "
                f"Received: {self.name}, built. Make new blocks."
            )
        self.shared_modifiers = list(modifiers)

    def make_attention(self, name: str, features: int, shared=()):
        """Make a multi-head attention for inputs of `features`.

        Args:
            name: Of the layer.
            features: Of the inputs.
            shared: Modifiers that are not its own alone.
        """
        options = {
            name: keras.saving.deserialize_keras_object(value)
            for name, value in self.attention.items()
        }
        if "key_dim" not in options and features % self.num_heads:
            raise ValueError(
                "`num_heads` must divide the features. Received: num_heads="
                f"{self.num_heads}, features={features}. Choose another, or "
                'give the depth of a head: attention={"key_dim": ...}.'
            )
        options.setdefault("key_dim", features // self.num_heads)
        if shared:
            options["modifiers"] = [*options.get("modifiers", ()), *shared]
        return MultiHeadAttention(
            self.num_heads,
            **{
                "dropout": self._rates["attention"],
                "use_bias": self.use_bias,
                "kernel_initializer": self.kernel_initializer.clone(),
                **options,
            },
            name=name,
            dtype=self.dtype_policy,
        )

    def build_self_attention(self, shape):
        """Make self-attention and the path around it, for an input's shape."""
        self.self_attention = self.make_attention(
            "self_attention", shape[-1], self.shared_modifiers
        )
        self.self_attention.build(shape, shape)
        self.attention_residual = self.make_residual("attention_residual")
        self.attention_residual.build(shape)

    def build_feed_forward(self, shape):
        """Make the feed-forward network and the path around it."""
        self.feed_forward = self.make_feed_forward()
        self.feed_forward.build(shape)
        self.feed_forward_residual = self.make_residual("feed_forward_residual")
        self.feed_forward_residual.build(shape)

    def make_feed_forward(
        self, name: str = "feed_forward", hidden_dim: int | None = None
    ):
        """Make a feed-forward network, gated if the activation says so."""
        gated = is_gated(self.activation)
        kind = GatedFeedForward if gated else FeedForward
        return kind(
            hidden_dim or self.hidden_dim,
            activation=GATED[self.activation] if gated else self.activation,
            use_bias=self.use_bias,
            dropout=self._rates["hidden"],
            kernel_initializer=self.kernel_initializer.clone(),
            name=name,
            dtype=self.dtype_policy,
        )

    def make_residual(self, name: str):
        """Make the path around a sublayer."""
        return Residual(
            norm=self.norm,
            normalization=self.normalization,
            epsilon=self.epsilon,
            dropout=self._rates["output"],
            layer_scale=self.layer_scale,
            stochastic_depth=self.stochastic_depth,
            name=name,
            dtype=self.dtype_policy,
        )

    def attend_self(self, x, mask, *, return_attention_scores, **options):
        """The first sublayer: norm(x + attention(x, x)).

        Args:
            x: (batch, length, features).
            mask: (batch, length) booleans, False for padding; or None.
            return_attention_scores: Whether the weights are wanted.
            options: Further call arguments of `MultiHeadAttention`.

        Returns:
            (batch, length, features), and a list of the weights wanted.
        """
        training = options["training"]
        y = self.attention_residual.before(x, training, mask)
        y = self.self_attention(
            y,
            y,
            query_mask=mask,
            value_mask=mask,
            return_attention_scores=return_attention_scores,
            **options,
        )
        y, *weights = y if return_attention_scores else (y,)
        return self.attention_residual.after(x, y, training, mask), weights

    def feed(self, x, training=None, mask=None):
        """The last sublayer: norm(x + feed_forward(x))."""
        y = self.feed_forward_residual.before(x, training, mask)
        y = self.feed_forward(y, training=training)
        return self.feed_forward_residual.after(x, y, training, mask)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        activation = self.activation
        if not is_gated(activation):
            activation = activations.serialize(activation)
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "norm": self.norm,
            "normalization": self.normalization,
            "epsilon": self.epsilon,
            "activation": activation,
            "use_bias": self.use_bias,
            "dropout": self.dropout,
            "attention": dict(self.attention),
            "layer_scale": self.layer_scale,
            "stochastic_depth": self.stochastic_depth,
            "kernel_initializer": serialize(self.kernel_initializer),
        }


def is_gated(activation) -> bool:
    """Whether it is the name of a gated network."""
    return isinstance(activation, str) and activation in GATED


def _rates(dropout):
    names = ("attention", "hidden", "output")
    if not isinstance(dropout, dict):
        return dict.fromkeys(names, dropout)
    wrong = set(dropout) - set(names)
    if wrong:
        raise ValueError(
            f"`dropout` is a number or has the keys {names}. Received: "
            f"{sorted(wrong)}"
        )
    return {name: dropout.get(name, 0.0) for name in names}
