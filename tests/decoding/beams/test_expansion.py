"""One step of all beams."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.beams.expansion import Expansion
from keras_attn.decoding.beams.expansion import only_first
from keras_attn.decoding.logits.processors import Constraints
from keras_attn.decoding.state import StateLayout

BATCH, WIDTH, NUMBER, VOCABULARY, LENGTH = 2, 3, 4, 6, 5
ROWS = BATCH * WIDTH


def expansion(logits, *, number=NUMBER, renormalise=True, last=4, **rules):
    return Expansion(
        lambda token, state, index: (tf.constant(logits), state),
        StateLayout({"a": tf.zeros([ROWS, 2])}, ROWS),
        start_id=tf.constant([1, 2]),
        batch_size=BATCH,
        max_length=LENGTH,
        width=WIDTH,
        number=number,
        end_ids=(5, 0),
        last=last,
        constraints=Constraints(**rules),
        renormalise=renormalise,
        with_log_probs=True,
    )


def step(expand, index=0):
    written = expand.blank()
    leaves = expand.layout.leaves
    values, new, after = expand(expand.start, leaves, written, index)
    assert [leaf.shape for leaf in after] == [(ROWS, 2)]
    return values.numpy(), new["tokens"].numpy(), new["log_probs"].numpy()


@pytest.fixture
def logits(rng):
    return rng.normal(size=(ROWS, VOCABULARY)).astype("float32")


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def test_the_likeliest_come_first(logits):
    values, ids, own = step(expansion(logits))
    order = np.argsort(-logits)[:, :NUMBER]
    np.testing.assert_array_equal(ids, order)
    wanted = np.take_along_axis(log_softmax(logits), order, 1)
    np.testing.assert_allclose(own, wanted, atol=1e-6)
    np.testing.assert_allclose(values, wanted.reshape(2, 3, 4), atol=1e-6)
    assert step(expansion(logits, number=99))[1].shape == (ROWS, VOCABULARY)


@pytest.mark.parametrize("renormalise", [False, True])
def test_what_is_forbidden_leaves_its_probability_or_not(logits, renormalise):
    rules = {"forbidden_ids": (2, 4), "renormalise": renormalise}
    values, ids, own = step(expansion(logits, **rules))
    assert not np.isin(ids, [2, 4]).any()
    np.testing.assert_allclose(
        own, np.take_along_axis(log_softmax(logits), ids, 1), atol=1e-6
    )
    total = np.exp(values).sum(-1)
    assert (np.allclose(total, 1), (total < 0.99).all()) == (
        renormalise,
        not renormalise,
    )


def test_what_is_forced_has_one_value_and_its_own_probability(logits):
    rules = {"forced_start_id": 3, "forced_end_id": 5}
    for index, forced in ((0, 3), (2, None), (4, 5)):
        values, ids, own = step(expansion(logits, **rules), index)
        assert (ids == forced).all() == (forced is not None)
        if forced is not None:
            assert (values == only_first(NUMBER).numpy()).all()
            wanted = log_softmax(logits)[:, [forced] * NUMBER]
            np.testing.assert_allclose(own, wanted, atol=1e-6)
    # Each row has its own last index.
    limits = tf.constant([[2], [4]])
    _, ids, _ = step(expansion(logits, last=limits, **rules), 2)
    assert (ids[:WIDTH] == 5).all() and not (ids[WIDTH:] == 5).all()


def test_what_stands_after_the_index_has_not_come(logits):
    # Rows are blank with END, 5, which has not come; the start has.
    rules = {"no_repeat_ngram_size": 1, "number": 99}
    values, ids, _ = step(expansion(logits, **rules))
    gone = [set(row[np.isinf(value)]) for row, value in flat(ids, values)]
    assert gone == [{1}] * WIDTH + [{2}] * WIDTH


def flat(ids, values):
    return zip(ids, values.reshape(ROWS, -1), strict=True)


def test_rows_go_on_from_the_rows_they_follow(logits):
    expand = expansion(logits)
    written = expand.blank()
    assert (written["tokens"].numpy() == 5).all()
    new = {
        "tokens": tf.range(ROWS),
        "log_probs": -tf.range(ROWS, dtype=tf.float32),
    }
    written = expand.write(written, tf.range(ROWS), new, 0)
    rows = tf.constant([2, 2, 0, 5, 3, 3])
    written = expand.write(written, rows, new, 1)
    assert written["tokens"][:, :3].numpy().tolist() == [
        [row, place, 5] for place, row in enumerate(rows.numpy())
    ]
    assert written["log_probs"][1].numpy().tolist() == [-2, -1, 0, 0, 0]
