import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.models.sagan import equations
from tests.models.sagan import small


def values(owner):
    return [np.array(x) for x in owner.variables]


def compiled(model, rates=(0.01, 0.01)):
    """Not as a graph, which would take longer to make than to run."""
    model.compile(
        *(keras.optimizers.SGD(rate, momentum=0.5) for rate in rates),
        run_eagerly=True,
    )
    return model


def dataset(rng, rows=8):
    data = tf.data.Dataset.from_tensor_slices(small.batch(rng, rows))
    return data.batch(4)


@pytest.mark.parametrize("name", ["generator", "discriminator"])
def test_each_network_has_an_optimizer_of_its_own(name, rng):
    rates = (0.1, 0.0) if name == "generator" else (0.0, 0.1)
    model = compiled(small.make(), rates)
    before = {
        each: [np.array(x) for x in getattr(model, each).trainable_variables]
        for each in ("generator", "discriminator")
    }
    logs = model.train_step(small.batch(rng))
    assert set(logs) == {"generator_loss", "discriminator_loss"}
    for each, weights in before.items():
        changed = [
            np.any(old != new)
            for old, new in zip(
                weights, getattr(model, each).trainable_variables, strict=True
            )
        ]
        assert any(changed) == (each == name)
    assert len(model.optimizer.variables) < len(model.variables)


def test_the_average_follows_the_generator(rng):
    model = compiled(small.make(average_decay=0.15))
    expected = values(model.average)
    for step in (1, 2):
        model.train_step(small.batch(rng))
        decay = min(0.15, (1 + step) / (10 + step))
        expected = [
            decay * old + (1 - decay) * new
            for old, new in zip(expected, values(model.generator), strict=True)
        ]
    for mean, wanted in zip(values(model.average), expected, strict=True):
        np.testing.assert_allclose(mean, wanted, rtol=1e-4, atol=1e-6)
    assert not model.average.trainable_variables


def test_losses_are_those_of_the_equation(rng):
    """Of `evaluate`, which trains nothing."""
    model = compiled(small.make())
    images, labels = small.batch(rng)
    drawn = {}
    draw = model._draw
    model._draw = lambda rows: drawn.setdefault("inputs", draw(rows))
    before = values(model)
    logs = model.test_step((images, labels))
    inputs = {name: np.array(x) for name, x in drawn["inputs"].items()}
    made = equations.generated(
        model.generator, inputs["noise"], inputs["class"], 32, (8,), (0, 1)
    )
    real, fake = (
        equations.scored(model.discriminator, x, y, (8,), (0, 1))
        for x, y in ((images, labels), (made, inputs["class"]))
    )
    hinges = np.maximum(0, 1 - real).mean() + np.maximum(0, 1 + fake).mean()
    np.testing.assert_allclose(logs["discriminator_loss"], hinges, rtol=1e-3)
    np.testing.assert_allclose(
        logs["generator_loss"], -fake.mean(), rtol=1e-2, atol=1e-4
    )
    weights = [
        (old, np.array(new))
        for old, new in zip(before, model.variables, strict=True)
        if "seed" not in new.path
    ]
    assert all((old == new).all() for old, new in weights)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["keras", "checkpoint"])
def test_training_goes_on_where_it_stopped(how, rng, tmp_path):
    """Both optimizers, the average and the random numbers included."""
    data = dataset(rng)
    model = compiled(small.make())
    model.fit(data, shuffle=False, verbose=0)
    if how == "keras":
        model.save(tmp_path / "model.keras")
        twin = keras.saving.load_model(tmp_path / "model.keras")
    else:
        path = str(tmp_path / "checkpoint")
        tf.train.Checkpoint(model=model).write(path)
        twin = compiled(small.make())
        tf.train.Checkpoint(model=twin).read(path).assert_consumed()
    assert twin.run_eagerly
    for each in (model, twin):
        each.fit(data, shuffle=False, verbose=0)
    for name in ("variables", "optimizer", "discriminator_optimizer"):
        owners = [getattr(each, name) for each in (model, twin)]
        one, other = (getattr(x, "variables", x) for x in owners)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert int(twin.discriminator_optimizer.iterations) == 4


@pytest.mark.slow
def test_fit_takes_callbacks_and_validation_in_a_graph(rng, tmp_path):
    model = small.make(num_classes=None)
    model.compile(jit_compile=False)
    assert float(model.optimizer.learning_rate) == pytest.approx(1e-4)
    rate = model.discriminator_optimizer.learning_rate
    assert float(rate) == pytest.approx(4e-4)
    path = tmp_path / "best.weights.h5"
    seen = []
    history = model.fit(
        dataset(rng).map(lambda images, _: images),
        validation_data=dataset(rng).map(lambda images, _: images),
        epochs=2,
        shuffle=False,
        verbose=0,
        callbacks=[
            keras.callbacks.ModelCheckpoint(path, save_weights_only=True),
            keras.callbacks.LambdaCallback(
                on_epoch_end=lambda *_: seen.append(model.generate([1, 2]))
            ),
        ],
    )
    assert set(history.history) == {
        *("generator_loss", "discriminator_loss"),
        *("val_generator_loss", "val_discriminator_loss"),
    }
    assert path.exists() and len(seen) == 2
    assert np.abs(seen[0] - seen[1]).max() > 0
    twin = small.make(num_classes=None)
    twin.load_weights(path)
    np.testing.assert_allclose(twin.generate([1, 2]), seen[1], atol=1e-5)


def test_half_precision_scales_both_losses(rng):
    model = small.make(dtype="mixed_float16")
    model.compile()
    for optimizer in (model.optimizer, model.discriminator_optimizer):
        assert isinstance(optimizer, keras.optimizers.LossScaleOptimizer)


def test_refuses_images_of_another_size(rng):
    model = compiled(small.make(num_classes=None))
    with pytest.raises(ValueError, match=r"\(32, 32, 1\).*Resize them"):
        model.train_step(np.zeros((2, 16, 16, 1), "float32"))
