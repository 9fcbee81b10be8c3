"""Beam search against its definition in plain Python."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import beam
from keras_attn.decoding import greedy
from tests.decoding import markov
from tests.decoding.markov import END

CONFIGURATIONS = [
    # (vocabulary, max_length, width, length_penalty, num_results)
    (5, 6, 4, 0.0, 1),
    (5, 6, 4, 0.6, 4),
    (4, 7, 3, 1.0, 2),
    (3, 8, 2, 2.0, 2),
    (6, 5, 1, 0.6, 1),
    (7, 4, 5, 0.0, 5),
    (2, 6, 4, 0.3, 3),
    (3, 5, 7, 0.0, 7),
    (3, 1, 2, 1.0, 2),
    (8, 6, 3, 1.0, 1),
    (5, 9, 2, 0.0, 2),
    (4, 6, 6, 1.5, 1),
]
MODELS = 25  # for each: 300 in all


def searcher(max_length, *, jit_compile=False, **options):
    """One graph for all tables, each batch size compiled anew by XLA."""

    @tf.function(
        autograph=False,
        jit_compile=jit_compile,
        reduce_retracing=not jit_compile,
    )
    def run(table, start):
        rows = table.shape[0]
        return beam(
            markov.step,
            markov.state(table, max_length),
            batch_size=tf.shape(table)[0] if rows is None else rows,
            max_length=max_length,
            start_id=start,
            end_id=END,
            **options,
        )

    return lambda *inputs: tf.nest.map_structure(
        np.asarray, run(*map(tf.constant, inputs))
    )


def search(table, start, max_length, **options):
    return searcher(max_length, **options)(table, start)


@pytest.mark.parametrize(
    ("configuration", "jit_compile"),
    [(configuration, False) for configuration in CONFIGURATIONS]
    + [(configuration, True) for configuration in CONFIGURATIONS[1:8:3]],
    ids=str,
)
def test_equals_the_definition_on_random_models(
    rng, configuration, jit_compile
):
    vocabulary, max_length, width, length_penalty, number = configuration
    table = markov.tables(rng, MODELS, vocabulary)
    start = rng.integers(vocabulary, size=MODELS).astype("int32")
    tokens, scores = search(
        table,
        start,
        max_length,
        width=width,
        length_penalty=length_penalty,
        num_results=number,
        jit_compile=jit_compile,
    )
    assert tokens.shape == (MODELS, number, max_length)
    assert tokens.dtype == np.int32
    for row in range(MODELS):
        expected = markov.beam(
            table[row],
            start[row],
            max_length=max_length,
            width=width,
            length_penalty=length_penalty,
        )[:number]
        missing = number - len(expected)
        expected += [([END] * max_length, -np.inf)] * missing
        assert tokens[row].tolist() == [answer for answer, _ in expected]
        np.testing.assert_allclose(
            scores[row], [value for _, value in expected], 1e-5, 1e-5
        )


@pytest.mark.parametrize("length_penalty", [0.0, 0.8])
def test_equals_brute_force_when_the_width_is_exhaustive(rng, length_penalty):
    vocabulary, max_length, number = 3, 4, 9
    table = markov.tables(rng, 20, vocabulary)
    start = rng.integers(vocabulary, size=20).astype("int32")
    tokens, scores = search(
        table,
        start,
        max_length,
        width=vocabulary**max_length,
        length_penalty=length_penalty,
        num_results=number,
    )
    for row in range(20):
        expected = markov.brute_force(
            table[row],
            start[row],
            max_length=max_length,
            length_penalty=length_penalty,
        )[:number]
        assert tokens[row].tolist() == [list(answer) for answer, _ in expected]
        np.testing.assert_allclose(
            scores[row], [value for _, value in expected], 1e-5, 1e-5
        )


def test_wider_finds_better_than_greedy(rng):
    table = markov.tables(rng, 200, 5)
    start = np.ones(200, "int32")
    narrow, narrow_scores = search(table, start, 6, width=1)
    _, wide_scores = search(table, start, 6, width=25)
    assert (wide_scores >= narrow_scores - 1e-5).mean() > 0.9
    assert (wide_scores > narrow_scores + 1e-3).mean() > 0.3
    likeliest = greedy(
        markov.step,
        markov.state(table, 6),
        batch_size=200,
        max_length=6,
        start_id=start,
        end_id=END,
    )
    np.testing.assert_array_equal(narrow[:, 0], likeliest)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_a_row_does_not_depend_on_its_neighbours(rng, length_penalty):
    table = markov.tables(rng, 7, 5)
    start = rng.integers(5, size=7).astype("int32")
    options = dict(
        width=3, num_results=2, length_penalty=length_penalty, return_state=True
    )
    run = searcher(8, **options)
    together = run(table, start)
    for row in range(7):
        alone = run(table[row : row + 1], start[row : row + 1])
        np.testing.assert_array_equal(together[0][row], alone[0][0])
        np.testing.assert_allclose(together[1][row], alone[1][0], 1e-6)
        for key in ("history", "steps", "before"):
            pair = together[2].carried[key].reshape(7, 2, -1)[row]
            expected = alone[2].carried[key].reshape(2, -1)
            np.testing.assert_array_equal(pair, expected)


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_the_state_comes_back_along_the_winning_path(rng, jit_compile):
    table = markov.tables(rng, 20, 5)
    start = rng.integers(5, size=20).astype("int32")
    tokens, _, state = search(
        table,
        start,
        7,
        width=4,
        num_results=3,
        return_state=True,
        jit_compile=jit_compile,
    )
    lengths = np.argmax(tokens == END, axis=-1) + 1
    lengths = np.where((tokens == END).any(-1), lengths, 7)
    assert len(np.unique(lengths)) > 3
    history = state.carried["history"].reshape(20, 3, 7)
    steps = state.carried["steps"].reshape(20, 3)
    np.testing.assert_array_equal(steps, lengths)
    for row, result in np.ndindex(20, 3):
        length = lengths[row, result]
        fed = [start[row], *tokens[row, result, : length - 1]]
        assert history[row, result, :length].tolist() == fed
        assert (history[row, result, length:] == -1).all()
    memory = state.constant["table"].reshape(20, 3, 5, 5, 5)
    np.testing.assert_array_equal(memory, np.stack([table] * 3, axis=1))


@pytest.mark.parametrize(
    ("length_penalty", "options"),
    [(0.8, {}), (0.8, {"forbidden_ids": (2,)}), (0.0, {"forced_end_id": 3})],
    ids=["plain", "forbidden", "forced"],
)
def test_log_probabilities_are_the_models_own(rng, length_penalty, options):
    table = markov.tables(rng, 20, 5)
    start = rng.integers(5, size=20).astype("int32")
    options = {**options, "length_penalty": length_penalty, "width": 3}
    tokens, scores, found = search(
        table, start, 6, num_results=2, return_log_probs=True, **options
    )
    for row, result in np.ndindex(20, 2):
        written = tokens[row, result].tolist()
        written = written[: [*written, END].index(END) + 1]
        wanted = [
            markov.log_probabilities(table[row], start[row], written[:place])[
                token
            ]
            for place, token in enumerate(written)
        ]
        length = len(written)
        np.testing.assert_allclose(found[row, result, :length], wanted, 1e-5)
        assert not np.any(found[row, result, length:])
        if len(options) == 2:
            score = markov.score(sum(wanted), length, length_penalty)
            np.testing.assert_allclose(scores[row, result], score, 1e-5)


@pytest.mark.parametrize(
    ("length_penalty", "forced_end_id"),
    [(0.0, 3), (1.0, None), (1.0, END)],
    ids=str,
)
def test_a_row_with_a_limit_is_as_if_that_were_the_length(
    rng, length_penalty, forced_end_id
):
    limits = np.repeat([0, 1, 3, 6], 5)
    table = markov.tables(rng, 20, 5)
    start = rng.integers(5, size=20).astype("int32")
    options = dict(
        width=3,
        length_penalty=length_penalty,
        forced_end_id=forced_end_id,
        return_log_probs=True,
    )
    tokens, scores, found = search(table, start, 6, limits=limits, **options)
    for limit in (1, 3, 6):
        rows = limits == limit
        wanted = search(table[rows], start[rows], limit, **options)
        np.testing.assert_array_equal(tokens[rows][:, :, :limit], wanted[0])
        np.testing.assert_allclose(scores[rows], wanted[1], 1e-6)
        np.testing.assert_allclose(found[rows][:, :, :limit], wanted[2], 1e-6)
    after = np.arange(6) >= limits[:, None, None]
    assert (tokens[after] == END).all()
    assert not found[after].any()
    assert not scores[limits == 0].any()


def counted(table, max_length, **options):
    """Count how often the loop calls the step."""
    calls = tf.Variable(0)

    def step(token, state, index):
        calls.assign_add(1)
        return markov.step(token, state, index)

    rows = table.shape[0]
    tf.function(beam)(
        step,
        markov.state(table, max_length),
        batch_size=rows,
        max_length=max_length,
        start_id=1,
        end_id=END,
        **options,
    )
    return int(calls)


def test_stops_when_no_result_can_change(rng):
    table = markov.tables(rng, 3, 5, spread=0.1)
    table[..., END] += 2.0
    assert counted(table, 30, width=3) == 1
    # Over 30 tokens the penalty may forgive a loss that is still small.
    assert 1 < counted(table, 30, width=3, length_penalty=1.0) < 30
    table[..., END] -= 99.0
    assert counted(table, 30, width=3) == 30


def test_an_ended_beam_at_the_top_does_not_stop_the_search():
    table = np.full((1, 3, 3, 3), -9.0, "float32")
    table[0, :, 1] = np.log([0.6, 1e-9, 0.4])
    table[0, :, 2] = np.log([1e-3, 1e-9, 1.0])
    for length_penalty, expected in ((0.0, [0] * 9), (2.0, [2] * 9)):
        tokens, _ = search(
            table,
            np.ones(1, "int32"),
            9,
            width=2,
            length_penalty=length_penalty,
        )
        assert tokens[0, 0].tolist() == expected


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_equal_scores_go_to_the_better_beam_then_to_the_lower_id(jit_compile):
    table = np.zeros((1, 4, 4, 4), "float32")
    tokens, scores = search(
        table,
        np.ones(1, "int32"),
        2,
        width=4,
        num_results=4,
        jit_compile=jit_compile,
    )
    assert tokens[0].tolist() == [[0, 0], [1, 0], [1, 1], [1, 2]]
    np.testing.assert_allclose(scores[0], np.log([1 / 4] + [1 / 16] * 3), 1e-6)


def test_a_large_vocabulary_is_searched_as_a_small_one(rng):
    vocabulary = 5000
    logits = rng.normal(size=(vocabulary, vocabulary)).astype("float32")[:7]
    logits[:, 7:] -= 2.0

    def step(token, state, index):
        return tf.gather(table, token % 7), state

    for table in (tf.constant(logits), tf.constant(logits[:, :4999])):
        tokens, scores = beam(
            step,
            {"none": tf.zeros([2])},
            batch_size=2,
            max_length=3,
            start_id=[1, 2],
            end_id=END,
            width=3,
            num_results=3,
        )
        reference = np.asarray(table)
        whole = np.asarray(tf.nn.log_softmax(reference))
        for row, start in enumerate((1, 2)):
            pool = [([], 0.0)]
            for _ in range(3):
                longer = []
                for written, total in pool:
                    if END in written:
                        longer.append((written, total))
                        continue
                    last = [start, *written][-1] % 7
                    for token in np.argsort(-whole[last])[:3]:
                        more = total + whole[last, token]
                        longer.append(([*written, int(token)], more))
                pool = sorted(longer, key=lambda beam: -beam[1])[:3]
            expected = [markov.filled(written, 3) for written, _ in pool]
            assert tokens[row].numpy().tolist() == expected
            np.testing.assert_allclose(
                scores[row], [total for _, total in pool], 1e-5
            )


def test_one_trace_serves_all_batch_sizes(rng):
    traces = []

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 5, 5, 5]),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def run(table, start):
        traces.append(1)
        return beam(
            markov.step,
            markov.state(table, 6),
            batch_size=tf.shape(table)[0],
            max_length=6,
            start_id=start,
            end_id=END,
            width=3,
            length_penalty=0.6,
            num_results=2,
        )

    for rows in (3, 1, 4, 0):
        table = markov.tables(rng, rows, 5)
        start = np.ones(rows, "int32")
        tokens, scores = run(table, start)
        expected = search(table, start, 6, width=3, length_penalty=0.6)
        np.testing.assert_array_equal(tokens[:, :1], expected[0])
        assert scores.shape == (rows, 2)
    assert len(traces) == 1


def test_logits_of_nan_leave_a_row_without_results(rng):
    table = markov.tables(rng, 3, 5)
    start = np.ones(3, "int32")
    options = dict(width=3, num_results=2)
    tokens, scores = search(table, start, 6, **options)
    table[1] = np.nan
    hurt_tokens, hurt_scores, log_probs = search(
        table, start, 6, return_log_probs=True, **options
    )
    np.testing.assert_array_equal(hurt_tokens[[0, 2]], tokens[[0, 2]])
    np.testing.assert_array_equal(hurt_scores[[0, 2]], scores[[0, 2]])
    assert (hurt_tokens[1] == END).all()
    assert (hurt_scores[1] == -np.inf).all()
    assert (log_probs[1] == -np.inf).all()
    assert np.isfinite(log_probs[[0, 2]]).all()


def test_forbidden_ids_never_come(rng):
    table = markov.tables(rng, 30, 5)
    start = np.ones(30, "int32")
    tokens, _ = search(table, start, 6, width=3)
    assert (tokens == 2).any() and (tokens == 4).any()
    tokens, scores = search(table, start, 6, width=3, forbidden_ids=(2, 4))
    assert not np.isin(tokens, (2, 4)).any()
    table[..., [2, 4]] = -np.inf
    expected, expected_scores = search(table, start, 6, width=3)
    np.testing.assert_array_equal(tokens, expected)
    np.testing.assert_allclose(scores, expected_scores, 1e-6)


def test_without_an_end_all_rows_are_full(rng):
    tokens, scores = beam(
        markov.step,
        markov.state(markov.tables(rng, 2, 3), 4),
        batch_size=2,
        max_length=4,
        start_id=1,
        end_id=-1,
        width=5,
        num_results=5,
    )
    assert tokens.numpy().min() >= 0
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"width": 0}, "`width` must be an integer of at least 1"),
        ({"width": 2.0}, "`width` must be an integer"),
        ({"width": 2, "num_results": 3}, "`num_results` can be at most"),
        ({"num_results": 0}, "`num_results` must be"),
        ({"length_penalty": -1.0}, "`length_penalty` must be"),
        ({"max_length": 0}, "`max_length` must be"),
        ({"rule": "best"}, "`rule` must be one of"),
        ({"early_stopping": True}, "belongs to the rule"),
        (
            {"rule": "huggingface", "early_stopping": "maybe"},
            'must be False, True or "never"',
        ),
        (
            {"rule": "huggingface", "length_penalty": -np.inf},
            "`length_penalty` must be",
        ),
    ],
)
def test_settings_out_of_range_get_a_sentence(rng, options, complaint):
    settings = dict(batch_size=2, max_length=3, start_id=1, end_id=END)
    state = markov.state(markov.tables(rng, 2, 3), 3)
    with pytest.raises(ValueError, match=complaint):
        beam(markov.step, state, **settings | options)
