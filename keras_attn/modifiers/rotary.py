"""Rotary position embedding: positions turn the query and the key."""

import keras

from keras_attn.base import argument_checks
from keras_attn.modifiers.modifier import Modifier
from keras_attn.ops.positions import rotary_angles
from keras_attn.ops.positions import rotate_pairs

# The numbers that each kind of scaling takes.
SCALINGS = {
    "linear": ("factor",),
    "llama3": ("factor", "low", "high", "original_length"),
}


@keras.saving.register_keras_serializable(package="keras_attn")
class Rotary(Modifier):
    """Turns pairs of features by an angle that grows with the position.

        query_heads(q) = R(p) q        key_heads(k) = R(p) k
        R(p) turns pair i by the angle p · f(i), f(i) = base^(-2i / rotated)

    so a score depends on positions only through their difference. It has no
    weights and works at lengths that training has not seen, though not well
    at much greater ones unless `base` is raised, or frequencies are lowered:

        f / factor                                                "linear"
        f · k + f / factor · (1 - k)                              "llama3"
        k = clip((original_length · f / 2π - low) / (high - low), 0, 1)

    Args:
        base: The slowest pair turns about once in 2π · base positions.
        fraction: Share of each head's features that is turned, the first
            ones; `fraction · depth` must be an even whole number.
        offset: Added to every position.
        interleaved: Whether neighbours make a pair, as in the paper. By
            default feature i is paired with feature i + rotated / 2, as
            GPT-NeoX, Llama and KerasHub do.
        scaling: None, `{"kind": "linear", "factor": …}`, or `{"kind":
            "llama3", "factor": …, "low": …, "high": …, "original_length": …}`.

    Reference:
        Su et al. 2021, section 3.2.2. https://arxiv.org/abs/2104.09864
        Chen et al. 2023, section 2.3. https://arxiv.org/abs/2306.15595
    """

    def __init__(
        self,
        *,
        base: float = 10000.0,
        fraction: float = 1.0,
        offset: int = 0,
        interleaved: bool = False,
        scaling: dict | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.above(base, "base", 1)
        argument_checks.share(fraction, "fraction")
        self.base = base
        self.fraction = fraction
        self.offset = offset
        self.interleaved = interleaved
        self.scaling = None if scaling is None else _checked(scaling)

    def build(self, query_shape, key_shape):
        self.depth = depth = query_shape[-1]
        pairs = self.fraction * depth / 2
        self.num_pairs = round(pairs)
        # A fraction such as 1/3 is not exact, so neither is the product.
        if self.num_pairs < 1 or abs(pairs - self.num_pairs) > 1e-6:
            raise ValueError(
                "Rotary turns pairs of features, so `fraction` · depth must "
                f"be an even whole number. Received: fraction={self.fraction}, "
                f"depth={depth}. Choose an even depth of head (`key_dim`) or "
                "another `fraction`."
            )

    def built_for(self):
        return {"depth": self.depth}

    def query_heads(self, query, positions):
        return self._rotate(query, positions)

    def key_heads(self, key, positions):
        return self._rotate(key, positions)

    def get_config(self):
        return {
            **super().get_config(),
            "base": self.base,
            "fraction": self.fraction,
            "offset": self.offset,
            "interleaved": self.interleaved,
            "scaling": self.scaling,
        }

    def _rotate(self, heads, positions):
        angles = rotary_angles(
            positions + self.offset, self.num_pairs, self.base, self.scaling
        )
        return rotate_pairs(heads, angles, interleaved=self.interleaved)


def _checked(scaling):
    """A copy of a scaling, all of whose numbers are there and make sense."""
    numbers = SCALINGS.get(dict(scaling).get("kind"))
    if numbers is None or set(scaling) != {"kind", *numbers}:
        raise ValueError(
            "`scaling` must be None or have a kind and all its numbers: "
            f"{SCALINGS}. Received: scaling={scaling}"
        )
    for name in numbers:
        argument_checks.above(scaling[name], name)
    if "high" in numbers and scaling["high"] <= scaling["low"]:
        raise ValueError(
            "`scaling` keeps frequencies of more turns than `high` and lowers "
            "those of fewer than `low`, so `high` must be the greater. "
            f"Received: scaling={scaling}"
        )
    return dict(scaling)
