import numpy as np
import pytest
import tensorflow as tf

from keras_attn import decoding
from keras_attn.export.graph.search import Search
from tests.decoding import markov
from tests.decoding import transformers_rule

ROWS, VOCABULARY, START, LENGTH = 4, 5, 3, 6


class Writer:
    """A model that has nothing but steps."""

    step = staticmethod(markov.step)


@pytest.fixture
def table(rng):
    return markov.tables(rng, ROWS, VOCABULARY)


def search(name="greedy", **options):
    return Search(
        Writer(),
        name,
        max_length=LENGTH,
        end_id=markov.END,
        options=options,
    )


def run(find, table, *arguments, limits=LENGTH):
    """Call a method of a search in a graph of any batch size."""
    limits = np.broadcast_to(limits, [len(table)]).astype("int32")

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, *array.shape[1:]], array.dtype)
            for array in (table, limits, *arguments)
        ],
        autograph=False,
    )
    def graph(table, limits, *arguments):
        start_id = tf.fill([tf.shape(table)[0]], START)
        state = markov.state(table, LENGTH)
        return find(state, start_id, limits, *arguments)

    found = graph(table, limits, *arguments)
    return tf.nest.map_structure(lambda tensor: tensor.numpy(), found)


def log_probability(table, tokens):
    return sum(
        markov.log_probabilities(table, START, tokens[:place])[token]
        for place, token in enumerate(tokens)
    )


def until_end(tokens):
    tokens = list(tokens)
    return tokens[: [*tokens, markov.END].index(markov.END) + 1]


def check_scores(found, table):
    for row, tokens in enumerate(found["tokens"]):
        written = until_end(tokens)
        assert found["lengths"][row] == len(written)
        wanted = log_probability(table[row], written)
        np.testing.assert_allclose(
            found["log_probability"][row], wanted, rtol=1e-5
        )


def test_greedy_search_tells_how_likely_its_answers_are(table):
    found = run(search().find, table)
    wanted = [markov.greedy(row, START, LENGTH) for row in table]
    assert found["tokens"].tolist() == wanted
    assert len({len(until_end(tokens)) for tokens in wanted}) > 1
    check_scores(found, table)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_beam_search_tells_the_sum_without_its_penalty(table, length_penalty):
    options = {"width": 3, "length_penalty": length_penalty}
    found = run(search("beam", **options).find, table)
    for row, tokens in enumerate(found["tokens"].tolist()):
        beams = markov.beam(table[row], START, max_length=LENGTH, **options)
        assert tokens == beams[0][0]
    check_scores(found, table)


def test_what_is_forbidden_keeps_its_probability(table):
    for name in ("greedy", "beam"):
        found = run(search(name, forbidden_ids=[1]).find, table)
        assert 1 not in found["tokens"]
        check_scores(found, table)


def test_sampling_has_one_answer_for_a_row_wherever_it_stands(table):
    found = run(search("sample", seed=0).find, table)
    check_scores(found, table)
    shuffled = run(search("sample").find, table[::-1])
    assert shuffled["tokens"].tolist() == found["tokens"].tolist()[::-1]
    other = run(search("sample", seed=8).find, table)
    assert other["tokens"].tolist() != found["tokens"].tolist()


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_a_row_ends_at_its_limit_and_that_end_is_not_counted(table, name):
    endless = table.copy()
    endless[:, :, :, markov.END] = -9.0
    limits = np.array([0, 2, LENGTH - 1, LENGTH])
    found = run(search(name).find, endless, limits=limits)
    whole = run(search(name).find, endless)
    for row, limit in enumerate(limits):
        tokens = found["tokens"][row]
        assert (tokens[limit:] == markov.END).all()
        assert (tokens[:limit] != markov.END).all()
        if name != "beam":  # which may prefer another beginning
            assert (tokens[:limit] == whole["tokens"][row, :limit]).all()
        np.testing.assert_allclose(
            found["log_probability"][row],
            log_probability(endless[row], list(tokens[:limit])),
            rtol=1e-5,
        )
    assert found["lengths"].tolist() == limits.tolist()


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_a_forced_end_comes_last_within_the_limit(table, name, monkeypatch):
    endless = table.copy()
    endless[:, :, :, markov.END] = -9.0
    limits = np.array([0, 2, LENGTH - 1, LENGTH])
    monkeypatch.setattr(Writer, "forced_end_id", markov.END, raising=False)
    found = run(search(name).find, endless, limits=limits)
    for row, limit in enumerate(limits):
        tokens = found["tokens"][row]
        last = max(limit - 1, 0)
        assert (tokens[last:] == markov.END).all()
        assert (tokens[:last] != markov.END).all()
        np.testing.assert_allclose(
            found["log_probability"][row],
            log_probability(endless[row], list(tokens[:limit])),
            rtol=1e-5,
        )
    assert found["lengths"].tolist() == limits.tolist()


