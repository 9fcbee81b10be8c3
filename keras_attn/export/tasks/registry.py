"""Which task a model is exported as."""

import inspect
from collections.abc import Callable

import keras

from keras_attn.export.tasks.functional import FunctionalPrediction
from keras_attn.export.tasks.images.captioning import Captioning
from keras_attn.export.tasks.images.image_classification import (
    ImageClassification,
)
from keras_attn.export.tasks.images.image_generation import ImageGeneration
from keras_attn.export.tasks.images.vision_language import VisionLanguage
from keras_attn.export.tasks.mask_filling import MaskFilling
from keras_attn.export.tasks.question_answering import QuestionAnswering
from keras_attn.export.tasks.sequence_prediction import SequencePrediction
from keras_attn.export.tasks.task import Task
from keras_attn.export.tasks.text_classification import TextClassification
from keras_attn.export.tasks.text_embedding import TextEmbedding
from keras_attn.export.tasks.text_generation import TextGeneration
from keras_attn.export.tasks.text_regression import TextRegression
from keras_attn.export.tasks.token_classification import TokenClassification
from keras_attn.export.tasks.translation import Translation
from keras_attn.models.bert.model import BERT
from keras_attn.models.gpt.model import GPT
from keras_attn.models.rnn_captioner.model import RNNCaptioner
from keras_attn.models.rnn_language_model.model import RNNLanguageModel
from keras_attn.models.rnn_seq2seq.model import RNNSeq2Seq
from keras_attn.models.sagan.model import SAGAN
from keras_attn.models.sequence_regressor.model import SequenceRegressor
from keras_attn.models.transformer.model import Transformer
from keras_attn.models.transformer_captioner.model import TransformerCaptioner
from keras_attn.models.vilbert.model import ViLBERT

_BY_HEAD = {
    head: task
    for task in (
        MaskFilling,
        QuestionAnswering,
        TextClassification,
        TextEmbedding,
        TextRegression,
        TokenClassification,
    )
    for head in task.HEADS
}

# A model's class, and its task or the function that chooses it.
_BY_CLASS: dict[type, type[Task] | Callable] = {
    Transformer: Translation,
    RNNSeq2Seq: Translation,
    GPT: TextGeneration,
    RNNCaptioner: Captioning,
    TransformerCaptioner: Captioning,
    BERT: lambda model: _BY_HEAD[model.config["head"]],
    # What it is conditioned on is numbers, which no text can hold.
    RNNLanguageModel: lambda model: (
        TextGeneration
        if model.config["condition"] is None
        else FunctionalPrediction
    ),
    SequenceRegressor: SequencePrediction,
    ViLBERT: VisionLanguage,
    SAGAN: ImageGeneration,
}

# For classes that nobody registered: what their methods and inputs tell.
_GENERATIVE = (Translation, Captioning, TextGeneration)
_PREDICTIVE = (ImageClassification, FunctionalPrediction)


def register_task(
    model_class: type[keras.Model], task: type[Task] | Callable
) -> None:
    """Say which task `export_model` takes for a class of models.

    It holds for subclasses too, unless they have one of their own, and
    replaces what was registered before. Only a model that speaks none of the
    known protocols needs it: one with `encode` and `step` is found by them,
    and a functional one by its inputs.

    Args:
        model_class: A subclass of `keras.Model`.
        task: A subclass of `Task`, which is made as `task(model, **settings)`
            with the arguments of `export_model`; or a function that takes the
            model and returns one.

    Raises:
        ValueError: If `model_class` is no class of models, or `task` neither.
    """
    if not inspect.isclass(model_class) or not issubclass(
        model_class, keras.Model
    ):
        raise ValueError(
            "`model_class` must be a subclass of `keras.Model`. Received: "
            f"model_class={model_class!r}"
        )
    is_task = inspect.isclass(task) and issubclass(task, Task)
    if not is_task and not inspect.isroutine(task):
        raise ValueError(
            "`task` must be a subclass of `Task`, or a function from a model "
            f"to one. Received: task={task!r}"
        )
    _BY_CLASS[model_class] = task


def for_model(model: keras.Model, **settings) -> Task:
    """Make the task that a model was trained for.

    Args:
        model: A model that has been built.
        **settings: Arguments of the task, such as `tokenizer`; None stands
            for the task's own choice.

    Returns:
        The task.

    Raises:
        ValueError: If the model has no weights yet, if no task fits it, or
            if its task does not take a setting.
    """
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} has no weights yet. Train it, or load "
            "its weights, and then export it."
        )
    task = _of_class(model) or _of_protocol(model)
    return task(model, **_taken(task, settings))


def _of_class(model):
    """The task that is registered for the nearest class of a model, if any."""
    for each in type(model).__mro__:
        if each in _BY_CLASS:
            task = _BY_CLASS[each]
            return task if inspect.isclass(task) else task(model)
    return None


def _of_protocol(model):
    """The task of a model that nobody registered, by what it can do."""
    writes = callable(getattr(model, "step", None))
    for task in _GENERATIVE if writes else _PREDICTIVE:
        if task.accepts(model):
            return task
    name = f"{type(model).__name__} {model.name!r}"
    register = (
        "or register a task of your own: "
        f"keras_attn.export.register_task({type(model).__name__}, ...)."
    )
    if writes:
        # Served as a prediction it would want the answer as its input.
        raise ValueError(
            f"{name} has `step`, so it writes token by token, but no "
            "generative task fits it. Translation needs `encode` and an input "
            '"source"; Captioning needs `encode` and an input "image" of known '
            "size; TextGeneration needs `encode` and `prompt`. Add what is "
            f"missing, {register} To serve one pass over given tokens, export "
            "keras.Model(model.inputs, model.outputs)."
        )
    raise ValueError(
        f"There is no task for {name}. A generative model needs the methods "
        "`encode` and `step`; every other one must be functional, so that its "
        f"inputs are known. Make it so, {register}"
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
