"""What attention can be asked for, with the oracle's answers."""

import functools
import itertools

import numpy as np
import tensorflow as tf

from keras_attn import modifiers
from tests import oracle

BATCH, QUERY, KEY, HEADS, DEPTH, VALUE_DEPTH = 2, 5, 7, 6, 4, 3
KV_HEADS = {"mha": 6, "gqa": 2, "mqa": 1}

# Neither divides its length, so the last tile of each kind is padded.
TILE = (2, 4)

# Settings of each modifier, as the oracle takes them.
MODIFIERS = {
    "rotary": {"base": 20.0, "fraction": 0.5, "offset": 3},
    "alibi": {},
    "relative_bias": {
        "table": np.sin(np.arange(6 * HEADS)).reshape(6, HEADS),
        "max_distance": 5,
        "bidirectional": True,
    },
    "soft_cap": {"cap": 0.7},
    "qk_norm": {
        "query_scale": np.array([0.5, 1.0, 1.5, -2.0]),
        "key_scale": np.array([2.0, -0.5, 1.0, 0.3]),
        "epsilon": 1e-3,
    },
    "sinks": {"scores": np.cos(np.arange(HEADS))},
}

# Which of those settings are weights of the layer, under the same name.
WEIGHTS = {
    "relative_bias": ["table"],
    "qk_norm": ["query_scale", "key_scale"],
    "sinks": ["scores"],
}

CLASSES = {
    "rotary": modifiers.Rotary,
    "alibi": modifiers.ALiBi,
    "relative_bias": modifiers.RelativeBias,
    "soft_cap": modifiers.SoftCap,
    "qk_norm": modifiers.QKNorm,
    "sinks": modifiers.Sinks,
}

MASK = np.random.default_rng(1).random((BATCH, HEADS, QUERY, KEY)) < 0.7
MASK[1, :, 3] = False  # one query may see nothing

BIAS = np.random.default_rng(2).normal(size=(1, HEADS, QUERY, KEY))

# Neither in order nor of neighbours only; 0 is padding.
SEGMENTS = (
    np.array([[1, 1, 2, 0, 3], [3, 0, 2, 2, 7]]),
    np.array([[1, 1, 0, 2, 2, 1, 3], [0, 2, 2, 5, 3, 0, 3]]),
)

COTANGENT = np.random.default_rng(3).normal(
    size=(BATCH, QUERY, HEADS, VALUE_DEPTH)
)

FEATURES = {
    "plain": {},
    "mask": {"mask": MASK},
    "causal": {"causal": True},
    "window": {"window": 3},
    "causal_window": {"causal": True, "window": 2},
    "scale": {"scale": 0.3},
    "segments": {"segments": SEGMENTS},
    "bias": {"bias": BIAS},
    "segments-causal_window": {
        "segments": SEGMENTS,
        "causal": True,
        "window": 4,
        "modifiers": list(MODIFIERS),
    },
    "everything": {
        "mask": MASK,
        "bias": BIAS,
        "causal": True,
        "window": 4,
        "modifiers": list(MODIFIERS),
    },
    **{name: {"modifiers": [name]} for name in MODIFIERS},
    **{
        f"{one}-{other}": {"modifiers": [one, other]}
        for one, other in itertools.combinations(MODIFIERS, 2)
    },
}


def heads_of(num_kv_heads):
    """Return query, key and value by name."""
    rng = np.random.default_rng(0)
    return {
        "query": rng.normal(size=(BATCH, QUERY, HEADS, DEPTH)),
        "key": rng.normal(size=(BATCH, KEY, num_kv_heads, DEPTH)),
        "value": rng.normal(size=(BATCH, KEY, num_kv_heads, VALUE_DEPTH)),
    }


def layer_of(name, num_kv_heads):
    """Build the modifier that the oracle's settings describe."""
    settings = dict(MODIFIERS[name])
    weights = {key: settings.pop(key) for key in WEIGHTS.get(name, ())}
    if name == "relative_bias":
        settings["num_buckets"] = len(weights["table"])
    layer = CLASSES[name](**settings)
    layer.build((None, None, HEADS, DEPTH), (None, None, num_kv_heads, DEPTH))
    for key, weight in weights.items():
        getattr(layer, key).assign(weight)
    return layer


@functools.cache
def expected_of(feature, num_kv_heads):
    """Ask the oracle.

    Returns:
        The arrays that have gradients (weights as "modifier.weight"), the
        other options, the names of the modifiers, then the expected output
        and gradients.
    """
    options = dict(FEATURES[feature])
    names = options.pop("modifiers", [])
    arrays = heads_of(num_kv_heads)
    if "bias" in options:
        arrays["bias"] = options.pop("bias")
    for name in names:
        for weight in WEIGHTS.get(name, ()):
            arrays[f"{name}.{weight}"] = MODIFIERS[name][weight]

    def function(query, key, value, bias=None, **weights):
        settings = {name: dict(MODIFIERS[name]) for name in names}
        for path, weight in weights.items():
            name, weight_name = path.split(".")
            settings[name][weight_name] = weight
        output, _ = oracle.attention(
            query, key, value, bias=bias, modifiers=settings.items(), **options
        )
        return output

    slopes = oracle.gradients(function, arrays, COTANGENT)
    return arrays, options, names, function(**arrays), slopes


def output_and_gradients(attend, tensors, layers, cotangent, **options):
    """Run our attention.

    Args:
        attend: The attention under test.
        tensors: Its tensor arguments by name.
        layers: Modifiers by name.
        cotangent: Like the output.
        options: The other arguments.

    Returns:
        The output; gradients by "argument" or "modifier.weight".
    """
    sources = dict(tensors)
    for name, layer in layers.items():
        for weight in WEIGHTS.get(name, ()):
            sources[f"{name}.{weight}"] = getattr(layer, weight).value
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        output = attend(**tensors, modifiers=list(layers.values()), **options)
        loss = tf.reduce_sum(output * tf.cast(cotangent, output.dtype))
    slopes = tape.gradient(loss, sources)
    return output, {
        name: tf.convert_to_tensor(slope) for name, slope in slopes.items()
    }
