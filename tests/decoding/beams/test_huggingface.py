"""Beam search as transformers does it, against that library and its rule."""

import numpy as np
import pytest

from tests.decoding import peer_answers

CASES = {
    "plain": {"num_beams": 3, "length_penalty": 1.0},
    "shorter": {"num_beams": 4, "length_penalty": -1.0},
    "no_penalty": {"num_beams": 5, "length_penalty": 0.0, "num_results": 5},
    "stops_early": {
        "num_beams": 5,
        "length_penalty": 0.7,
        "early_stopping": True,
        "num_results": 3,
    },
    "never_stops": {
        "num_beams": 3,
        "length_penalty": 2.0,
        "early_stopping": "never",
        "num_results": 2,
    },
    "one_end": {
        "num_beams": 5,
        "length_penalty": 2.0,
        "eos_token_id": 9,
        "num_results": 5,
    },
    "penalties": {
        "num_beams": 3,
        "length_penalty": 0.7,
        "repetition_penalty": 1.4,
        "no_repeat_ngram_size": 2,
        "num_results": 3,
    },
    "forbidden": {
        "num_beams": 5,
        "length_penalty": 1.0,
        "suppress_tokens": [3, 11],
        "begin_suppress_tokens": [4, 5],
        "min_new_tokens": 3,
        "num_results": 2,
    },
}
FORCED = {
    "num_beams": 4,
    "length_penalty": 1.0,
    "forced_bos_token_id": 8,
    "forced_eos_token_id": 9,
    "begin_suppress_tokens": [4, 5],
    "eos_token_id": 9,
    "num_results": 3,
}


@pytest.fixture(scope="module", params=["gpt2", "bart"])
def models(request, tmp_path_factory):
    return getattr(peer_answers, request.param)(tmp_path_factory.mktemp("x"))


def check(models, settings):
    peer, inputs, model, start = models
    settings = {"eos_token_id": [9, 2, 14], **settings}
    wanted, wanted_scores = peer_answers.theirs(peer, inputs, **settings)
    tokens, scores = peer_answers.ours(model, inputs, **settings, **start)
    np.testing.assert_array_equal(tokens, wanted)
    np.testing.assert_allclose(scores, wanted_scores, atol=1e-4)


@pytest.mark.peers
@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_equals_the_real_library(models, settings):
    check(models, settings)


@pytest.mark.peers
def test_forced_ids_equal_the_real_library(tmp_path):
    # In a language model, theirs is forced after prompts of one token only.
    check(peer_answers.bart(tmp_path), FORCED)
