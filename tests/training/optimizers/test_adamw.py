import keras
import numpy as np
import pytest

from keras_attn.training.optimizers.adamw import AdamW
from tests.training.optimizers import updates

RATE, DECAY, B1, B2, EPSILON = 0.125, 0.3, 0.8, 0.95, 1e-12


def equation(weight, gradients, *, factor, decayed):
    """Algorithm 2 of the paper, in float64."""
    m = v = np.zeros_like(weight)
    for n, g in enumerate(gradients, start=1):
        m = B1 * m + (1 - B1) * g
        v = B2 * v + (1 - B2) * g**2
        step = m / (1 - B1**n) / (np.sqrt(v / (1 - B2**n)) + EPSILON)
        weight = weight - factor * RATE * (step + decayed * DECAY * weight)
    return weight


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_matches_the_equation(jit_compile, rng):
    values = {
        "kernel": rng.normal(size=(3, 4)),
        "bias": rng.normal(size=(2, 4)),
        "gamma": rng.normal(size=5),
        "slow_kernel": rng.normal(size=(4, 2)),
    }
    variables = updates.make_variables(values)
    gradients = [
        [rng.normal(size=value.shape) for value in values.values()]
        for _ in range(4)
    ]
    optimizer = AdamW(
        RATE,
        weight_decay=DECAY,
        beta_1=B1,
        beta_2=B2,
        epsilon=EPSILON,
        rates={variables[-1].path: 0.25},
    )
    updates.apply_updates(
        optimizer, variables, gradients, jit_compile=jit_compile
    )
    for index, (name, value) in enumerate(values.items()):
        expected = equation(
            value,
            [each[index] for each in gradients],
            factor=0.25 if name == "slow_kernel" else 1.0,
            decayed=name.endswith("kernel"),
        )
        np.testing.assert_allclose(
            variables[index], expected, rtol=1e-5, err_msg=name
        )


def test_all_of_it_is_saved_with_a_model(rng, tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    rates = {model.layers[0].kernel.path: 0.5}
    model.compile(AdamW(0.1, weight_decay=0.2, rates=rates), "mse")
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    assert loaded.optimizer.rates == [0.5, 1.0]
    for each in (model, loaded):
        each.fit(x, y, verbose=0)
    for old, new in zip(model.variables, loaded.variables, strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-6)


def test_rates_of_another_model_are_refused():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    optimizer = AdamW(rates={"elsewhere/kernel": 0.5})
    with pytest.raises(ValueError, match=r"elsewhere/kernel.*that is trained"):
        optimizer.build(model.trainable_variables)
    with pytest.raises(ValueError, match="3 numbers for 2 weights"):
        AdamW(rates=[1.0, 1.0, 0.5]).build(model.trainable_variables)
