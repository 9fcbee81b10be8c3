"""Which special tokens stand around a text, or around two."""

import dataclasses
from collections.abc import Iterable

import tensorflow as tf

TEXTS = ("A", "B")


@dataclasses.dataclass(frozen=True, init=False)
class Template:
    """A row of a model, as a tokenizer's post-processor lays it out.

        single = [[1, 0], ["A", 0], [2, 0]]            1, ids, 2
        pair = [[1, 0], ["A", 0], [2, 0], ["B", 1]]    1, ids, 2, other ids

    Args:
        single: For one text, [what, segment] in order; what is an id, or "A",
            the text.
        pair: The same for two texts, "A" and "B".
    """

    single: tuple[tuple[int | str, int], ...]
    pair: tuple[tuple[int | str, int], ...]

    def __init__(self, single: Iterable, pair: Iterable):
        for name, row, texts in (("single", single, 1), ("pair", pair, 2)):
            row = tuple((what, segment) for what, segment in row)
            found = [what for what, _ in row if isinstance(what, str)]
            if sorted(found) != sorted(TEXTS[:texts]):
                raise ValueError(
                    f"`{name}` must hold {' and '.join(TEXTS[:texts])} once. "
                    f"Received: {name}={[list(part) for part in row]}"
                )
            object.__setattr__(self, name, row)

    def num_special(self, texts: int = 1) -> int:
        """How many special tokens a row of one or two texts has."""
        return len(self._row(texts)) - texts

    def ids(self) -> set[int]:
        """Every special id."""
        parts = (*self.single, *self.pair)
        return {what for what, _ in parts if not isinstance(what, str)}

    def lay_out(self, first, second=None) -> dict:
        """Put special tokens around ids.

        Args:
            first: Ragged (batch, tokens) ids, or (tokens,).
            second: The same, or None.

        Returns:
            `{"tokens", "segments"}`, of the same form as `first`.
        """
        texts = dict(zip(TEXTS, (first, second), strict=True))
        row = self._row(1 if second is None else 2)
        tokens, segments = [], []
        for what, segment in row:
            part = texts[what] if what in texts else column(what, first)
            tokens.append(part)
            segments.append(tf.ones_like(part) * segment)
        return {
            "tokens": tf.concat(tokens, axis=-1),
            "segments": tf.concat(segments, axis=-1),
        }

    def get_config(self) -> dict:
        """The arguments of the constructor, as plain values."""
        return {
            "single": [list(part) for part in self.single],
            "pair": [list(part) for part in self.pair],
        }

    def _row(self, texts):
        return self.single if texts == 1 else self.pair


def column(number, ids):
    """One id beside each row of `ids`, ragged (batch, tokens) or (tokens,)."""
    number = tf.constant(number, ids.dtype)
    if ids.shape.rank == 1:
        return number[tf.newaxis]
    return tf.fill([ids.nrows(), 1], number)
