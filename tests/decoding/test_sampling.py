"""Sampling against the softmax it draws from."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import sample
from tests.decoding import markov
from tests.decoding.markov import END

PER_ROW = dict(
    temperature=[0.0, 0.5, 1.0, 2.0, 1.0],
    top_k=[0, 3, 0, 4, 1],
    top_p=[1.0, 0.9, 0.5, 1.0, 0.8],
    min_p=[0.0, 0.0, 0.1, 0.2, 0.0],
    repetition_penalty=[1.0, 1.5, 1.0, 1.1, 2.0],
)


def settings(table, max_length=6, start=1):
    return dict(
        step=markov.step,
        state=markov.state(table, max_length),
        batch_size=table.shape[0],
        max_length=max_length,
        start_id=start,
        end_id=END,
    )


def fixed(logits, rows):
    """A model of one step that always predicts the same."""
    logits = np.tile(np.array(logits, "float32"), (rows, 1))
    return dict(
        step=lambda token, state, index: (tf.constant(logits), state),
        state={},
        batch_size=rows,
        max_length=1,
        start_id=1,
        end_id=END,
    )


# Which of softmax([1, 2, 0, -1, 1.5]) stay: computed by hand from 0.1698,
# 0.4616, 0.0625, 0.0230, 0.2800 (and 0.8241 of it, for the last two).
FILTERS = {
    "plain": ({}, [0, 1, 2, 3, 4], 1.0),
    "warm": ({"temperature": 2.0}, [0, 1, 2, 3, 4], 2.0),
    "top_k": ({"top_k": 3}, [0, 1, 4], 1.0),
    "top_p": ({"top_p": 0.9}, [0, 1, 4], 1.0),
    "min_p": ({"min_p": 0.1}, [0, 1, 2, 4], 1.0),
    "forbidden": ({"forbidden_ids": [1]}, [0, 2, 3, 4], 1.0),
    "top_k, top_p": ({"top_k": 3, "top_p": 0.6}, [1, 4], 1.0),
}


@pytest.mark.parametrize("case", FILTERS)
def test_frequencies_are_those_of_the_filtered_softmax(case):
    rows = 20_000
    options, kept, temperature = FILTERS[case]
    logits = np.array([1.0, 2.0, 0.0, -1.0, 1.5])
    run = tf.function(
        lambda: sample(**fixed(logits, rows), seed=5, **options),
        autograph=False,
    )
    tokens = run().numpy()[:, 0]
    assert set(tokens) == set(kept)
    shares = np.exp(logits[kept] / temperature)
    expected = rows * shares / shares.sum()
    counts = np.bincount(tokens, minlength=5)[kept]
    # The chance of a larger sum is less than 1 in 1000 for up to 4 degrees of
    # freedom.
    assert ((counts - expected) ** 2 / expected).sum() < 18.5


def test_steps_of_a_row_draw_independently():
    rows, length = 2000, 6
    options = fixed([0.0, 0.0], rows) | {"max_length": length, "end_id": -1}
    run = tf.function(lambda: sample(**options, seed=1), autograph=False)
    tokens = run().numpy()
    patterns = tokens @ 2 ** np.arange(length)
    counts = np.bincount(patterns, minlength=2**length)
    expected = rows / 2**length
    # 63 degrees of freedom: 1 in 1000 is larger.
    assert ((counts - expected) ** 2 / expected).sum() < 103.4


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_a_row_depends_on_its_own_seed_and_options_alone(rng, jit_compile):
    table = markov.tables(rng, 5, 5)
    start = np.array([1, 2, 3, 4, 1])
    seeds = [3, 1, 4, 1, 5]

    def run(rows, **options):
        together = settings(table[rows], start=start[rows])
        run = tf.function(
            lambda: sample(**together, **options),
            autograph=False,
            jit_compile=jit_compile,
        )
        return run().numpy()

    together = run(slice(None), seed=seeds, **PER_ROW)
    # XLA compiles for each row anew, so tries one.
    for row in [3] if jit_compile else range(5):
        options = {name: values[row] for name, values in PER_ROW.items()}
        alone = run(slice(row, row + 1), seed=[seeds[row]], **options)
        np.testing.assert_array_equal(together[row], alone[0])


def test_one_seed_gives_each_row_its_own(rng):
    table = np.repeat(markov.tables(rng, 1, 5), 30, axis=0)
    table[..., END] -= 9.0
    tokens = sample(**settings(table), seed=3).numpy()
    assert len(np.unique(tokens, axis=0)) > 20
    np.testing.assert_array_equal(sample(**settings(table), seed=3), tokens)
    assert not np.array_equal(sample(**settings(table), seed=4), tokens)
    for row in (0, 7):
        alone = sample(**settings(table[:1]), seed=[[3, row]])
        np.testing.assert_array_equal(alone[0], tokens[row])


def test_xla_draws_the_same(rng):
    table = markov.tables(rng, 5, 5)

    def run():
        return sample(**settings(table), seed=2, **PER_ROW)

    np.testing.assert_array_equal(
        tf.function(run, autograph=False, jit_compile=True)(), run()
    )


def test_the_penalty_counts_prompt_start_and_new_tokens():
    def step(token, state, index):
        return tf.repeat([[0.0, 5.0, 4.0, 3.0, 2.0]], 2, axis=0), state

    def run(**options):
        tokens = sample(
            step,
            {},
            batch_size=2,
            max_length=3,
            start_id=[1, 4],
            end_id=END,
            temperature=0,
            repetition_penalty=100.0,
            **options,
        )
        return tokens.numpy().tolist()

    assert run() == [[2, 3, 4], [1, 2, 3]]
    prompt = [[-1, 2], [1, 3]]
    assert run(prompt=prompt) == [[3, 4, 1], [2, 1, 1]]


def test_a_temperature_near_zero_is_greedy(rng):
    table = markov.tables(rng, 20, 5)
    cold = sample(**settings(table), seed=1, temperature=1e-30)
    coldest = sample(**settings(table), seed=1, temperature=0)
    np.testing.assert_array_equal(cold, coldest)


def test_logits_of_nan_hurt_no_other_row(rng):
    table = markov.tables(rng, 4, 5)
    healthy = sample(**settings(table), seed=1, top_p=0.9).numpy()
    table[2] = np.nan
    hurt = sample(**settings(table), seed=1, top_p=0.9).numpy()
    np.testing.assert_array_equal(hurt[[0, 1, 3]], healthy[[0, 1, 3]])
    assert 0 <= hurt.min() and hurt.max() < 5


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_draws_in_float32(dtype):
    def step(token, state, index):
        return tf.cast([[70.0, 71.0, 60.0, 0.0]], dtype), state

    options = fixed([0.0], 1) | {"step": step}
    assert sample(**options, seed=1, top_p=0.9).numpy()[0, 0] in (0, 1)


def test_one_trace_serves_all_batch_sizes_and_seeds(rng):
    traces = []

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 5, 5, 5]),
            tf.TensorSpec([], tf.int64),
            tf.TensorSpec([None]),
        ]
    )
    def run(table, seed, temperature):
        traces.append(1)
        return sample(
            markov.step,
            markov.state(table, 6),
            batch_size=tf.shape(table)[0],
            max_length=6,
            start_id=1,
            end_id=END,
            seed=seed,
            temperature=temperature,
        )

    for rows in (3, 1, 0, 4):
        table = markov.tables(rng, rows, 5)
        heat = np.linspace(0, 2, rows).astype("float32")
        np.testing.assert_array_equal(
            run(table, rows, heat),
            sample(**settings(table), seed=rows, temperature=heat),
        )
    assert len(traces) == 1


def test_settings_out_of_range_get_a_sentence(rng):
    options = settings(markov.tables(rng, 2, 5))
    with pytest.raises(ValueError, match="`temperature` must be 0 or more"):
        sample(**options, temperature=-1.0)
    with pytest.raises(ValueError, match=r"`top_k` .* \(batch,\) = \(2,\)"):
        sample(**options, top_k=[1, 2, 3])
    with pytest.raises(ValueError, match="`max_length` must be"):
        sample(**options | {"max_length": 0})
