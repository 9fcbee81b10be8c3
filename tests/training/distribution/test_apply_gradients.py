import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.distribution.apply_gradients import apply_gradients


@pytest.mark.parametrize("limit", [{}, {"global_clipnorm": 0.5}])
def test_one_replica_updates_as_without_a_strategy(rng, limit):
    gradients = [tf.constant(rng.normal(size=(3, 2)), "float32"), None]
    results = []
    for strategy in (None, tf.distribute.OneDeviceStrategy("/cpu:0")):
        scope = strategy or tf.distribute.get_strategy()
        with scope.scope():
            weights = [keras.Variable(np.ones((3, 2))) for _ in range(2)]
            optimizer = keras.optimizers.SGD(1.0, **limit)
            optimizer.build(weights)
        with pytest.warns(UserWarning, match="Gradients do not exist"):
            if strategy is None:
                optimizer.apply(gradients, weights)
            else:
                strategy.run(
                    apply_gradients, args=(optimizer, gradients, weights)
                )
        results.append([x.numpy() for x in weights])
    np.testing.assert_allclose(*results, rtol=1e-6)
    np.testing.assert_array_equal(results[0][1], 1)
