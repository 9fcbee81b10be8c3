"""What sampling leaves out, against NumPy from the definitions."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.logits.filters import keep_min_p
from keras_attn.decoding.logits.filters import keep_top
from keras_attn.decoding.logits.filters import penalise

ROWS = 6


def top_k(logits, number):
    order = np.argsort(-logits, kind="stable")
    kept = np.zeros(logits.shape, bool)
    kept[order[: number or None]] = True
    return np.where(kept, logits, -np.inf)


def top_p(logits, mass):
    weights = np.exp(logits.astype("float64"))
    order = np.argsort(-logits, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    kept = np.zeros(logits.shape, bool)
    kept[order[before < mass * weights.sum()]] = True
    return np.where(kept | (mass >= 1), logits, -np.inf)


def each(function, logits, values):
    values = np.broadcast_to(values, (len(logits),))
    return np.stack(
        [function(*row) for row in zip(logits, values, strict=True)]
    )


@pytest.fixture(params=[7, 3000], ids=["small", "large"])
def logits(request, rng):
    """Rows from nearly flat to nearly certain, some of them tied."""
    spread = np.array([[0.01], [0.5], [1], [2], [4], [9]])
    logits = spread * rng.normal(size=(ROWS, request.param))
    logits[2] = np.round(logits[2]) + 0.0  # to XLA, -0.0 is less than 0.0
    return logits.astype("float32")


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize(
    "number",
    [0, 1, 3, 5000, [0, 1, 2, 3, 7, 2000], [1, 2, 3, 4, 5, 0]],
    ids=str,
)
def test_top_k_keeps_so_many(logits, number, jit_compile):
    @tf.function(autograph=False, jit_compile=jit_compile)
    def run(logits):
        rows = np.ndim(number) and tf.constant(number)[:, None]
        return keep_top(logits, top_k=rows if np.ndim(number) else number)

    np.testing.assert_array_equal(run(logits), each(top_k, logits, number))


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize(
    "mass",
    [1.0, 0.9, 0.2, 1e-6, 0.9999, [1.0, 0.1, 0.5, 0.7, 0.95, 0.3]],
    ids=str,
)
def test_top_p_keeps_the_nucleus(logits, mass, jit_compile):
    logits[2] += 0.1 * logits[1]  # ties are for the test below

    @tf.function(autograph=False, jit_compile=jit_compile)
    def run(logits):
        rows = tf.constant(mass)[:, None] if np.ndim(mass) else mass
        return keep_top(logits, top_p=rows)

    kept = np.isfinite(run(logits))
    shares = np.exp(logits.astype("float64"))
    shares /= shares.sum(-1, keepdims=True)
    goal = np.reshape(mass, (-1, 1)) if np.ndim(mass) else mass
    least = np.where(kept, logits, np.inf).min(-1, keepdims=True)
    np.testing.assert_array_equal(kept, logits >= least)
    # Enough, and not enough without the last one; to float32's last digits.
    enough = np.sum(shares * kept, -1, keepdims=True)
    without = np.sum(shares * (logits > least + 2e-6), -1, keepdims=True)
    assert (enough >= goal - 2e-6).all()
    assert ((without < goal + 2e-6) | (goal == 1)).all()
    assert kept[np.broadcast_to(goal == 1, kept.shape)].all()


def test_what_is_as_likely_as_the_last_one_stays():
    for size in (4, 3000):
        logits = np.full((1, size), -99.0, "float32")
        logits[0, :4] = np.log([0.4, 0.2, 0.2, 0.2])
        kept = np.isfinite(keep_top(tf.constant(logits), top_p=0.5))
        assert kept[0, :4].all() and kept.sum() == 4


@pytest.mark.parametrize("rows", [False, True])
def test_top_p_goes_by_what_top_k_leaves(logits, rows):
    number, mass = 4, 0.6
    expected = each(top_p, each(top_k, logits, number), mass)
    if rows:
        number = tf.fill([ROWS, 1], number)
        mass = tf.fill([ROWS, 1], mass)
    kept = keep_top(tf.constant(logits), top_k=number, top_p=mass)
    unlike = [row for row in range(ROWS) if row != 2]  # ties stay
    np.testing.assert_array_equal(kept.numpy()[unlike], expected[unlike])


def test_rows_out_of_range_get_the_nearest_that_means_something(logits):
    def kept(**options):
        options = {
            name: tf.fill([ROWS, 1], value) for name, value in options.items()
        }
        return np.isfinite(keep_top(tf.constant(logits), **options)).sum(-1)

    assert (kept(top_k=-1) == logits.shape[1]).all()
    assert (kept(top_k=9999) == logits.shape[1]).all()
    assert (kept(top_p=1.5) == logits.shape[1]).all()
    assert (kept(top_p=-0.5)[[0, 1, 3, 4, 5]] == 1).all()
    shy = keep_min_p(tf.constant(logits), tf.fill([ROWS, 1], 2.0))
    assert np.isfinite(shy).any(-1).all()


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, [0, 0.1, 0.2, 0.5, 0.9, 1]])
def test_min_p_goes_by_the_likeliest(logits, share):
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    least = np.reshape(share, (-1, 1)) if np.ndim(share) else share
    expected = np.where(weights >= least, logits, -np.inf)
    if np.ndim(share):
        share = tf.constant(share, tf.float32)[:, None]
    np.testing.assert_array_equal(
        keep_min_p(tf.constant(logits), share), expected
    )


@pytest.mark.parametrize("penalty", [1.0, 1.3, 0.5, [1, 2, 3, 1.5, 1, 1.2]])
def test_what_has_come_becomes_less_likely_once(rng, logits, penalty):
    ids = rng.integers(7, size=(ROWS, 5)).astype("int32")
    ids[:, 4] = ids[:, 0]
    expected = logits.copy()
    for row in range(ROWS):
        by = penalty[row] if np.ndim(penalty) else penalty
        for token in set(ids[row]):
            value = logits[row, token]
            expected[row, token] = value / by if value > 0 else value * by
    if np.ndim(penalty):
        penalty = tf.constant(penalty, tf.float32)[:, None]
    changed = penalise(tf.constant(logits), tf.constant(ids), penalty)
    np.testing.assert_allclose(changed, expected, 1e-6)


@pytest.mark.peers
@pytest.mark.parametrize("vocabulary", [7, 3000])
def test_equals_hugging_face(rng, vocabulary):
    import torch
    from transformers.generation import logits_process as theirs

    logits = (2 * rng.normal(size=(ROWS, vocabulary))).astype("float32")
    ids = rng.integers(7, size=(ROWS, 5))
    scores = torch.tensor(logits)
    for process in (
        theirs.RepetitionPenaltyLogitsProcessor(1.3),
        theirs.TemperatureLogitsWarper(0.7),
        theirs.TopKLogitsWarper(6),
        theirs.TopPLogitsWarper(0.8),
        theirs.MinPLogitsWarper(0.1),
    ):
        scores = process(torch.tensor(ids), scores)
    ours = penalise(tf.constant(logits), tf.constant(ids, tf.int32), 1.3) / 0.7
    ours = keep_min_p(keep_top(ours, top_k=6, top_p=0.8), 0.1)
    np.testing.assert_allclose(ours, scores.numpy(), 1e-5)
