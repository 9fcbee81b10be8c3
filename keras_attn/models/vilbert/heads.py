"""What ViLBERT returns, by the name of its head."""

import dataclasses
from collections.abc import Callable

from keras_attn.base import argument_checks


@dataclasses.dataclass(frozen=True)
class Head:
    """What stands on ViLBERT's two streams.

    Args:
        build: Makes the outputs of what it asks for by name: `text`, (batch,
            length, units); `regions`, (batch, regions, region_units);
            `pooled_text`, `pooled_regions` and `fused`, their product, (batch,
            co_units); `dense(size, name)`; `hidden(units, name)`, the layer
            before a classifier; `drop`; `score_masked`, vectors to logits;
            `num_classes`; `num_region_classes`; `co_units`; `region_units`.
        pools: Whether it reads what is pooled.
        classifies: Whether it reads `num_classes`.
        names_regions: Whether it reads `num_region_classes`.
    """

    build: Callable
    pools: bool = True
    classifies: bool = False
    names_regions: bool = False


def get(
    name: str | None, num_classes: int | None, num_region_classes: int | None
) -> Head:
    """Return a head.

    Args:
        name: One of `HEADS`.
        num_classes: Goes with the head that tells answers apart, and only
            that.
        num_region_classes: Heads that name regions need it; for others it
            may stay, for the head that comes next.

    Raises:
        ValueError: If there is no such head, or if a number of classes is
            missing or not wanted.
    """
    argument_checks.choice(name, "head", HEADS)
    head = HEADS[name]
    for wanted, argument, value in (
        (head.classifies, "num_classes", num_classes),
        (head.names_regions, "num_region_classes", num_region_classes),
    ):
        if wanted and (value is None or value < 1):
            raise ValueError(
                f"The head {name!r} needs `{argument}`. Received: "
                f"{argument}={value}"
            )
    if not head.classifies and num_classes is not None:
        raise ValueError(
            f"The head {name!r} takes no `num_classes`. Received: "
            f"num_classes={num_classes}"
        )
    return head


def _vectors(*, text, all_regions, pooled_text, pooled_regions, **_):
    return {
        "text": text,
        "regions": all_regions,
        "pooled_text": pooled_text,
        "pooled_regions": pooled_regions,
    }


def _masked_lm(*, text, score_masked, **_):
    return score_masked(text)


def _masked_regions(
    *, regions, hidden, dense, region_units, num_region_classes, **_
):
    x = hidden(region_units, "masked_regions_hidden")(regions)
    return dense(num_region_classes, "masked_regions")(x)


def _alignment(*, fused, dense, drop, **_):
    return dense(2, "alignment")(drop(fused))


def _pretraining(**parts):
    return {
        "masked_lm": _masked_lm(**parts),
        "masked_regions": _masked_regions(**parts),
        "alignment": _alignment(**parts),
    }


def _vqa(*, fused, hidden, dense, drop, co_units, num_classes, **_):
    x = hidden(2 * co_units, "vqa_hidden")(drop(fused))
    return dense(num_classes, "vqa")(x)


def _retrieval(*, fused, dense, drop, **_):
    return dense(1, "retrieval")(drop(fused))


def _referring(*, regions, dense, drop, **_):
    return dense(1, "referring")(drop(regions))


HEADS = {
    None: Head(_vectors),
    "masked_lm": Head(_masked_lm, pools=False),
    "masked_regions": Head(_masked_regions, pools=False, names_regions=True),
    "alignment": Head(_alignment),
    "pretraining": Head(_pretraining, names_regions=True),
    "vqa": Head(_vqa, classifies=True),
    "retrieval": Head(_retrieval),
    "referring": Head(_referring, pools=False),
}