def test_each_row_is_drawn_in_its_own_way(table):
    temperature = np.array([0, 0.5, 1, 2], "float32")
    seed = np.array([5, 5, 6, 7], "int64")
    drawn = run(search("beam", width=2).draw, table, temperature, seed)
    check_scores(drawn, table)
    assert drawn["tokens"][0].tolist() == markov.greedy(table[0], START, LENGTH)
    for row in range(ROWS):
        alone = decoding.sample(
            markov.step,
            markov.state(table[row : row + 1], LENGTH),
            batch_size=1,
            max_length=LENGTH,
            start_id=START,
            end_id=markov.END,
            temperature=float(temperature[row]),
            seed=seed[row : row + 1],
        )
        assert drawn["tokens"][row].tolist() == alone[0].numpy().tolist()


def test_draws_keep_the_options_that_sampling_has(table):
    heat = np.full([ROWS], 3.0, "float32")
    seed = np.arange(ROWS)
    cold = run(search("sample", top_k=1).draw, table, heat, seed)
    assert cold["tokens"].tolist() == [
        markov.greedy(row, START, LENGTH) for row in table
    ]
    never = run(search("beam", forbidden_ids=[1, 2]).draw, table, heat, seed)
    assert not np.isin(never["tokens"], [1, 2]).any()


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_any_of_several_ends_is_counted_once(rng, name):
    table = markov.tables(rng, 20, VOCABULARY)
    found = run(search(name, end_id=[2, markov.END]).find, table)
    ends = set()
    for row, tokens in enumerate(found["tokens"].tolist()):
        places = [x for x, token in enumerate(tokens) if token in (2, 0)]
        length = min([place + 1 for place in places] + [LENGTH])
        assert found["lengths"][row] == length
        assert set(tokens[length:]) <= {2}
        ends.add(tokens[length - 1])
        np.testing.assert_allclose(
            found["log_probability"][row],
            log_probability(table[row], tokens[:length]),
            rtol=1e-5,
        )
    assert {0, 2} <= ends


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_prompts_count_for_a_search_that_reads_them(table, name):
    made = search(name, no_repeat_ngram_size=1)
    assert made.reads_prompts and not search(name).reads_prompts
    prompt = np.array([[1, -1], [2, 4], [4, 1], [-1, 2]], "int32")

    def find(state, start_id, limits, prompt):
        return made.find(state, start_id, limits, prompt)

    def draw(state, start_id, limits, prompt):
        heat = tf.ones(tf.shape(limits)[0])
        seed = tf.zeros_like(limits, tf.int64)
        return made.draw(state, start_id, limits, heat, seed, prompt)

    for method in (find, draw):
        tokens = run(method, table, prompt)["tokens"]
        for row in range(ROWS):
            new = until_end(tokens[row])
            assert not {*prompt[row], START} & {*new}
            assert len(new) == len({*new})


def test_beams_may_follow_the_rule_of_transformers(table):
    options = {"width": 3, "length_penalty": -1.0, "early_stopping": True}
    found = run(search("beam", rule="huggingface", **options).find, table)
    for row, tokens in enumerate(found["tokens"].tolist()):
        answers = transformers_rule.beam(
            table[row], START, max_length=LENGTH, end_ids=[0], **options
        )
        assert tokens == answers[0][0]
    check_scores(found, table)


def test_no_row_is_no_trouble(table):
    for name in ("greedy", "sample", "beam"):
        assert run(search(name).find, table[:0])["tokens"].shape == (0, LENGTH)


def test_settings_without_meaning_are_refused():
    with pytest.raises(ValueError, match="must be one of"):
        search("best")
    with pytest.raises(
        ValueError, match=r"takes begin_forbidden_ids, .*penalty\. Rec"
    ):
        search("greedy", width=2)
    with pytest.raises(ValueError, match="Received: num_results"):
        search("beam", num_results=2)
    with pytest.raises(ValueError, match="`begin_forbidden_ids` must be an"):
        search("greedy", begin_forbidden_ids=["<s>"])
    with pytest.raises(ValueError, match="`end_id` must be an integer"):
        search("greedy", end_id="</s>")
    with pytest.raises(ValueError, match="`top_k` must be a number"):
        search("sample", top_k=[1, 2])
