"""How BERT is fine-tuned on the tasks of GLUE."""

import dataclasses
from collections.abc import Sequence

import keras

from keras_attn.base import argument_checks
from keras_attn.training.metrics.f1 import F1
from keras_attn.training.metrics.matthews import MatthewsCorrelation
from keras_attn.training.metrics.pearson import PearsonCorrelation
from keras_attn.training.metrics.spearman import SpearmanCorrelation
from keras_attn.training.optimizers.adamw import AdamW
from keras_attn.training.optimizers.layer_rates import layer_rates
from keras_attn.training.schedules.warmup_linear import WarmupLinear

# TFDS' names of the texts and, in the order of their numbers, of the classes;
# a task without classes is a regression.
TASKS = {
    "glue/cola": (("sentence",), ("unacceptable", "acceptable")),
    "glue/sst2": (("sentence",), ("negative", "positive")),
    "glue/mrpc": (("sentence1", "sentence2"), ("not_equivalent", "equivalent")),
    "glue/qqp": (("question1", "question2"), ("not_duplicate", "duplicate")),
    "glue/stsb": (("sentence1", "sentence2"), ()),
    "glue/mnli": (
        ("premise", "hypothesis"),
        ("entailment", "neutral", "contradiction"),
    ),
    "glue/qnli": (("question", "sentence"), ("entailment", "not_entailment")),
    "glue/rte": (("sentence1", "sentence2"), ("entailment", "not_entailment")),
    "glue/wnli": (("sentence1", "sentence2"), ("not_entailment", "entailment")),
}
# What cannot be trained on, and why.
_HALF = "has no training split: glue/mnli evaluates both of its parts"
NOT_TRAINED = {
    "glue/ax": "has no labels: train on glue/mnli, and predict it",
    "glue/mnli_matched": _HALF,
    "glue/mnli_mismatched": _HALF,
}
RATE, WARMUP = 2e-5, 0.1
WEIGHT_DECAY, CLIP_NORM, EPSILON = 0.01, 1.0, 1e-6


@dataclasses.dataclass(frozen=True)
class GlueRecipe:
    """What a fine-tuning is made of.

    Args:
        source: Arguments for `data.from_tfds`, beside name and split.
        splits: The splits to evaluate on.
        labels: Names of the classes; None for a regression.
        model: Arguments for `with_head` or `from_huggingface` of a BERT.
        compile: Arguments for the model's `compile`, beside the optimizer.
    """

    source: dict
    splits: tuple
    labels: tuple | None
    model: dict
    compile: dict

    def optimizer(
        self,
        steps: int,
        *,
        learning_rate: float = RATE,
        warmup: float = WARMUP,
        layers: Sequence = (),
        layer_decay: float = 1.0,
    ) -> AdamW:
        """Make the optimizer of a run.

        Args:
            steps: Updates in all; the paper's are three epochs.
            learning_rate: The peak; the paper chose from 2e-5 to 5e-5.
            warmup: The share of the steps in which the rate rises.
            layers, layer_decay: As for `layer_rates`; without layers all
                have one rate.
        """
        argument_checks.integer(steps, "steps", at_least=1)
        argument_checks.rate(warmup, "warmup")
        return AdamW(
            WarmupLinear(learning_rate, int(warmup * steps), steps),
            weight_decay=WEIGHT_DECAY,
            epsilon=EPSILON,
            global_clipnorm=CLIP_NORM,
            rates=layer_rates(layers, layer_decay),
        )


def glue_recipe(task: str) -> GlueRecipe:
    """What BERT is fine-tuned with on a task of GLUE.

        loss = cross-entropy of the classes; for STS-B (score - output)²
        rate(n) = peak · n / warm, then in a straight line to 0

        recipe = glue_recipe("glue/cola")
        examples = data.from_tfds("glue/cola", **recipe.source)
        model = bert.with_head(**recipe.model)
        model.compile(recipe.optimizer(steps=800), **recipe.compile)

    Metrics are GLUE's: Matthews' correlation for CoLA, Pearson's and
    Spearman's for STS-B, accuracy and F1 for MRPC and QQP, accuracy for the
    others.

    Args:
        task: A name of TFDS: "glue/" and cola, sst2, mrpc, qqp, stsb, mnli,
            qnli, rte or wnli.

    Returns:
        A `GlueRecipe` for labels of (batch,) and outputs of (batch, classes),
        or (batch, 1) for STS-B.

    Reference:
        Devlin et al. 2019, section 4.1, and its code for the numbers.
        https://arxiv.org/abs/1810.04805
        Wang et al. 2019, table 1. https://arxiv.org/abs/1804.07461
    """
    if task in NOT_TRAINED:
        raise ValueError(f"{task} {NOT_TRAINED[task]}.")
    argument_checks.choice(task, "task", TASKS)
    texts, labels = TASKS[task]
    features = dict(zip(("text", "text_pair"), texts, strict=False))
    if labels:
        model = {"head": "classification", "num_classes": len(labels)}
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    else:
        model, loss = {"head": "regression"}, keras.losses.MeanSquaredError()
    both = ("validation_matched", "validation_mismatched")
    return GlueRecipe(
        source={"features": {**features, "label": "label"}},
        splits=both if task == "glue/mnli" else ("validation",),
        labels=labels or None,
        model=model,
        compile={"loss": loss, "metrics": _metrics(task)},
    )


def _metrics(task):
    if task == "glue/cola":
        return [MatthewsCorrelation()]
    if task == "glue/stsb":
        return [PearsonCorrelation(), SpearmanCorrelation()]
    accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    has_f1 = task in ("glue/mrpc", "glue/qqp")
    return [accuracy, F1()] if has_f1 else [accuracy]
