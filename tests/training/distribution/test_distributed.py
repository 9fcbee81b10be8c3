import keras
import numpy as np
import pytest

from keras_attn import models
from keras_attn.training import distributed


def classifier():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    model.compile("sgd", loss="mse", jit_compile=False)
    return model


def test_parts_of_a_batch_train_as_the_batch(rng):
    x, y = rng.normal(size=(2, 7, 3)), rng.normal(size=(2, 7, 2))
    results = []
    for parts in (1, 3):
        keras.utils.set_random_seed(1)
        model = distributed(classifier(), micro_batches=parts)
        history = model.fit(x[0], y[0], batch_size=5, epochs=2, verbose=0)
        results.append([*model.get_weights(), history.history["loss"]])
    for whole, parts in zip(*results, strict=True):
        np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-6)


def test_a_distributed_model_is_saved_and_cloned_as_what_it_was(tmp_path, rng):
    model = distributed(classifier())
    x = rng.normal(size=(4, 3))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.predict(x, verbose=0), model(x))
    assert keras.models.clone_model(model).count_params() == 8
    assert not hasattr(again, "micro_batches")


def test_a_model_that_has_it_keeps_its_class():
    model = models.ViT(
        image_size=4,
        patch_size=2,
        num_layers=1,
        num_heads=1,
        units=4,
        num_classes=2,
    )
    assert type(distributed(model, micro_batches=2)) is models.ViT
    assert model.micro_batches == 2


@pytest.mark.parametrize("parts", [1, 2])
def test_a_model_that_knows_no_shape_yet_is_built_by_fit(rng, parts):
    model = distributed(
        keras.Sequential([keras.layers.Dense(2)]), micro_batches=parts
    )
    model.compile("sgd", loss="mse", jit_compile=False)
    model.fit(rng.normal(size=(4, 3)), np.ones((4, 2)), verbose=0)
    assert model.count_params() == 8


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="micro_batches"):
        distributed(classifier(), micro_batches=0)
    with pytest.raises(TypeError, match="Dense"):
        distributed(keras.layers.Dense(1))
