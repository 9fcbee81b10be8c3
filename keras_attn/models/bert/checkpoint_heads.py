"""The heads of BERT and its kin in Hugging Face folders."""

import dataclasses

import numpy as np

from keras_attn.models.checkpoint import Checkpoint

# Our heads, by the ends of the names of classes.
_TASKS = {
    "Model": None,
    "ForMaskedLM": "masked_lm",
    "ForNextSentencePrediction": "next_sentence",
    "ForPreTraining": "pretraining",
    "ForSequenceClassification": "classification",
    "ForTokenClassification": "token_classification",
    "ForQuestionAnswering": "span",
}
_SPAN = ("span_start", "span_end")


@dataclasses.dataclass(frozen=True)
class HeadNames:
    """What the tensors of a family's heads are called.

    Args:
        pooler: Of the map whose outcome is `pooled`.
        classes: Of what classifies texts, and gives them numbers.
        masked_lm: Of the map, the norm and the logits' bias.
        token_classes: Of what classifies tokens.
        next_sentence, span: Of these heads.
    """

    pooler: str
    classes: str
    masked_lm: tuple[str, str, str]
    token_classes: str = "classifier"
    next_sentence: str | None = None
    span: str = "qa_outputs"

    def of_layers(self) -> dict:
        """The names by those of our layers."""
        return {
            "pooler": self.pooler,
            "masked_lm": self.masked_lm[0],
            "next_sentence": self.next_sentence,
            "classification": self.classes,
            "regression": self.classes,
            "token_classification": self.token_classes,
            **dict.fromkeys(_SPAN, self.span),
        }


def head_of(checkpoint: Checkpoint) -> str | None:
    """Our head of the model that a folder was saved from."""
    # Of several, transformers takes the first.
    name, *_ = checkpoint.config.get("architectures") or ["Model"]
    endings = [ending for ending in _TASKS if name.endswith(ending)]
    if not endings:
        raise ValueError(
            f"{checkpoint.path} has architectures={[name]}; supported are "
            f"those that end with {list(_TASKS)}."
        )
    head = _TASKS[endings[0]]
    return _regression_or(head, checkpoint) if head else None


def num_classes(
    checkpoint: Checkpoint, names: HeadNames, head: str | None
) -> int | None:
    """How many classes a folder's head has; None if it has no such head."""
    name = {
        "classification": names.classes,
        "token_classification": names.token_classes,
    }.get(head)
    if name is None or not checkpoint.has(f"{name}.weight"):
        return None
    return checkpoint.shape(f"{name}.weight")[0]


def plan(checkpoint: Checkpoint, model, names: HeadNames) -> list:
    """Plan what stands on the encoder.

    Args:
        checkpoint: The folder.
        model: A `BERT`.
        names: Of its family.

    Returns:
        The layers that the folder has no weights for.
    """
    fresh, head = [], model.config["head"]
    there = {layer.name: layer for layer in model.layers}
    for layer_name, name in names.of_layers().items():
        if layer_name not in there:
            continue
        layer = there[layer_name]
        if head is not None and not checkpoint.has(f"{name}.weight"):
            fresh.append(layer)
            if layer_name == "masked_lm":
                fresh.append(there["masked_lm_bias"])
        elif layer_name == "masked_lm":
            dense, norm, bias = names.masked_lm
            checkpoint.dense(layer.dense, dense)
            checkpoint.norm(layer.normalize, norm)
            checkpoint.table(there["masked_lm_bias"].bias, bias)
        elif layer_name in _SPAN:
            _plan_position(checkpoint, layer.dense, name, layer_name)
        else:
            checkpoint.dense(layer, name)
    return fresh


def _regression_or(head, checkpoint):
    """The head "regression", where "classification" has but one output."""
    if head != "classification":
        return head
    kind = checkpoint.config.get("problem_type")
    names = ("classifier.out_proj.weight", "classifier.weight")
    name = next(filter(checkpoint.has, names), names[-1])
    size = checkpoint.shape(name)[0]
    if kind == "regression" and size > 1:
        raise ValueError(
            f"{checkpoint.path} has problem_type='regression' with {size} "
            "labels; only 1 is supported."
        )
    one = size == 1 and kind in (None, "regression")
    return "regression" if one else head


def _plan_position(checkpoint, dense, name, layer_name):
    """Plan one end of a span: a row of a map with two outputs."""
    size = checkpoint.shape(f"{name}.weight")[0]
    if size != 2:
        raise ValueError(
            f"The tensor '{name}.weight' of {checkpoint.folder} has {size} "
            "rows where 2 are wanted, for the start and the end of an answer."
        )
    row = _SPAN.index(layer_name)
    for variable, part in ((dense.kernel, "weight"), (dense.bias, "bias")):
        checkpoint.plan(
            variable,
            f"{name}.{part}",
            change=lambda x: np.transpose(x[row : row + 1]),
        )
