"""What every modifier is: hooks that attention calls."""

import keras

from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class Modifier(Layer):
    """A small layer that changes how an attention scores its keys.

        score(q, k) = cap(query_heads(q) · key_heads(k) · scale) + bias(q, k)
        weight      = exp(score) / (exp(sinks) + Σ exp(score))

    A subclass overrides the hooks it needs and leaves the others. Attention
    calls them in this fixed order, so the order of a list of modifiers only
    matters among those that change the heads. `cap_scores`, `bias` and
    `visible` see one tile and its positions, never the whole (query, key)
    matrix, and take their weights as arguments, so that the tiled backward
    pass can differentiate them tile by tile. Weights are float32 and never
    autocast.
    A modifier is not called: attention builds it and calls its hooks.
    """

    def build(self, query_shape, key_shape):
        """Make the weights; shapes are (batch, length, heads, depth)."""

    def prepare(self, query_shape, key_shape):
        """Build it, or refuse heads that it was not built for."""
        if not self.built:
            self.build(query_shape, key_shape)
        sizes = {"heads": query_shape[-2], "depth": query_shape[-1]}
        for name, size in self.built_for().items():
            if size != sizes[name]:
                raise ValueError(
                    f"This {type(self).__name__} was built for {name}={size} "
                    f"and is now given {name}={sizes[name]}. Attention layers "
                    f"share a modifier only if they agree in that: give each "
                    "its own."
                )

    def add_float32_weight(self, name: str, shape: tuple, initializer):
        """Add a weight that no precision policy casts, unless to float64."""
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            dtype=keras.backend.result_type(self.variable_dtype, "float32"),
            autocast=False,
        )

    def built_for(self) -> dict:
        """The "heads" or the "depth" that it depends on, once built."""
        return {}

    def query_heads(self, query, positions):
        """Change the whole (batch, query, heads, depth) query."""
        return query

    def key_heads(self, key, positions):
        """Change the whole (batch, key, kv_heads, depth) key."""
        return key

    def parameters(self) -> tuple:
        """Weights that `bias` and `sinks` use, as float32 tensors."""
        return ()

    def cap_scores(self, scores):
        """Bound the (batch, heads, query, key) scaled scores of a tile."""
        return scores

    def bias(self, parameters, query_positions, key_positions):
        """Return what to add to a tile's scores, or None.

        Args:
            parameters: What `parameters()` returned.
            query_positions: (batch or 1, query) integers of this tile.
            key_positions: (batch or 1, key) integers of this tile.

        Returns:
            (batch or 1, heads, query, key), or None.
        """
        return None

    def visible(self, query_positions, key_positions):
        """Return which keys of a tile a query may see, or None for all.

        Args:
            query_positions, key_positions: As for `bias`.

        Returns:
            (batch or 1, query, key) booleans, or None.
        """
        return None

    def sinks(self, parameters):
        """Return (heads,) scores that attend to nothing, or None."""
        return None

    def fused(self) -> dict | None:
        """What a fused kernel is told in place of the hooks that see a tile.

        Returns:
            Options of the kernel: {"soft_cap": …}, or nothing; None if it has
            no option that would do the same.
        """
        hooks = ("cap_scores", "bias", "visible", "sinks")
        sees_tiles = any(
            getattr(type(self), hook) is not getattr(Modifier, hook)
            for hook in hooks
        )
        return None if sees_tiles else {}
