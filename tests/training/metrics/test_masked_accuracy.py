import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.metrics.masked_accuracy import MaskedAccuracy
from tests.training import cases


def guesses(tokens):
    """Logits whose greatest stands at the given ids."""
    return 5 * np.eye(cases.VOCABULARY)[tokens] - 1


def test_is_the_share_of_right_tokens_among_real_ones():
    metric = MaskedAccuracy()
    # Right, wrong, right at padding, wrong at padding, right.
    metric.update_state([[3, 4, 0, 0, 1]], guesses([[3, 5, 0, 2, 1]]))
    assert float(metric.result()) == pytest.approx(2 / 3)


def test_without_a_pad_id_everything_counts():
    metric = MaskedAccuracy(None)
    metric.update_state([[3, 4, 0, 0, 1]], guesses([[3, 5, 0, 2, 1]]))
    assert float(metric.result()) == pytest.approx(3 / 5)


def test_batches_count_by_their_real_tokens():
    metric = MaskedAccuracy()
    metric.update_state([[3, 0, 0, 0]], guesses([[3, 1, 1, 1]]))
    metric.update_state([[1, 2, 3, 4]], guesses([[5, 5, 5, 5]]))
    assert float(metric.result()) == pytest.approx(1 / 5)
    metric.reset_state()
    metric.update_state([[3, 4]], guesses([[3, 5]]))
    assert float(metric.result()) == pytest.approx(1 / 2)


def test_weights_and_keras_masks_are_heeded():
    metric = MaskedAccuracy()
    logits = tf.constant(guesses([[3, 5, 1], [2, 2, 2]]))
    logits._keras_mask = tf.constant([[True, True, False], [True, True, True]])
    metric.update_state([[3, 4, 1], [2, 1, 0]], logits, [1.0, 3.0])
    assert float(metric.result()) == pytest.approx((1 + 3) / (2 + 6))


def test_before_the_first_real_label_it_is_zero():
    metric = MaskedAccuracy()
    assert float(metric.result()) == 0.0
    metric.update_state([[0, 0]], guesses([[0, 0]]))
    metric.update_state(np.zeros((0, 2), "int32"), np.zeros((0, 2, 7)))
    assert float(metric.result()) == 0.0


def test_padding_may_hold_nan():
    logits = guesses([[3, 5]])
    logits[0, 1] = np.nan
    metric = MaskedAccuracy()
    metric.update_state([[3, 0]], logits.astype("float16"))
    assert float(metric.result()) == 1.0


def test_counts_single_tokens_among_millions():
    metric = MaskedAccuracy()
    for variable in metric.variables:
        variable.assign(2.0**24)
    metric.update_state([[3]], guesses([[3]]))
    assert float(metric.count.numpy()) == 2**24 + 1


@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
def test_works_in_a_graph(compiled, rng):
    labels, logits = cases.padded_batch(rng)
    metric = MaskedAccuracy()
    update = tf.function(metric.update_state, jit_compile=compiled)
    update(labels, logits)
    real = cases.real_positions()
    expected = (logits.argmax(-1) == labels)[real].mean()
    assert float(metric.result()) == pytest.approx(expected)
    assert metric.result().dtype == "float32"


def test_the_config_is_the_constructor():
    metric = MaskedAccuracy(3, name="right")
    arguments = inspect.signature(MaskedAccuracy).parameters
    assert metric.get_config().keys() == arguments.keys()
    config = keras.saving.serialize_keras_object(metric)
    assert config["registered_name"] == "keras_attn>MaskedAccuracy"
    again = keras.saving.deserialize_keras_object(config)
    assert again.get_config() == metric.get_config()


def test_rejects_a_pad_id_that_is_no_number():
    with pytest.raises(ValueError, match="`pad_id` must be an integer"):
        MaskedAccuracy(0.5)
