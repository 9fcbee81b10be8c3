"""What a model's sizes ask of its tokenizer and of its servable."""

from keras_attn.base import argument_checks
from keras_attn.text.tokenizer import Tokenizer


def config_of(model) -> dict:
    """The arguments of a model of ours; of others nothing is known."""
    config = getattr(model, "config", None)
    return config if isinstance(config, dict) else {}


def positions(model) -> int | None:
    """How many positions a model has learned; None if it needs none."""
    config = config_of(model)
    return config["max_length"] if config.get("position") == "learned" else None


def vocabulary_size(model, side: str) -> int | None:
    """How many ids a model knows as "source" or "target", if that is known."""
    config = config_of(model)
    size = config.get(f"{side}_vocabulary_size") or config.get(
        "vocabulary_size"
    )
    if size is None and side == "target" and getattr(model, "outputs", None):
        size = model.outputs[0].shape[-1]
    return size


def check_tokenizer(model, tokenizer, side: str, *, parts=("end",)):
    """Refuse a tokenizer that a model was not trained with.

    Args:
        model: The model.
        tokenizer: What was given as its tokenizer.
        side: "source" or "target".
        parts: The special tokens that are needed.

    Raises:
        ValueError: If it is none, has more ids than the model, or lacks a
            special token.
    """
    kind = type(model).__name__
    if not isinstance(tokenizer, Tokenizer):
        raise ValueError(
            f"{kind} is exported with the tokenizer that it was trained with, "
            'one or {"source": ..., "target": ...}: `tokenizer`. Received as '
            f"the {side}'s: {tokenizer!r}"
        )
    size = vocabulary_size(model, side)
    # A model may know more: published ones are padded to a round number. No
    # text has these ids, and where they are written they stand for nothing.
    if size is not None and size < tokenizer.vocabulary_size:
        raise ValueError(
            f"{kind} knows {size} ids in its {side}, and the tokenizer has "
            f"{tokenizer.vocabulary_size}. Export the model with the tokenizer "
            "that it was trained with."
        )
    for part in parts:
        if getattr(tokenizer, f"{part}_id") is None:
            raise ValueError(
                f"The {side}'s tokenizer has no {part} token, which {kind} "
                "needs. Choose one of its tokens: "
                f'special_tokens={{"{part}": ...}}.'
            )


def check_id(name: str, given: int, model, side: str):
    """Refuse what is no id of a model's "source" or "target".

    Raises:
        ValueError: If it is below 0, or beyond the ids that the model knows.
    """
    argument_checks.integer(given, name, at_least=0)
    size = vocabulary_size(model, side)
    if size is not None and given >= size:
        raise ValueError(
            f"`{name}` must be one of the {size} ids of the {side}. Received: "
            f"{name}={given}"
        )


def check_length(name: str, length: int, most: int | None):
    """Refuse a length that is no length, or beyond what was learned.

    Raises:
        ValueError: If it is below 1 or above `most`.
    """
    argument_checks.integer(length, name, at_least=1)
    if most is not None and length > most:
        raise ValueError(
            f"`{name}` is beyond the positions that the model has learned: "
            f"there is room for {most} tokens. Received: {name}={length}"
        )
