import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.metrics.perplexity import Perplexity
from tests.training import cases


def test_is_the_exponential_of_the_mean_crossentropy(rng):
    labels, logits = cases.padded_batch(rng)
    metric = Perplexity()
    metric.update_state(labels, logits)
    mean = cases.mean_crossentropy(labels, logits, cases.real_positions())
    assert float(metric.result()) == pytest.approx(np.exp(mean), rel=1e-6)


def test_of_equal_probabilities_is_the_vocabulary():
    metric = Perplexity()
    metric.update_state([[1, 4, 0]], np.full((1, 3, 7), 2.5))
    assert float(metric.result()) == pytest.approx(7.0)


def test_labels_count_alike_whatever_their_batch(rng):
    labels, logits = cases.padded_batch(rng)
    whole, parts = Perplexity(), Perplexity()
    whole.update_state(labels, logits)
    each = []
    for row in range(2):
        parts.update_state(labels[row : row + 1], logits[row : row + 1])
        alone = Perplexity()
        alone.update_state(labels[row : row + 1], logits[row : row + 1])
        each.append(float(alone.result()))
    assert float(parts.result()) == pytest.approx(float(whole.result()))
    assert float(parts.result()) != pytest.approx(np.mean(each), rel=1e-3)
    parts.reset_state()
    parts.update_state(labels[1:], logits[1:])
    assert float(parts.result()) == pytest.approx(each[1])


def test_weights_and_keras_masks_are_heeded(rng):
    labels, logits = cases.padded_batch(rng)
    mask = np.ones((2, 6), bool)
    mask[1, 0] = False
    given = np.array([0.5, 3.0])
    tensor = tf.constant(logits)
    tensor._keras_mask = tf.constant(mask)
    metric = Perplexity()
    metric.update_state(labels, tensor, given)
    weights = cases.real_positions() * mask * given[:, None]
    expected = np.exp(cases.mean_crossentropy(labels, logits, weights))
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)


def test_without_a_pad_id_everything_counts(rng):
    labels, logits = cases.padded_batch(rng)
    metric = Perplexity(None)
    metric.update_state(labels, logits)
    mean = cases.mean_crossentropy(labels, logits, np.ones((2, 6)))
    assert float(metric.result()) == pytest.approx(np.exp(mean), rel=1e-6)


def test_before_the_first_real_label_it_is_zero():
    metric = Perplexity()
    assert float(metric.result()) == 0.0
    metric.update_state([[0, 0]], np.ones((1, 2, 3), "float32"))
    metric.update_state(np.zeros((0, 2), "int32"), np.zeros((0, 2, 3)))
    assert float(metric.result()) == 0.0


def test_padding_may_hold_nan_and_logits_be_great():
    logits = np.array([[[6e4, -6e4], [np.nan, np.inf]]], "float16")
    metric = Perplexity(pad_id=1)
    metric.update_state([[0, 1]], logits)
    assert float(metric.result()) == 1.0


def test_counts_single_tokens_among_millions():
    metric = Perplexity()
    metric.count.assign(2.0**24)
    metric.update_state([[1]], np.ones((1, 1, 3), "float32"))
    assert float(metric.count.numpy()) == 2**24 + 1


@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
def test_works_in_a_graph(compiled, rng):
    labels, logits = cases.padded_batch(rng)
    eager, graph = Perplexity(), Perplexity()
    eager.update_state(labels, logits)
    tf.function(graph.update_state, jit_compile=compiled)(labels, logits)
    assert float(graph.result()) == pytest.approx(float(eager.result()))
    assert graph.result().dtype == "float32"


def test_the_config_is_the_constructor():
    metric = Perplexity(3, name="wavering")
    arguments = inspect.signature(Perplexity).parameters
    assert metric.get_config().keys() == arguments.keys()
    config = keras.saving.serialize_keras_object(metric)
    assert config["registered_name"] == "keras_attn>Perplexity"
    again = keras.saving.deserialize_keras_object(config)
    assert again.get_config() == metric.get_config()


def test_rejects_a_pad_id_that_is_no_number():
    with pytest.raises(ValueError, match="`pad_id` must be an integer"):
        Perplexity(0.5)
