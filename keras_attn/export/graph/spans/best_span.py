"""The best stretch of tokens, by the scores of its two ends."""

import tensorflow as tf

from keras_attn.ops.softmax import EXCLUDED
from keras_attn.ops.softmax import exclusion


def best_span(start, end, legal, *, longest: int):
    """Find the most probable span that may be an answer.

        score(i, j) = P(start = i) P(end = j),    i <= j < i + longest

    Both softmaxes are over the legal tokens and the first one, which stands
    for no answer. Of equal spans the first is taken.

    Args:
        start, end: (rows, length) logits.
        legal: (rows, length) booleans: which tokens may be part of an answer.
            A row in which none may gets a span that means nothing.
        longest: The most tokens of an answer.

    Returns:
        `first` and `last`, (rows,) int32 places of the ends, `score`, and
        `null`, score(0, 0), (rows,) float32 each.

    Reference:
        Devlin et al. 2019, section 4.2 and 4.3.
        https://arxiv.org/abs/1810.04805
    """
    length = tf.shape(start)[1]
    counts = legal | (tf.range(length) == 0)
    excluded = exclusion(counts, "float32")
    # Logarithms: a product of small probabilities would be 0, and all equal.
    start, end = (
        tf.nn.log_softmax(tf.cast(logits, tf.float32) + excluded)
        for logits in (start, end)
    )
    null = tf.exp(start[:, 0] + end[:, 0])
    excluded = exclusion(legal, "float32")
    start, end = start + excluded, end + excluded
    end = tf.pad(end, [[0, 0], [0, longest - 1]], constant_values=EXCLUDED)
    ends = tf.stack(
        [end[:, more : more + length] for more in range(longest)], axis=2
    )
    scores = start[:, :, tf.newaxis] + ends  # (rows, length, longest)
    scores = tf.reshape(scores, [-1, length * longest])
    best = tf.argmax(scores, axis=1, output_type=tf.int32)
    first, more = best // longest, best % longest
    score = tf.exp(tf.reduce_max(scores, axis=1))
    return first, first + more, score, null
