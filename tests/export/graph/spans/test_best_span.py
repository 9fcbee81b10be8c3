import numpy as np
import pytest

from keras_attn.export.graph.spans.best_span import best_span


def by_hand(start, end, legal, longest):
    """Every span of one row, one after the other, in float64."""
    counts = legal.copy()
    counts[0] = True

    def softmax(logits):
        exps = np.exp(logits.astype("float64") - logits[counts].max()) * counts
        return exps / exps.sum()

    start, end = softmax(start), softmax(end)
    best = (-1.0, None, None)
    for i in np.flatnonzero(legal):
        for j in np.flatnonzero(legal):
            if i <= j < i + longest and start[i] * end[j] > best[0]:
                best = (start[i] * end[j], i, j)
    return *best, start[0] * end[0]


@pytest.mark.parametrize("longest", [1, 3, 20])
def test_the_best_of_all_legal_spans_is_found(longest, rng):
    start, end = rng.normal(size=(2, 40, 11), scale=2).astype("float32")
    # The question comes first, and padding last.
    places = np.arange(11)
    legal = (places > rng.integers(0, 6, (40, 1))) & (
        places < rng.integers(7, 12, (40, 1))
    )
    found = best_span(start, end, legal, longest=longest)
    for row, (first, last, score, null) in enumerate(zip(*found, strict=True)):
        expected = by_hand(start[row], end[row], legal[row], longest)
        assert (first, last) == expected[1:3]
        np.testing.assert_allclose(score, expected[0], rtol=1e-4)
        np.testing.assert_allclose(null, expected[3], rtol=1e-4)


def test_a_legal_span_is_found_even_if_none_is_probable():
    logits = np.array([[500.0, 3.0, -80.0, 2.0]], "float32")
    legal = np.array([[False, False, True, True]])
    first, last, score, null = best_span(logits, logits, legal, longest=2)
    assert (first.numpy(), last.numpy()) == ([3], [3])
    assert score.numpy() == 0 and null.numpy() == 1


@pytest.mark.peers
def test_scores_are_those_of_transformers(rng):
    from tests.models import peers

    peers.transformers()
    from transformers.pipelines import document_question_answering as peer

    start, end = rng.normal(size=(2, 20, 9), scale=2).astype("float32")
    legal = np.tile(np.arange(9) > 3, (20, 1))
    legal[::2, 7:] = False
    found = best_span(start, end, legal, longest=3)
    for row, (first, last, score, null) in enumerate(zip(*found, strict=True)):
        p_mask = 1 - legal[row].astype(int)
        p_mask[0] = 0  # the first token counts, but is no answer
        starts, ends, scores, lowest = peer.select_starts_ends(
            start[row : row + 1],
            end[row : row + 1],
            p_mask[np.newaxis],
            None,
            handle_impossible_answer=True,
            max_answer_len=3,
        )
        assert (first, last) == (starts[0], ends[0])
        np.testing.assert_allclose(score, scores[0], rtol=1e-4)
        np.testing.assert_allclose(null, lowest, rtol=1e-4)
