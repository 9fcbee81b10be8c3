"""A padded batch, and cross-entropy as the papers write it."""

import numpy as np

LENGTHS = (3, 5)  # of two rows
LENGTH = 6
VOCABULARY = 7


def padded_batch(rng, pad_id=0):
    """Return labels (2, 6), never 0 where real, and logits (2, 6, 7)."""
    labels = rng.integers(1, VOCABULARY, size=(2, LENGTH)).astype("int32")
    labels = np.where(real_positions(), labels, pad_id)
    logits = rng.normal(size=(2, LENGTH, VOCABULARY)) * 3
    return labels, logits


def real_positions():
    """Where the rows are not padding, (2, 6)."""
    return np.arange(LENGTH) < np.array(LENGTHS)[:, None]


def log_softmax(logits):
    """log(exp(z) / Σ exp(z)) in float64."""
    z = np.asarray(logits, "float64")
    z = z - z.max(-1, keepdims=True)
    return np.log(np.exp(z) / np.exp(z).sum(-1, keepdims=True))


def mean_crossentropy(labels, logits, weights, smoothing=0.0):
    """Return -Σ target · log softmax(logits), averaged label by label."""
    vocabulary = logits.shape[-1]
    total = 0.0
    for place in zip(*np.nonzero(weights), strict=True):
        target = np.full(vocabulary, smoothing / vocabulary)
        target[labels[place]] += 1 - smoothing
        total -= weights[place] * (target @ log_softmax(logits[place]))
    return total / weights.sum()


def teacher_losses(teacher, student, kind, temperature):
    """The teacher's term of DeiT's distillation, row by row."""
    losses = []
    for told, said in zip(teacher, student, strict=True):
        if kind == "hard":
            losses.append(-log_softmax(said)[told.argmax()])
        else:
            told = log_softmax(told / temperature)
            said = log_softmax(said / temperature)
            losses.append(temperature**2 * (np.exp(told) @ (told - said)))
    return np.array(losses)


def slopes(function, x, step=1e-5):
    """Central differences of a function of one array, in float64."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient
