"""What sampling leaves out, and what it makes less likely."""

import math

import tensorflow as tf

from keras_attn.decoding.logits.chunked_top_k import likeliest

# Up to so many tokens, sorting them is quicker than a search for the level at
# which they are cut. Whole rows of 50,000 take fifty times as long to sort.
_SORTED = 1024

# Each halves the range of levels, which spans at most 41 powers of two.
_HALVINGS = 28


def keep_top(logits, *, top_k=0, top_p=1.0):
    """Keep the most probable tokens: so many, and so much of the probability.

        nucleus = the fewest most probable tokens with Σ probability >= top_p

    where the probabilities are those of the `top_k` most probable tokens.

    Args:
        logits: (rows, vocabulary) float32.
        top_k: How many to keep, a number or (rows, 1); all if 0. Of equal
            logits, the lower ids.
        top_p: How much to keep, a number or (rows, 1); all if 1. At least one
            token is kept, and whatever is as likely as the last one kept.

    Returns:
        (rows, vocabulary) logits, -inf where left out.

    Reference:
        Fan et al. 2018, section 5.4. https://arxiv.org/abs/1805.04833
        Holtzman et al. 2020, section 3.1. https://arxiv.org/abs/1904.09751
    """
    vocabulary = logits.shape[-1]
    every_token = not tf.is_tensor(top_k) and not 0 < top_k < vocabulary
    whole_mass = not tf.is_tensor(top_p) and top_p >= 1
    ranked = None
    if not every_token:
        logits, ranked = _first(logits, top_k)
    elif vocabulary <= _SORTED and not whole_mass:
        ranked, _ = likeliest(logits, vocabulary)
    if whole_mass:
        return logits
    top_p = tf.clip_by_value(tf.cast(top_p, tf.float32), 0.0, 1.0)
    if ranked is None:
        return _only(logits, *_nucleus(logits, top_p))
    return _only(logits, logits, _ranked_nucleus(ranked, top_p))


def keep_min_p(logits, min_p):
    """Keep tokens that are not much less likely than the most probable.

        kept = probability >= min_p · max probability

    Args:
        logits: (rows, vocabulary) float32.
        min_p: From 0, which keeps all, to 1: a number or (rows, 1).

    Returns:
        (rows, vocabulary) logits, -inf where left out.

    Reference:
        Nguyen et al. 2024, section 3. https://arxiv.org/abs/2407.01082
    """
    if not tf.is_tensor(min_p) and min_p <= 0:
        return logits
    most = tf.reduce_max(logits, axis=-1, keepdims=True)
    min_p = tf.clip_by_value(tf.cast(min_p, tf.float32), 0.0, 1.0)
    return _only(logits, logits, most + tf.math.log(min_p))


def penalise(logits, ids, penalty):
    """Make tokens that have come before less likely.

        logit = logit / penalty if logit > 0 else logit · penalty

    Args:
        logits: (rows, vocabulary) float32.
        ids: (rows, length) ids that have come; how often does not matter.
        penalty: 1 changes nothing: a number or (rows, 1).

    Returns:
        (rows, vocabulary) logits.

    Reference:
        Keskar et al. 2019, section 4.1. https://arxiv.org/abs/1909.05858
    """
    if not tf.is_tensor(penalty) and penalty == 1:
        return logits
    values = tf.gather(logits, ids, batch_dims=1)
    values = tf.where(values > 0, values / penalty, values * penalty)
    rows = tf.zeros_like(ids) + tf.range(tf.shape(ids)[0])[:, None]
    places = tf.stack([rows, ids], axis=-1)
    return tf.tensor_scatter_nd_update(logits, places, values)


def _only(logits, values, floor):
    """Keep the logits whose values are not below the floor."""
    return tf.where(values >= floor, logits, -math.inf)


def _first(logits, top_k):
    """Keep the `top_k` most probable tokens.

    Returns:
        The logits, and (rows, number) the kept ones alone, in order and with
        -inf after them; None if there may be too many to sort.
    """
    vocabulary = logits.shape[-1]
    places = tf.range(vocabulary)
    if tf.is_tensor(top_k):
        number = tf.where(top_k > 0, tf.minimum(top_k, vocabulary), vocabulary)
        width = min(_SORTED, vocabulary)
    else:
        number = tf.fill([tf.shape(logits)[0], 1], top_k)
        width = top_k

    def last_kept(width):
        values, ids = likeliest(logits, width)
        last = tf.minimum(number, width) - 1
        value = tf.gather(values, last, batch_dims=1)
        return value, tf.gather(ids, last, batch_dims=1), values

    value, last_id, values = last_kept(width)
    ranked = tf.where(places[:width] < number, values, -math.inf)
    if tf.is_tensor(top_k) and width < vocabulary:
        everything = number >= vocabulary
        value, last_id = tf.cond(
            tf.reduce_all(everything | (number <= width)),
            lambda: (value, last_id),
            lambda: last_kept(vocabulary)[:2],
        )
        value = tf.where(everything, -math.inf, value)
        last_id = tf.where(everything, vocabulary, last_id)
        ranked = None
    level = tf.logical_and(logits == value, places <= last_id)
    kept = tf.logical_or(logits > value, level)
    return tf.where(kept, logits, -math.inf), ranked


def _ranked_nucleus(ranked, top_p):
    """Find the least logit in the nucleus of logits in falling order."""
    weights = tf.exp(ranked - ranked[:, :1])
    total = tf.reduce_sum(weights, axis=-1, keepdims=True)
    before = tf.cumsum(weights, axis=-1, exclusive=True)
    inside = tf.logical_or(before < top_p * total, top_p >= 1)
    least = tf.reduce_min(tf.where(inside, ranked, math.inf), -1, keepdims=True)
    return tf.minimum(least, ranked[:, :1])


def _nucleus(logits, top_p):
    """Find weights, and the least one in the nucleus, without sorting.

    Tokens lighter than (1 - top_p) · total / vocabulary weigh too little,
    all together, to matter: the level is between that and the heaviest.
    """
    most = tf.reduce_max(logits, axis=-1, keepdims=True)
    weights = tf.exp(logits - most)
    total = tf.reduce_sum(weights, axis=-1, keepdims=True)
    low = (1 - top_p) * total / logits.shape[-1]

    def halve(low, high):
        middle = tf.sqrt(low * high)
        inside = weights * tf.cast(weights >= middle, tf.float32)
        mass = tf.reduce_sum(inside, axis=-1, keepdims=True)
        enough = mass >= top_p * total
        return tf.where(enough, middle, low), tf.where(enough, high, middle)

    low, _ = tf.while_loop(
        lambda low, high: True,
        halve,
        (low, tf.ones_like(low)),
        maximum_iterations=_HALVINGS,
    )
    return weights, low
