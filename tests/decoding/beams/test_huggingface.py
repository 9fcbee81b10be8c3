"""Beam search as transformers does it, against that library and its rule."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import beam
from tests.decoding import markov
from tests.decoding import peer_answers
from tests.decoding import transformers_rule

ENDS = (2, 0)
# (width, length_penalty, early_stopping, number of ends)
RULES = [
    (3, 1.0, False, 2),
    (4, -1.0, False, 1),
    (5, 0.0, True, 2),
    (3, 0.7, "never", 1),
    (1, 2.0, "never", 2),
    (2, -1.0, "never", 2),
    (4, 2.0, True, 1),
    (5, 2.0, False, 2),
]
CONSTRAINTS = {
    "repetition_penalty": 1.5,
    "no_repeat_ngram_size": 2,
    "forbidden_ids": (5,),
    "begin_forbidden_ids": (6, 4),
    "min_length": 2,
}
ROWS, VOCABULARY, LENGTH = 20, 8, 7


def searched(table, start, *, length=LENGTH, jit_compile=False, **settings):
    """All results of every row, in a graph that knows no batch size."""
    batch = ROWS if jit_compile else None

    @tf.function(
        input_signature=[
            tf.TensorSpec([batch, *table.shape[1:]]),
            tf.TensorSpec([batch], tf.int32),
        ],
        autograph=False,
        jit_compile=jit_compile,
    )
    def run(table, start):
        return beam(
            markov.step,
            markov.state(table, length),
            batch_size=batch or tf.shape(table)[0],
            max_length=length,
            start_id=start,
            rule="huggingface",
            **{"num_results": settings["width"]} | settings,
        )

    return tf.nest.map_structure(np.asarray, run(table, start))


@pytest.fixture
def table(rng):
    return markov.tables(rng, ROWS, VOCABULARY)


@pytest.fixture
def start(rng):
    return rng.integers(VOCABULARY, size=ROWS).astype("int32")


def check_rows(found, table, start, *, max_length=LENGTH, **settings):
    """Hold every row to the rule in plain Python."""
    lengths = np.broadcast_to(max_length, len(table))
    prompts = settings.pop("prompt", [()] * len(table))
    for row, (tokens, scores) in enumerate(zip(*found[:2], strict=True)):
        wanted = transformers_rule.beam(
            table[row],
            int(start[row]),
            max_length=lengths[row],
            prompt=[token for token in prompts[row] if token >= 0],
            **settings,
        )
        for rank, (answer, score) in enumerate(wanted[: len(tokens)]):
            assert tokens[rank, : lengths[row]].tolist() == answer
            assert (
                tokens[rank, lengths[row] :] == settings["end_ids"][0]
            ).all()
            np.testing.assert_allclose(scores[rank], score, atol=1e-4)
        assert (scores[len(wanted) :] == -np.inf).all()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_equals_the_rule_in_plain_python(rule, table, start):
    width, length_penalty, early_stopping, number = rule
    settings = {
        "width": width,
        "length_penalty": length_penalty,
        "early_stopping": early_stopping,
    }
    found = searched(table, start, end_id=ENDS[:number], **settings)
    assert len({len(set(row[0])) for row in found[0].tolist()}) > 1
    check_rows(found, table, start, end_ids=ENDS[:number], **settings)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_constraints_act_on_log_probabilities(jit_compile, table, start, rng):
    settings = {"width": 3, "length_penalty": 0.7, **CONSTRAINTS}
    # What is no token may stand anywhere, and breaks no run.
    prompt = rng.integers(-3, VOCABULARY, size=(ROWS, 5))
    if jit_compile:
        found = searched(
            table,
            start,
            jit_compile=True,
            end_id=ENDS,
            prompt=prompt,
            **settings,
        )
    else:
        found = beam(
            markov.step,
            markov.state(table, LENGTH),
            batch_size=ROWS,
            max_length=LENGTH,
            start_id=start,
            end_id=ENDS,
            rule="huggingface",
            num_results=3,
            prompt=prompt,
            **settings,
        )
        found = [each.numpy() for each in found]
    check_rows(
        found, table, start, end_ids=ENDS, prompt=prompt.tolist(), **settings
    )


def test_forced_ids_cost_nothing(table, start):
    settings = {
        "width": 4,
        "length_penalty": 1.0,
        "forced_start_id": 6,
        "forced_end_id": 2,
        "begin_forbidden_ids": (3, 4),
    }
    found = searched(table, start, end_id=ENDS, **settings)
    assert (found[0][:, :, 0] == 6).all()
    check_rows(found, table, start, end_ids=ENDS, **settings)


def test_a_row_with_a_limit_is_as_if_that_were_the_length(table, start):
    limits = (np.arange(ROWS) % (LENGTH + 1)).astype("int32")
    settings = {
        "width": 3,
        "length_penalty": 2.0,
        "early_stopping": "never",
    }
    tokens, scores = searched(
        table, start, end_id=ENDS, limits=limits, **settings
    )
    none = limits == 0
    assert (tokens[none] == ENDS[0]).all()
    assert (scores[none] == [0, -np.inf, -np.inf]).all()
    check_rows(
        (tokens[~none], scores[~none]),
        table[~none],
        start[~none],
        max_length=limits[~none],
        end_ids=ENDS,
        **settings,
    )


def test_a_row_does_not_depend_on_its_neighbours(table, start):
    search = functools.partial(
        searched, end_id=ENDS, width=3, length_penalty=1.0, **CONSTRAINTS
    )
    tokens, scores = search(table, start)
    some = [7, 2, 11]
    alone, its_scores = search(table[some], start[some])
    np.testing.assert_array_equal(alone, tokens[some])
    np.testing.assert_allclose(its_scores, scores[some], rtol=1e-6)
    assert search(table[:0], start[:0])[0].shape == (0, 3, LENGTH)


def test_log_probabilities_and_states_are_those_of_the_results(table, start):
    tokens, _, log_probs, state = searched(
        table,
        start,
        end_id=ENDS,
        width=3,
        length_penalty=0.0,
        num_results=2,
        repetition_penalty=1.5,
        return_log_probs=True,
        return_state=True,
    )
    history = state.carried["history"].reshape(ROWS, 2, LENGTH)
    for row in range(ROWS):
        for rank in range(2):
            answer = tokens[row, rank].tolist()
            ends = [answer.index(end) for end in ENDS if end in answer]
            length = min([place + 1 for place in ends] + [LENGTH])
            wanted = [
                markov.log_probabilities(
                    table[row], int(start[row]), answer[:place]
                )[token]
                for place, token in enumerate(answer[:length])
            ]
            wanted += [0.0] * (LENGTH - length)
            np.testing.assert_allclose(log_probs[row, rank], wanted, atol=1e-5)
            # The end itself was not fed.
            fed = [start[row], *answer[: length - 1]]
            assert history[row, rank, :length].tolist() == fed
            assert (history[row, rank, length:] == -1).all()


FORBIDDEN = {
    "suppress_tokens": [3, 11],
    "begin_suppress_tokens": [4, 5],
    "min_new_tokens": 3,
}
PENALTIES = {"repetition_penalty": 1.4, "no_repeat_ngram_size": 2}
# (model, width, length_penalty, early_stopping, further settings)
PEERS = [
    ("gpt2", 3, 1.0, False, {}),
    ("gpt2", 5, -1.0, False, FORBIDDEN),
    ("gpt2", 5, 0.7, True, PENALTIES),
    ("gpt2", 3, 2.0, "never", {"eos_token_id": 9}),
    ("bart", 5, 0.0, False, PENALTIES),
    ("bart", 3, 2.0, False, FORBIDDEN),
    # In a language model, theirs forces a start after one token only.
    (
        *("bart", 4, 1.0, True),
        {
            "forced_bos_token_id": 8,
            "forced_eos_token_id": 9,
            "begin_suppress_tokens": [4, 5],
        },
    ),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return {
        name: getattr(peer_answers, name)(tmp_path_factory.mktemp(name))
        for name in ("gpt2", "bart")
    }


@pytest.mark.peers
@pytest.mark.parametrize("case", PEERS, ids=str)
def test_equals_the_real_library(models, case):
    name, width, length_penalty, early_stopping, further = case
    peer, inputs, model, start = models[name]
    settings = {
        "num_beams": width,
        "length_penalty": length_penalty,
        "early_stopping": early_stopping,
        "num_results": width,
        "eos_token_id": [9, 2, 14],
        **further,
    }
    wanted, wanted_scores = peer_answers.theirs(peer, inputs, **settings)
    tokens, scores = peer_answers.ours(model, inputs, **settings, **start)
    np.testing.assert_array_equal(tokens, wanted)
    np.testing.assert_allclose(scores, wanted_scores, atol=1e-4)
