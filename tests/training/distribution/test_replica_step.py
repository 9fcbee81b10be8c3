import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training import distributed
from keras_attn.training.distribution.replica_step import ReplicaStep
from keras_attn.training.distribution.replica_step import dense


def noisy_model():
    """A frozen layer, a moving average, a seed, and two kinds of gradients."""
    inputs = keras.Input((3,), dtype="int32")
    x = keras.layers.Embedding(6, 4)(inputs)
    x = keras.layers.Dense(4, trainable=False, name="frozen")(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.Dropout(0.5, seed=1)(x)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile(
        keras.optimizers.SGD(), loss="mse", metrics=["mae"], jit_compile=False
    )
    return model


def batch(rng):
    x = tf.constant(rng.integers(0, 6, (4, 3)), "int32")
    y = tf.constant(rng.normal(size=(4, 3, 1)), "float32")
    return x, y, None


def test_a_step_changes_nothing_and_returns_all(rng):
    model, data = noisy_model(), batch(rng)
    model._symbolic_build(data_batch=data)
    step = ReplicaStep(model, training=True)
    before = [x.numpy() for x in model.variables + model.metrics_variables]
    loss, losses, gradients, state = step(
        step.values(), data, [tf.constant(12.0)], tf.constant(1.0)
    )
    after = [x.numpy() for x in model.variables + model.metrics_variables]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(loss, losses[0])
    assert [x.path.split("/")[0] for x in step.fixed] == ["frozen", "frozen"]
    changed = {step.state[i].path.split("/")[-1] for i in step.changed}
    assert {"moving_mean", "moving_variance"} < changed
    assert "seed_generator_state" in changed

    # The same numbers as Keras' own step.
    trained = [x.numpy() for x in step.trained]
    model.train_on_batch(*data[:2])
    for i in step.changed:
        np.testing.assert_allclose(step.state[i], state[i], rtol=1e-5)
    for new, old, gradient in zip(
        step.trained, trained, gradients, strict=True
    ):
        moved = old - 0.01 * dense(gradient)
        np.testing.assert_allclose(new, moved, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rows", [6, 7, 1])
def test_parts_add_up_to_the_batch(rng, rows):
    inputs = keras.Input((3,))
    x = keras.layers.Dense(4, "tanh", kernel_regularizer="l2")(inputs)
    model = distributed(keras.Model(inputs, keras.layers.Dense(2)(x)))
    model.compile(loss="mse", metrics=["mae"])
    x = tf.constant(rng.normal(size=(rows, 3)), "float32")
    y = tf.constant(rng.normal(size=(rows, 2)), "float32")
    model._symbolic_build(data_batch=(x, y, None))
    results = []
    for parts in (1, 3):
        step = ReplicaStep(model, training=True, micro_batches=parts)
        run = tf.function(step, autograph=False)
        results.append(
            run(
                step.values(),
                (x, y, None),
                [tf.constant(float(rows))],
                tf.constant(1.0),
            )
        )
    for whole, parts in zip(*map(tf.nest.flatten, results), strict=True):
        np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)


def test_rows_that_are_looked_up_twice_are_summed():
    parts = tf.IndexedSlices(
        tf.constant([[1.0], [2.0], [4.0]]),
        tf.constant([1, 1, 0]),
        tf.constant([3, 1]),
    )
    np.testing.assert_array_equal(dense(parts), [[4], [3], [0]])
    np.testing.assert_array_equal(dense(tf.ones(2)), [1, 1])
