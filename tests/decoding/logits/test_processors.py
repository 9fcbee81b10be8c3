"""What every search must keep to, against plain Python and the library."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import greedy
from keras_attn.decoding import sample
from keras_attn.decoding.logits.processors import Constraints
from keras_attn.decoding.logits.processors import looks_back
from tests.decoding import markov
from tests.decoding import peer_answers
from tests.decoding import transformers_rule

ROWS, VOCABULARY, LENGTH, ENDS = 20, 8, 7, (2, 0)
CASES = {
    "penalty": {"repetition_penalty": 2.5},
    "reward": {"repetition_penalty": 0.6},
    "runs": {"no_repeat_ngram_size": 2},
    "tokens": {"no_repeat_ngram_size": 1, "min_length": 3},
    "least": {"min_length": 4},
    "forbidden": {"forbidden_ids": (5, 0), "begin_forbidden_ids": (2, 6, 7)},
    "forced": {
        "forced_start_id": 3,
        "forced_end_id": 0,
        "begin_forbidden_ids": (2, 6, 7),
    },
    "all": {
        "repetition_penalty": 1.5,
        "no_repeat_ngram_size": 3,
        "forbidden_ids": (4,),
        "begin_forbidden_ids": (2, 6),
        "forced_end_id": 2,
        "min_length": 3,
    },
}
PEER_CASES = {
    "penalties": {"repetition_penalty": 1.4, "no_repeat_ngram_size": 2},
    "forbidden": {
        "suppress_tokens": [3, 11],
        "begin_suppress_tokens": [4, 5],
        "min_new_tokens": 3,
        "forced_eos_token_id": 14,
    },
}


@pytest.fixture
def table(rng):
    return markov.tables(rng, ROWS, VOCABULARY)


def settings(table, **options):
    return {
        "step": markov.step,
        "state": markov.state(table, LENGTH),
        "batch_size": len(table),
        "max_length": LENGTH,
        "start_id": 1,
        "end_id": ENDS,
        **options,
    }


@pytest.mark.parametrize("search", [greedy, sample], ids=["greedy", "sample"])
@pytest.mark.parametrize("constraints", CASES.values(), ids=CASES)
def test_equal_plain_python(constraints, search, table, rng):
    prompt = rng.integers(-2, VOCABULARY, size=(ROWS, 4))
    cold = {"temperature": 0} if search is sample else {}
    tokens = search(**settings(table, prompt=prompt, **constraints), **cold)
    free = search(**settings(table), **cold)
    assert np.any(tokens != free)
    for row in range(ROWS):
        wanted = transformers_rule.greedy(
            table[row],
            1,
            max_length=LENGTH,
            end_ids=ENDS,
            prompt=[token for token in prompt[row].tolist() if token >= 0],
            **constraints,
        )
        assert tokens[row].numpy().tolist() == wanted


def test_a_penalty_may_differ_from_row_to_row(table):
    penalty = np.linspace(0.5, 3, ROWS).astype("float32")
    tokens = greedy(**settings(table, repetition_penalty=penalty))
    for row in range(ROWS):
        alone = settings(
            table[row : row + 1], repetition_penalty=float(penalty[row])
        )
        np.testing.assert_array_equal(tokens[row], greedy(**alone)[0])


def test_what_was_drawn_keeps_its_own_probability(table):
    tokens, log_probs = greedy(
        **settings(table, repetition_penalty=3.0, return_log_probs=True)
    )
    for row in range(ROWS):
        for place in range(LENGTH):
            written = tokens[row].numpy().tolist()
            own = markov.log_probabilities(table[row], 1, written[:place])
            if not {*ENDS} & {*written[:place]}:
                wanted = own[written[place]]
                np.testing.assert_allclose(
                    log_probs[row, place], wanted, atol=1e-5
                )


def test_what_is_not_asked_for_is_no_op():
    none = Constraints(forbidden_ids=[3], forced_end_id=2, forced_start_id=1)
    assert none.processor(tf.constant([1]), (0,)) is None
    assert none.processor(tf.constant([1]), (0,), forbid=True) is not None
    assert none.ids == [3, 1, 2]
    assert not looks_back() and not looks_back(1.0, 0)
    assert looks_back(1.1) and looks_back(1.0, 2)
    assert looks_back(tf.constant([1.0])) and looks_back(np.ones(3))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"min_length": -1}, "`min_length` must be an integer of at least 0"),
        ({"no_repeat_ngram_size": 0.5}, "`no_repeat_ngram_size` must be"),
        ({"forced_start_id": -1}, "`forced_start_id` must be"),
        ({"forced_end_id": -1}, "`forced_end_id` must be"),
        ({"forbidden_ids": (-1,)}, "`forbidden_ids` must be"),
        ({"begin_forbidden_ids": (8,)}, "less than 8, .* Received: 8"),
        ({"repetition_penalty": 0}, "`repetition_penalty` must be more than"),
        ({"repetition_penalty": [1.0, 2.0]}, r"\(batch,\) = \(20,\)"),
        ({"end_id": ()}, "`end_id` must be an integer"),
        ({"end_id": (2, -1)}, "`end_id` must be an integer of at least 0"),
    ],
)
def test_mistakes_get_a_sentence(options, complaint, table):
    with pytest.raises(ValueError, match=complaint):
        greedy(**settings(table, **options))


@pytest.mark.peers
@pytest.mark.parametrize("model", ["gpt2", "bart"])
def test_equal_the_real_library(model, tmp_path):
    peer, inputs, model, start = getattr(peer_answers, model)(tmp_path)
    for constraints in PEER_CASES.values():
        constraints = {"eos_token_id": [14, 2], **constraints}
        wanted, _ = peer_answers.theirs(peer, inputs, **constraints)
        tokens, _ = peer_answers.ours(model, inputs, **constraints, **start)
        np.testing.assert_array_equal(tokens, wanted)
