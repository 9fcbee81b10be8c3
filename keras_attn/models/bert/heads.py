"""What BERT returns, by the name of its head."""

import dataclasses
from collections.abc import Callable

from keras_attn.base import argument_checks


@dataclasses.dataclass(frozen=True)
class Head:
    """What stands on BERT's encoder.

    Args:
        build: Makes the outputs of what it asks for by name: `sequence`,
            (batch, length, units); `pooled`, (batch, units); `dense(size,
            name)`; `drop`; `score_masked`, vectors to logits;
            `score_positions(name)`, vectors to a logit of each position;
            `num_classes`.
        pools: Whether it reads `pooled`.
        classifies: Whether it reads `num_classes`.
    """

    build: Callable
    pools: bool = True
    classifies: bool = False


def get(name: str | None, num_classes: int | None) -> Head:
    """Return a head.

    Args:
        name: One of `HEADS`.
        num_classes: Goes with heads that tell classes apart, and only those.

    Raises:
        ValueError: If there is no such head, or if `num_classes` is missing
            or not wanted.
    """
    argument_checks.choice(name, "head", HEADS)
    head = HEADS[name]
    if head.classifies and (num_classes is None or num_classes < 1):
        raise ValueError(
            f"The head {name!r} needs `num_classes`. Received: "
            f"num_classes={num_classes}"
        )
    if not head.classifies and num_classes is not None:
        raise ValueError(
            f"The head {name!r} takes no `num_classes`. Received: "
            f"num_classes={num_classes}"
        )
    return head


def _vectors(*, sequence, pooled, **_):
    return {"sequence": sequence, "pooled": pooled}


def _masked_lm(*, sequence, score_masked, **_):
    return score_masked(sequence)


def _next_sentence(*, pooled, dense, **_):
    return dense(2, "next_sentence")(pooled)


def _pretraining(**parts):
    return {
        "masked_lm": _masked_lm(**parts),
        "next_sentence": _next_sentence(**parts),
    }


def _classification(*, pooled, dense, drop, num_classes, **_):
    return dense(num_classes, "classification")(drop(pooled))


def _regression(*, pooled, dense, drop, **_):
    return dense(1, "regression")(drop(pooled))


def _token_classification(*, sequence, dense, drop, num_classes, **_):
    return dense(num_classes, "token_classification")(drop(sequence))


def _span(*, sequence, score_positions, **_):
    return {
        "start": score_positions("span_start")(sequence),
        "end": score_positions("span_end")(sequence),
    }


HEADS = {
    None: Head(_vectors),
    "masked_lm": Head(_masked_lm, pools=False),
    "next_sentence": Head(_next_sentence),
    "pretraining": Head(_pretraining),
    "classification": Head(_classification, classifies=True),
    "regression": Head(_regression),
    "token_classification": Head(
        _token_classification, pools=False, classifies=True
    ),
    "span": Head(_span, pools=False),
}
