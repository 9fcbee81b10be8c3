import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.accelerator.functional import functional_step
from tests.training.accelerator.functional_steps import both
from tests.training.accelerator.functional_steps import check
from tests.training.accelerator.functional_steps import traced


def test_a_variable_that_is_only_read_is_not_returned():
    matrix, count = tf.Variable(tf.ones((5, 3))), tf.Variable(2)
    x = tf.ones((4, 3))

    def step(x):
        count.assign_add(1)
        return matrix @ tf.transpose(x)

    graph, updated = functional_step(traced(step, x))
    assert len(updated) == 1
    assert len(graph.node[-1].attr["Tout"].list.type) == 2
    check(step, [matrix, count], x)


def test_a_training_step_is_the_same_step(rng):
    model = keras.Sequential(
        [
            keras.layers.Embedding(11, 4),
            keras.layers.GRU(3, seed=0),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.3, seed=1),
            keras.layers.Dense(1),
        ]
    )
    model.build((5, 7))
    model.compile(keras.optimizers.Adam(0.1), "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    ids = tf.constant(rng.integers(11, size=(5, 7)), "int32")
    labels = tf.constant(rng.normal(size=(5, 1)), "float32")
    model._maybe_symbolic_build(data_batch=(ids, labels))
    variables = [
        x.value
        for x in [
            *model.variables,
            *model.optimizer.variables,
            *model.metrics_variables,
        ]
    ]
    step = tf.autograph.experimental.do_not_convert(
        lambda ids, labels: model.train_step((ids, labels))
    )
    found, wanted = both(step, variables, ids, labels)
    # The seed, statistics, weights, moments and metrics.
    assert len(wanted) > 3 * len(model.trainable_variables)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_what_has_no_value_is_refused():
    keys, numbers = tf.constant(["a"]), tf.constant([1])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, numbers), 0
    )
    with pytest.raises(ValueError, match=r"variables only.*LookupInterface"):
        functional_step(traced(table.lookup, keys))
