import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.optimizers.lamb import Lamb
from tests.training.optimizers import updates

SETTINGS = {"weight_decay": 0.3, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 0.01}


def equation(weight, gradients, rate, *, adapted):
    """Algorithm 2 of the paper, in float64."""
    decay, b1, b2, epsilon = SETTINGS.values()
    m = v = np.zeros_like(weight)
    for n, g in enumerate(gradients, start=1):
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        r = m / (1 - b1**n) / (np.sqrt(v / (1 - b2**n)) + epsilon)
        if adapted:
            r = r + decay * weight
            norms = np.linalg.norm(weight), np.linalg.norm(r)
            r = r * (norms[0] / norms[1] if min(norms) > 0 else 1.0)
        weight = weight - rate * r
    return weight


def variable(value, name):
    return keras.Variable(value, dtype="float64", name=name)


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_matches_the_equation(jit_compile, rng):
    values = {
        "kernel": rng.normal(size=(3, 4)),
        "bias": rng.normal(size=4),
        "another_kernel": np.zeros((2, 3)),
    }
    variables = updates.make_variables(values)
    gradients = [
        [rng.normal(size=value.shape) for value in values.values()]
        for _ in range(4)
    ]
    optimizer = Lamb(0.1, **SETTINGS)
    updates.apply_updates(
        optimizer, variables, gradients, jit_compile=jit_compile
    )
    for index, (name, value) in enumerate(values.items()):
        expected = equation(
            value,
            [each[index] for each in gradients],
            # Keras holds the rate in single precision.
            float(np.float32(0.1)),
            adapted=name != "bias",
        )
        np.testing.assert_allclose(
            variables[index], expected, rtol=1e-6, err_msg=name
        )


def test_a_step_is_as_long_as_rate_times_weight(rng):
    weight = variable(rng.normal(size=(3, 4)), "kernel")
    before = np.array(weight)
    optimizer = Lamb(0.125)
    optimizer.apply([tf.constant(1e3 * rng.normal(size=(3, 4)))], [weight])
    np.testing.assert_allclose(
        np.linalg.norm(before - np.array(weight)),
        0.125 * np.linalg.norm(before),
        rtol=1e-6,
    )


def test_without_a_gradient_only_decay_moves_a_weight(rng):
    values = rng.normal(size=(3, 4))
    kernel, bias = variable(values, "kernel"), variable(values, "bias")
    zeros = tf.zeros((3, 4), "float64")
    Lamb(0.125, weight_decay=0.5).apply([zeros, zeros], [kernel, bias])
    # r = λ w, as long as w after it is adapted.
    np.testing.assert_allclose(kernel, 0.875 * values, rtol=1e-6)
    np.testing.assert_array_equal(bias, values)


def test_training_goes_on_after_saving_and_loading(rng, tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(Lamb(0.1, weight_decay=0.2, global_clipnorm=1.0), "mse")
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    for each in (model, loaded):
        each.fit(x, y, verbose=0)
    for old, new in zip(model.variables, loaded.variables, strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-6)
