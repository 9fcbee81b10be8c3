"""Given answers, scored in one pass and by steps."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.scoring import score
from keras_attn.models import GPT
from keras_attn.models import Transformer
from tests.decoding import markov
from tests.models.stepping import set_random
from tests.models.stepping import step_through

ROWS, VOCABULARY, START, LENGTH = 4, 5, 3, 6
LENGTHS = np.array([1, 3, LENGTH, 0], "int32")


class Writer:
    """A model that has nothing but steps."""

    step = staticmethod(markov.step)
    encode = staticmethod(markov.state)


@pytest.fixture
def answers(rng):
    return rng.integers(VOCABULARY, size=(ROWS, LENGTH)).astype("int32")


@pytest.mark.parametrize("start", [START, [START] * ROWS], ids=["one", "each"])
def test_equals_the_definition(rng, answers, start):
    table = markov.tables(rng, ROWS, VOCABULARY)
    found = score(Writer(), table, answers, start_id=start, lengths=LENGTHS)
    assert found.shape == (ROWS, LENGTH)
    for row, length in enumerate(LENGTHS):
        given = answers[row, :length].tolist()
        wanted = [
            markov.log_probabilities(table[row], START, given[:place])[token]
            for place, token in enumerate(given)
        ]
        np.testing.assert_allclose(found[row, :length], wanted, rtol=1e-5)
        assert not np.any(found[row, length:])


def stepped(model, inputs, answers, start):
    """Log-probabilities by one step after the other, in NumPy."""
    fed = np.concatenate([np.reshape(start, (ROWS, 1)), answers], axis=1)
    state = model.encode(inputs, LENGTH)
    logits, _ = step_through(model, state, fed[:, :-1])
    logits = logits.astype("float64")
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    picked = np.take_along_axis(logits, answers[:, :, None], axis=-1)[..., 0]
    return np.where(np.arange(LENGTH) < LENGTHS[:, None], picked, 0)


@pytest.fixture
def no_steps(monkeypatch):
    """A function after which a kind of model cannot go step by step."""

    def fail(*arguments):
        raise AssertionError("one pass needs no step")

    return lambda kind: monkeypatch.setattr(kind, "step", fail)


@pytest.mark.parametrize("window", [None, 3])
def test_a_gpt_goes_on_from_ragged_prompts_in_one_pass(
    rng, answers, window, no_steps
):
    model = GPT(
        VOCABULARY,
        num_layers=1,
        num_heads=2,
        units=8,
        max_length=10,
        attention={"sliding_window": window},
        tie_embeddings=window is None,
    )
    set_random(model, rng)
    prompts = tf.ragged.constant([[1, 2, 3], [4], [2, 1, 4, 3], [3, 3]])
    inputs, start = model.prompt(prompts)
    wanted = stepped(model, inputs, answers, start)
    no_steps(GPT)
    found = score(model, inputs, answers, start_id=start, lengths=LENGTHS)
    assert (answers == 0).any(), "padding among what is given"
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_transformer_reads_its_memory_in_one_pass(rng, answers, no_steps):
    model = Transformer(VOCABULARY, num_layers=1, num_heads=2, units=8)
    set_random(model, rng)
    source = np.array([[1, 2, 3, 0], [4, 0, 0, 0], [2, 1, 4, 3], [3, 1, 0, 0]])
    wanted = stepped(model, {"source": source}, answers, [START] * ROWS)
    no_steps(Transformer)
    assert (answers == 0).any(), "padding among what is given"
    memory = model.memory(source)
    for inputs in ({"source": source}, {"source": source, "memory": memory}):
        found = score(model, inputs, answers, start_id=START, lengths=LENGTHS)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_steps_need_to_know_their_number(rng):
    table = markov.tables(rng, ROWS, VOCABULARY)

    @tf.function(input_signature=[tf.TensorSpec([ROWS, None], tf.int32)])
    def run(answers):
        return score(Writer(), table, answers, start_id=1, lengths=LENGTHS)

    with pytest.raises(ValueError, match="Writer has no `teacher_forced`"):
        run(tf.ones([ROWS, 2], tf.int32))
