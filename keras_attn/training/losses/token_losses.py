"""The cross-entropy of each label, without a one-hot tensor."""

import tensorflow as tf


def token_losses(labels, logits, weights, *, smoothing: float = 0.0):
    """Cross-entropy of each label with its softmax, smoothed if asked for.

        loss = logsumexp(logits) - (1 - ε) logits[label] - ε mean(logits)

    Beside the logits, only their gradient takes so much memory (and a float32
    copy of logits in half precision).

    Args:
        labels: (batch, length) ids in the vocabulary.
        logits: (batch, length, vocabulary).
        weights: (batch, length) floats; where they are 0, the logits may be
            anything, NaN included.
        smoothing: ε, spread over the whole vocabulary, the label too.

    Returns:
        (batch, length) losses in the type of `weights`, 0 where a weight is.
    """
    shape = tf.shape(labels)
    vocabulary = tf.shape(logits)[-1]
    labels = tf.reshape(labels, [-1])  # (tokens,)
    counts = tf.reshape(weights, [-1]) != 0

    @tf.custom_gradient
    def of_tokens(logits):
        floats = tf.cast(logits, weights.dtype)
        losses, slopes = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=floats, labels=labels
        )
        if smoothing:
            chosen = tf.gather(floats, labels, axis=1, batch_dims=1)
            losses += smoothing * (chosen - tf.reduce_mean(floats, axis=1))

        def gradient(upstream):
            upstream = tf.where(counts, upstream, tf.zeros_like(upstream))
            gradients = slopes  # softmax(logits) - onehot(label)
            if smoothing:
                gradients -= smoothing / tf.cast(vocabulary, slopes.dtype)
            # A plain product would make NaN of a hidden NaN.
            gradients = tf.math.multiply_no_nan(gradients, upstream[:, None])
            if smoothing:
                places = tf.stack([tf.range(tf.size(labels)), labels], axis=1)
                gradients = tf.tensor_scatter_nd_add(
                    gradients, places, smoothing * upstream
                )
            return tf.cast(gradients, logits.dtype)

        return tf.where(counts, losses, tf.zeros_like(losses)), gradient

    flat = tf.reshape(logits, tf.stack([tf.size(labels), vocabulary]))
    return tf.reshape(of_tokens(flat), shape)
