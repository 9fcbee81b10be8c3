"""Sources, references, and what a model writes."""

from collections.abc import Callable
from collections.abc import Sequence


def check_sources(sources) -> int:
    """Return how many sources there are; refuse none."""
    if isinstance(sources, (str, bytes)) or not hasattr(sources, "__len__"):
        raise ValueError(
            "`sources` must be a list or an array of what `decode` takes, one "
            f"for each text. Received: sources={sources!r}"
        )
    if len(sources) == 0:
        raise ValueError(
            "`sources` must hold at least one source. Received: "
            f"sources={sources!r}"
        )
    return len(sources)


def read_references(references: Sequence, number: int) -> list[list[str]]:
    """Give each of `number` sources the list of its references."""
    if isinstance(references, (str, bytes)) or len(references) != number:
        raise ValueError(
            "`references` must be a list of strings, or of lists of strings, "
            f"one for each of the {number} sources. Received: "
            f"{_shown(references)}"
        )
    lists = [
        [each] if isinstance(each, (str, bytes)) else list(each)
        for each in references
    ]
    for place, texts in enumerate(lists):
        if not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError(
                "Each source must have at least one reference, and references "
                f"must be strings. Received: references[{place}]="
                f"{references[place]!r}"
            )
    return lists


def write_texts(decode: Callable, sources, number: int) -> list[str]:
    """Ask `decode` for the texts of all sources; refuse what are not."""
    answer = decode(sources)
    texts = answer
    if not isinstance(answer, (str, bytes)) and hasattr(answer, "__len__"):
        texts = list(answer)
    if (
        not isinstance(texts, list)
        or len(texts) != number
        or not all(isinstance(text, str) for text in texts)
    ):
        raise ValueError(
            f"`decode` must return {number} strings, one for each source "
            "(bytes become one by `.decode()`). Received: "
            f"{_shown(answer)}"
        )
    return texts


def _shown(value):
    """A value that may be thousands of texts, in a line."""
    text = repr(value)
    size = f"{len(value)} in " if hasattr(value, "__len__") else ""
    return size + (text if len(text) <= 200 else f"{text[:200]} ...")
