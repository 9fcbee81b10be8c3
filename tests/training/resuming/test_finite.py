import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.resuming.finite import LossCheck
from keras_attn.training.resuming.finite import losses

NAN = {"loss": tf.constant(np.nan)}


def test_losses_are_found_by_name():
    logs = {
        "loss": tf.constant(1.5),
        "generator_loss": np.float32(2),
        "val_loss": 3.0,
        "mae": 4.0,
        "per_class_loss": np.ones(3),
    }
    assert losses(logs) == {"loss": 1.5, "generator_loss": 2.0}
    assert losses(None) == losses(tf.constant(1.0)) == {}


def test_a_loss_is_looked_at_one_step_late():
    check = LossCheck(lambda: "run/step-4.state")
    check.later(5, {"loss": tf.constant(1.0)})
    check.later(6, NAN)
    with pytest.raises(FloatingPointError, match=r"step 6\..*run/step-4.state"):
        check.later(7, NAN)


def test_what_waits_can_be_looked_at_now():
    check = LossCheck(lambda: None)
    check.flush()
    check.later(1, {"loss": -np.inf})
    with pytest.raises(FloatingPointError, match=r"-inf after step 1.*no c"):
        check.flush()
    check.flush()
