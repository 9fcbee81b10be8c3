"""What `TPUStrategy` compiles, asked of the TPU's compiler."""

import keras
import pytest
import tensorflow as tf

from keras_attn import models
from keras_attn import training
from keras_attn.training.distribution import replicas

pytestmark = pytest.mark.accelerator


# Random numbers cost the compiler most of its time.
@pytest.mark.parametrize(("micro_batches", "dropout"), [(1, 0.1), (2, 0.0)])
def test_all_that_a_replica_does_compiles_as_one(
    monkeypatch, micro_batches, dropout
):
    # Without a TPU there is no `TPUStrategy`; this one has one replica too.
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    monkeypatch.setattr(replicas, "compiles_whole_steps", lambda model: True)
    with strategy.scope():
        model = models.GPT(
            300,
            num_layers=1,
            num_heads=2,
            units=128,
            max_length=128,
            dropout=dropout,
            dtype="mixed_bfloat16",
        )
        model.compile(
            keras.optimizers.Adam(global_clipnorm=1.0),
            loss=training.MaskedCrossentropy(),
            metrics=[training.MaskedAccuracy()],
            jit_compile=True,
        )
    training.distributed(model, micro_batches=micro_batches)
    ids = tf.TensorSpec((8, 128), "int32")
    check = training.accelerator_check_model(
        model, (ids, ids), target="v5e:2x2"
    )
    assert check.fits, check.reason
    # Weights and two moments of each, and little else.
    state = 3 * 4 * model.count_params()
    assert state < check.argument_bytes < 1.1 * state
