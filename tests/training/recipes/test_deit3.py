import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import data
from keras_attn import models
from keras_attn.training.losses.multi_label_crossentropy import (
    MultiLabelCrossentropy,
)
from keras_attn.training.recipes.deit3 import SIZES
from keras_attn.training.recipes.deit3 import deit3_recipe


def test_has_the_numbers_of_the_published_commands():
    # https://github.com/facebookresearch/deit, README_revenge.md
    rates = {"s16": 0.05, "b16": 0.2, "l16": 0.45, "h14": 0.6}
    sides = {"s16": 224, "b16": 192, "l16": 192, "h14": 160}
    peaks = {"s16": 4e-3, "b16": 3e-3, "l16": 3e-3, "h14": 3e-3}
    for size, rate in rates.items():
        recipe = deit3_recipe(f"deit3-{size}", 10)
        assert set(recipe.model["stochastic_depth"]) == {rate}
        assert recipe.model["image_size"] == sides[size]
        optimizer = recipe.compile["optimizer"].get_config()
        schedule = optimizer["learning_rate"]["config"]
        assert schedule["peak"] == peaks[size]
        assert schedule["warmup_steps"] == 5 * 10
        assert schedule["total_steps"] == 800 * 10
        assert optimizer["weight_decay"] == 0.05
        assert optimizer["global_clipnorm"] == 1.0
        assert isinstance(recipe.compile["loss"], MultiLabelCrossentropy)
        assert recipe.three_augment["jitter"] == 0.3
        assert recipe.mixup_or_cutmix == {
            "mixup_alpha": 0.8,
            "cutmix_alpha": 1.0,
        }


def test_there_is_one_for_each_preset():
    presets = {
        name: preset["num_layers"]
        for name, preset in models.ViT.presets.items()
        if name.startswith("deit3")
    }
    depths = {
        name: len(deit3_recipe(name, 1).model["stochastic_depth"])
        for name in SIZES
    }
    assert depths == presets


def test_positions_tokens_and_vectors_are_not_decayed():
    optimizer = deit3_recipe("deit3-s16", 1).compile["optimizer"]
    model = small_model()
    optimizer.build(model.trainable_variables)
    adapted = {
        variable.path.rsplit("/", 1)[1]
        for variable, each in zip(
            model.trainable_variables, optimizer.is_adapted, strict=True
        )
        if each
    }
    assert adapted == {"kernel"}


def small_model(**options):
    sizes = {"num_layers": 1, "num_heads": 2, "units": 8, "hidden_dim": 12}
    return models.ViT.from_preset(
        "deit3-s16",
        **{"image_size": 8, **options},
        patch_size=4,
        num_classes=3,
        **sizes,
    )


@pytest.mark.slow
def test_a_model_trains_by_it(rng):
    recipe = deit3_recipe("deit3-s16", 2, epochs=2, warmup_epochs=1)
    model = small_model(stochastic_depth=recipe.model["stochastic_depth"][:1])
    model.compile(**recipe.compile)
    images = rng.uniform(size=(12, 8, 8, 3)).astype("float32")
    batches = tf.data.Dataset.from_tensor_slices(
        (images, rng.integers(3, size=12, dtype="int32"))
    ).batch(6, drop_remainder=True)
    batches = data.augment(batches, data.three_augment(**recipe.three_augment))
    batches = data.mixup_or_cutmix(batches, 3, **recipe.mixup_or_cutmix)
    history = model.fit(batches, epochs=2, shuffle=False, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    assert model.optimizer.iterations == 4


def test_a_longer_or_shorter_run_has_the_whole_schedule():
    recipe = deit3_recipe("deit3-b16", 3, epochs=7, warmup_epochs=2)
    schedule = keras.saving.deserialize_keras_object(
        recipe.compile["optimizer"].get_config()["learning_rate"]
    )
    np.testing.assert_allclose(schedule(2 * 3 - 1), 3e-3)
    np.testing.assert_allclose(schedule(7 * 3 - 1), 1e-5)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(("b16", 10), "deit3-b16"), (("deit3-b16", 0), "`steps_per_epoch`")],
)
def test_refuses_what_there_is_none_of(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        deit3_recipe(*arguments)
