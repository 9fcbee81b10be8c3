"""Which task a model is exported as."""

import inspect

import keras

from keras_attn.export.tasks.functional import FunctionalPrediction
from keras_attn.export.tasks.image_classification import ImageClassification
from keras_attn.export.tasks.mask_filling import MaskFilling
from keras_attn.export.tasks.task import Task
from keras_attn.export.tasks.text_classification import TextClassification
from keras_attn.export.tasks.text_embedding import TextEmbedding
from keras_attn.export.tasks.text_generation import TextGeneration
from keras_attn.export.tasks.text_regression import TextRegression
from keras_attn.export.tasks.token_classification import TokenClassification
from keras_attn.export.tasks.translation import Translation

# The first one whose `accepts(model)` is true is taken. What comes with
# `export_model` is passed to its constructor by name. The last accepts every
# functional model.
TASKS = (
    Translation,
    TextGeneration,
    MaskFilling,
    TextClassification,
    TextEmbedding,
    TextRegression,
    TokenClassification,
    ImageClassification,
    FunctionalPrediction,
)


def for_model(model: keras.Model, **settings) -> Task:
    """Make the task that a model was trained for.

    Args:
        model: A model that has been built.
        **settings: Arguments of the task, such as `tokenizer`; None stands
            for the task's own choice.

    Returns:
        The task.

    Raises:
        ValueError: If the model has no weights yet, if no task accepts it, or
            if its task does not take a setting.
    """
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} has no weights yet. Train it, or load "
            "its weights, and then export it."
        )
    for kind in TASKS:
        if kind.accepts(model):
            return kind(model, **_taken(kind, settings))
    raise ValueError(
        f"There is no task for {type(model).__name__} {model.name!r}. There "
        f"are: {', '.join(kind.__name__ for kind in TASKS)}. A generative "
        "model needs the methods `encode` and `step`; every other one must "
        "be functional, so that its inputs are known."
    )


def _taken(kind, settings):
    """The settings that were given, if the task takes them."""
    settings = {k: v for k, v in settings.items() if v is not None}
    parameters = inspect.signature(kind).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return settings
    # Everything is searched greedily unless it is told otherwise.
    if "search" not in parameters and settings.get("search") == "greedy":
        del settings["search"]
    unknown = sorted(settings.keys() - parameters.keys())
    if unknown:
        wanted = [name for name in parameters if name != "model"]
        raise ValueError(
            f"{kind.__name__} takes {', '.join(wanted)}. Received: "
            f"{', '.join(unknown)}"
        )
    return settings
