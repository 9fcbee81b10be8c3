import keras
import numpy as np
import pytest

from keras_attn import models
from keras_attn.training.recipes.glue import TASKS
from keras_attn.training.recipes.glue import glue_recipe

METRICS = {
    "glue/cola": ["matthews"],
    "glue/sst2": ["accuracy"],
    "glue/mrpc": ["accuracy", "f1"],
    "glue/qqp": ["accuracy", "f1"],
    "glue/stsb": ["pearson", "spearman"],
    "glue/mnli": ["accuracy"],
    "glue/qnli": ["accuracy"],
    "glue/rte": ["accuracy"],
    "glue/wnli": ["accuracy"],
}


@pytest.mark.parametrize("task", METRICS)
def test_texts_and_classes_are_those_of_tfds(task, tmp_path):
    import tensorflow_datasets as tfds

    known = tfds.builder(task, data_dir=tmp_path).info.features
    recipe = glue_recipe(task)
    names = recipe.source["features"]
    assert set(names.values()) == set(known) - {"idx"}
    assert names.keys() <= {"text", "text_pair", "label"}
    if recipe.labels is None:
        assert known["label"].dtype == np.float32
        assert recipe.model == {"head": "regression"}
    else:
        assert list(recipe.labels) == known["label"].names
        assert recipe.model["num_classes"] == len(recipe.labels)


def test_every_task_has_the_metrics_of_glue():
    assert TASKS.keys() == METRICS.keys()
    for task, names in METRICS.items():
        metrics = glue_recipe(task).compile["metrics"]
        assert [metric.name for metric in metrics] == names


def test_mnli_is_evaluated_on_both_of_its_parts():
    assert glue_recipe("glue/mnli").splits == (
        "validation_matched",
        "validation_mismatched",
    )
    assert glue_recipe("glue/rte").splits == ("validation",)


def small_model(task):
    return models.BERT(
        9,
        num_layers=2,
        num_heads=2,
        units=8,
        max_length=7,
        **glue_recipe(task).model,
    )


def test_the_optimizer_has_the_numbers_of_bert():
    # https://github.com/google-research/bert, optimization.py
    optimizer = glue_recipe("glue/cola").optimizer(200)
    config = optimizer.get_config()
    assert (config["beta_1"], config["beta_2"]) == (0.9, 0.999)
    assert (config["epsilon"], config["weight_decay"]) == (1e-6, 0.01)
    assert config["global_clipnorm"] == 1.0
    schedule = keras.saving.deserialize_keras_object(config["learning_rate"])
    rates = [float(schedule(step)) for step in (0, 19, 109, 199)]
    np.testing.assert_allclose(rates, [1e-6, 2e-5, 1e-5, 0], atol=1e-12)


def test_lower_layers_can_learn_more_slowly():
    model = small_model("glue/cola")
    optimizer = glue_recipe("glue/cola").optimizer(
        10, layers=model.encoder.blocks, layer_decay=0.5
    )
    optimizer.build(model.trainable_variables)
    rates = {
        variable.path.split("/")[1]: rate
        for variable, rate in zip(
            model.trainable_variables, optimizer.rates, strict=True
        )
        if variable.path.startswith(("encoder/block", "classification"))
    }
    assert rates == {"block_0": 0.25, "block_1": 0.5, "kernel": 1, "bias": 1}


@pytest.mark.slow
def test_a_model_trains_by_it(rng):
    task = "glue/stsb"
    recipe, model = glue_recipe(task), small_model(task)
    tokens = rng.integers(1, 9, size=(6, 7))
    inputs = {"tokens": tokens, "segments": np.zeros_like(tokens)}
    labels = rng.uniform(0, 5, size=6)
    model.compile(recipe.optimizer(4), **recipe.compile, jit_compile=False)
    history = model.fit(inputs, labels, batch_size=3, epochs=2, verbose=0)
    assert set(METRICS[task]) < history.history.keys()
    assert np.isfinite(list(history.history.values())).all()


@pytest.mark.parametrize(
    ("task", "complaint"),
    [
        ("glue/ax", "no labels: train on glue/mnli"),
        ("glue/mnli_matched", "no training split: glue/mnli"),
        ("cola", r"must be one of \('glue/cola'.*task='cola'"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(task, complaint):
    with pytest.raises(ValueError, match=complaint):
        glue_recipe(task)
    recipe = glue_recipe("glue/cola")
    with pytest.raises(ValueError, match=r"`steps`.*at least 1"):
        recipe.optimizer(0)
    with pytest.raises(ValueError, match="`warmup`"):
        recipe.optimizer(5, warmup=1.0)
