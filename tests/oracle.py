"""Attention and its gradients in float64 NumPy, written from the equations.

Nothing here is shared with the code under test. Every array may have axes in
front of those it is described with, and they broadcast: that is how all the
perturbed copies of a central difference go through in one call.
"""

import math

import numpy as np

# Error of a central difference: step² from the curve, 1e-16 / step from
# rounding.
STEP = 1e-5


def attention(
    query,
    key,
    value,
    *,
    mask=None,
    bias=None,
    causal=False,
    window=None,
    modifiers=(),
    scale=None,
    query_positions=None,
    key_positions=None,
    segments=None,
):
    """Attend one head at a time.

    Args:
        query: (batch, query, heads, depth).
        key, value: (batch, key, kv_heads, depth).
        mask, bias: Broadcastable to (batch, heads, query, key).
        modifiers: A sequence of (name, settings), with the weights of a
            modifier among its settings.
        query_positions, key_positions: (batch or 1, length) integers.
        segments: (batch, query) and (batch, key) integers, 0 for padding.

    Returns:
        (batch, query, heads, depth) output, (batch, heads, query, key) weights.
    """
    query, key, value = (np.asarray(x, "float64") for x in (query, key, value))
    num_queries, num_heads, depth = query.shape[-3:]
    num_keys, num_kv_heads = key.shape[-3:-1]
    if scale is None:
        scale = 1 / math.sqrt(depth)
    if key_positions is None:
        key_positions = np.arange(num_keys)[None]
    if query_positions is None:
        query_positions = np.arange(num_keys - num_queries, num_keys)[None]
    distance = query_positions[:, :, None] - key_positions[:, None, :]

    visible = np.ones(distance.shape, "bool")
    if causal:
        visible &= distance >= 0
    if window is not None:
        visible &= np.abs(distance) < window
    if segments is not None:
        of_query, of_key = segments[0][:, :, None], segments[1][:, None, :]
        visible = visible & (of_query == of_key) & (of_query > 0)

    for name, settings in modifiers:
        if name == "rotary":
            query = rotate(query, query_positions, **settings)
            key = rotate(key, key_positions, **settings)
        if name == "qk_norm":
            query = normalise(query, settings["query_scale"], settings)
            key = normalise(key, settings["key_scale"], settings)

    outputs, weights = [], []
    for head in range(num_heads):
        kv_head = head * num_kv_heads // num_heads
        k, v = key[..., kv_head, :], value[..., kv_head, :]
        scores = query[..., head, :] @ np.swapaxes(k, -1, -2) * scale
        for name, settings in modifiers:
            if name == "soft_cap":
                cap = settings["cap"]
                scores = cap * np.tanh(scores / cap)
        if bias is not None:
            scores = scores + one_head(bias, head)
        for name, settings in modifiers:
            if name == "alibi":
                slope = slope_of_head(head, num_heads)
                scores = scores - slope * np.abs(distance)
            if name == "relative_bias":
                scores = scores + look_up(distance, head, **settings)
        seen = visible if mask is None else visible & one_head(mask, head)
        scores = np.where(seen, scores, -np.inf)
        for name, settings in modifiers:
            if name == "sinks":
                # One more key, whose value is nothing.
                sink = np.asarray(settings["scores"])[..., head]
                sink = sink[..., None, None, None]
                shape = np.broadcast_shapes(scores.shape[:-1], sink.shape[:-1])
                scores = np.concatenate(
                    [
                        np.broadcast_to(scores, (*shape, num_keys)),
                        np.broadcast_to(sink, (*shape, 1)),
                    ],
                    axis=-1,
                )
        weights.append(softmax(scores)[..., :num_keys])
        outputs.append(weights[-1] @ v)
    return np.stack(outputs, axis=-2), np.stack(weights, axis=-3)


def softmax(scores):
    """Softmax over the last axis; zeros where all scores are -inf."""
    highest = scores.max(-1, keepdims=True, initial=-np.inf)
    shares = np.exp(scores - np.where(np.isinf(highest), 0.0, highest))
    total = shares.sum(-1, keepdims=True)
    return shares / np.where(total == 0, 1.0, total)


def one_head(x, head):
    """Take one head's (batch, query, key) of what broadcasts to all heads."""
    x = np.asarray(x)
    x = x.reshape((1,) * (4 - x.ndim) + x.shape)
    return x[..., 0 if x.shape[-3] == 1 else head, :, :]


def rotate(
    x, positions, base=10000.0, fraction=1.0, offset=0, interleaved=False
):
    """Multiply pairs of features, as complex numbers, by e^(i p θ)."""
    x = x.copy()
    pairs = round(fraction * x.shape[-1]) // 2
    for i in range(pairs):
        theta = base ** (-2 * i / (2 * pairs))
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + pairs)
        number = x[..., a] + 1j * x[..., b]  # (batch, length, heads)
        number = number * np.exp(1j * (positions + offset) * theta)[..., None]
        x[..., a], x[..., b] = number.real, number.imag
    return x


def normalise(x, scale, settings):
    """Divide each head by its root mean square."""
    mean_square = np.mean(x**2, axis=-1, keepdims=True)
    x = x / np.sqrt(mean_square + settings["epsilon"])
    return x * np.asarray(scale)[..., None, None, None, :]


def slope_of_head(head, num_heads):
    """ALiBi's slopes: geometric, from 2^(-8/n), for n a power of two."""

    def geometric(n):
        first = 2 ** (-8 / n)
        return [first ** (i + 1) for i in range(n)]

    n = 1
    while 2 * n <= num_heads:
        n *= 2
    return (geometric(n) + geometric(2 * n)[::2])[head]


def look_up(distance, head, table, max_distance, bidirectional):
    """T5's table at the bucket of each distance."""
    num_buckets = table.shape[-2]
    if bidirectional:
        num_buckets //= 2
    exact = num_buckets // 2
    buckets = np.zeros(distance.shape, "int64")
    for place, d in np.ndenumerate(distance):
        start, n = 0, max(d, 0)
        if bidirectional:
            start, n = (num_buckets if d < 0 else 0), abs(d)
        if n < exact:
            bucket = n
        else:
            share = math.log(n / exact) / math.log(max_distance / exact)
            bucket = exact + int(share * (num_buckets - exact) + 1e-9)
        buckets[place] = start + min(bucket, num_buckets - 1)
    return np.take(table[..., head], buckets, axis=-1)


def gradients(function, arrays, cotangent):
    """Differentiate Σ output · cotangent by central differences.

    Args:
        function: Called with `arrays` by name, one of them with an axis of
            perturbed copies in front; returns the output.
        arrays: What to differentiate by, by name.
        cotangent: Like the output.

    Returns:
        A dictionary like `arrays`.
    """
    found = {}
    for name, x in arrays.items():
        x = np.asarray(x, "float64")
        steps = STEP * np.eye(x.size).reshape(x.size, *x.shape)
        up = function(**{**arrays, name: x + steps})
        down = function(**{**arrays, name: x - steps})
        slope = (up - down) / (2 * STEP) * cotangent
        found[name] = slope.reshape(x.size, -1).sum(-1).reshape(x.shape)
    return found
