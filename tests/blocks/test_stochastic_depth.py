import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.blocks.stochastic_depth import StochasticDepth
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 3, 4)).astype("float32")


def test_contract(inputs, tmp_path):
    check_layer(
        StochasticDepth,
        {"rate": 0.5, "seed": 3},
        {"inputs": inputs},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),  # it looks at no other position
    )
    check_mask_goes_on(StochasticDepth(0.5), inputs)


def test_outside_of_training_it_does_nothing(inputs):
    layer = StochasticDepth(0.9)
    np.testing.assert_array_equal(layer(inputs), inputs)
    np.testing.assert_array_equal(layer(inputs, training=False), inputs)
    nothing = StochasticDepth(0.0)(inputs, training=True)
    np.testing.assert_array_equal(nothing, inputs)


@pytest.mark.parametrize("shape", [(3,), (3, 4), (3, 4, 2)])
def test_an_example_is_kept_whole_or_left_out_whole(shape, rng):
    x = rng.normal(size=(40, *shape)).astype("float32")
    output = StochasticDepth(0.25, seed=1)(x, training=True).numpy()
    kept = np.any(output.reshape(40, -1), axis=1)
    assert 0 < kept.sum() < 40
    np.testing.assert_array_equal(output[~kept], 0.0)
    np.testing.assert_allclose(output[kept], x[kept] / 0.75, rtol=1e-6)


def test_the_mean_stays():
    x = np.ones((20000, 1), "float32")
    output = StochasticDepth(0.25, seed=1)(x, training=True)
    # The standard deviation of this mean is 0.004.
    assert abs(np.mean(output) - 1) < 0.02
    assert abs(np.mean(output == 0) - 0.25) < 0.02


def test_draws_follow_the_seed_and_go_on():
    x = np.ones((50, 2), "float32")
    layer, twin = (StochasticDepth(0.5, seed=5) for _ in range(2))
    once, again = (layer(x, training=True) for _ in range(2))
    np.testing.assert_array_equal(twin(x, training=True), once)
    assert np.any(once != again)


def test_the_batch_may_be_unknown(inputs):
    symbolic = keras.Input((None, 4))
    output = StochasticDepth(0.5)(symbolic, training=True)
    model = keras.Model(symbolic, output)
    run = tf.function(model, input_signature=[tf.TensorSpec([None, None, 4])])
    for example, kept in zip(inputs, run(inputs), strict=True):
        assert np.all(kept == 0) or np.allclose(kept, 2 * example)


@pytest.mark.parametrize("rate", [1.0, -0.1])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ValueError, match=f"`rate` must.*rate={rate}"):
        StochasticDepth(rate)
