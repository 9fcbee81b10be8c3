"""The textbook's rule under constraints, against plain Python."""

import numpy as np
import pytest

from keras_attn.decoding import beam
from tests.decoding import markov
from tests.decoding import transformers_rule

ROWS, VOCABULARY, LENGTH, START, ENDS = 20, 7, 6, 1, (3, 0)
CASES = {
    "several_ends": {},
    "penalties": {"repetition_penalty": 1.6, "no_repeat_ngram_size": 2},
    "least": {"min_length": 3, "begin_forbidden_ids": (4, 6)},
    "forced": {"forced_start_id": 5, "forced_end_id": 0},
}


@pytest.mark.parametrize("length_penalty", [0.0, 1.3])
@pytest.mark.parametrize("constraints", CASES.values(), ids=CASES)
def test_constraints_change_log_probabilities(constraints, length_penalty, rng):
    table = markov.tables(rng, ROWS, VOCABULARY)
    prompt = rng.integers(-1, VOCABULARY, size=(ROWS, 3))
    common = {"width": 3, "length_penalty": length_penalty}
    tokens, scores = beam(
        markov.step,
        markov.state(table, LENGTH),
        batch_size=ROWS,
        max_length=LENGTH,
        start_id=START,
        end_id=ENDS,
        num_results=3,
        prompt=prompt,
        **common,
        **constraints,
    )
    for row in range(ROWS):
        earlier = [token for token in prompt[row].tolist() if token >= 0]

        def changed(values, written, earlier=earlier):
            return transformers_rule.constrained(
                values,
                [*earlier, START, *written],
                len(written),
                max_length=LENGTH,
                end_ids=ENDS,
                **constraints,
            )

        wanted = markov.beam(
            table[row],
            START,
            max_length=LENGTH,
            ends=ENDS,
            changed=changed,
            **common,
        )
        for rank, (answer, score) in enumerate(wanted):
            np.testing.assert_allclose(scores[row, rank], score, atol=1e-4)
            assert tokens[row, rank].numpy().tolist() == answer
