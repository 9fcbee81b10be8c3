"""How much of each input an output holds, after all layers."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.ops.scores import accumulation_dtype


def rollout(weights: Sequence):
    """Attention rollout: attention followed through all layers.

        A(l)    = 0.5 mean over heads of weights(l) + 0.5 I,  rows sum to 1
        rollout = A(L) … A(2) A(1)

    A half is what goes past each attention, on its residual. A position that
    attends to nothing, as padding does, keeps what it is.

    Args:
        weights: For each layer, the first one first, (batch, heads, query,
            key) weights of self-attention.

    Returns:
        (batch, query, key) float32, or float64 if that came: the share of
        input `key` in output `query`. Rows sum to 1.

    Reference:
        Abnar and Zuidema 2020, section 3. https://arxiv.org/abs/2005.00928
    """
    layers = [tf.convert_to_tensor(layer) for layer in weights]
    _check(layers)
    dtype = accumulation_dtype(layers[0].dtype)
    identity = tf.eye(tf.shape(layers[0])[-1], dtype=dtype)
    rolled = identity
    for layer in layers:
        attended = tf.reduce_mean(tf.cast(layer, dtype), axis=1)
        mixed = 0.5 * attended + 0.5 * identity  # (batch, query, key)
        mixed /= tf.reduce_sum(mixed, axis=-1, keepdims=True)
        rolled = tf.matmul(mixed, rolled)
    return rolled


def over_patches(rolled, grid: tuple[int, int], pooling=None):
    """How much of each patch is in what a model reads out at its end.

        output(p) = Σ pooling(q) rollout(q, p)

    Args:
        rolled: (batch, query, key) from `rollout`; patches are the last rows ·
            columns positions.
        grid: Rows and columns of patches.
        pooling: (batch or 1, query) weights of what is read out. If None, the
            first position alone if it is no patch, as a class token, and else
            the mean of all.

    Returns:
        (batch, rows, columns). What is missing from a sum of 1 is the share
        of positions that are no patch.
    """
    length, (rows, columns) = rolled.shape[-1], grid
    if length is None or length < rows * columns:
        raise ValueError(
            "`grid` must have as many patches as there are positions, or fewer "
            f"by those before them. Received: grid={tuple(grid)}, {length} "
            "positions."
        )
    if pooling is not None:
        pooled = tf.einsum("bq,bqk->bk", tf.cast(pooling, rolled.dtype), rolled)
    elif length > rows * columns:
        pooled = rolled[:, 0]
    else:
        pooled = tf.reduce_mean(rolled, axis=1)
    return tf.reshape(pooled[:, -rows * columns :], [-1, rows, columns])


def _check(layers):
    shapes = [tuple(layer.shape) for layer in layers]
    first = shapes[0] if shapes else ()
    if len(first) != 4 or first[2] != first[3]:
        raise ValueError(
            "`weights` must be a list with the self-attention of each layer, "
            "(batch, heads, query, key), as many keys as queries. Received: "
            f"shapes {shapes}. Of one example, add the batch: weights[None]."
        )
    # Heads may differ in number, since only their mean goes on.
    if any((s[:1], s[2:]) != (first[:1], first[2:]) for s in shapes):
        raise ValueError(
            "All layers of `weights` must have the same batch and length. "
            f"Received: shapes {shapes}"
        )
