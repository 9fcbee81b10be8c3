"""Names of classes, for answers that people read."""

from collections.abc import Sequence

import tensorflow as tf


class Labels(tf.Module):
    """The name of the likeliest class, or its number where there are no names.

        label = names[argmax(scores)]

    Args:
        names: The classes in order of their numbers; None for numbers.
        num_classes: How many classes the model tells apart.

    Call arguments:
        scores: (..., classes).

    Returns:
        (...) strings, or int64 numbers.
    """

    def __init__(self, names: Sequence[str] | None, *, num_classes: int):
        super().__init__()
        if isinstance(names, str):
            raise ValueError(
                f"`labels` must be a list of names. Received: {names!r}"
            )
        self.names = None if names is None else tuple(map(str, names))
        if self.names is not None and len(self.names) != num_classes:
            raise ValueError(
                f"The model tells {num_classes} classes apart, and there are "
                f"{len(self.names)} `labels`. Give one for each class, in the "
                "order of the numbers it was trained with."
            )

    def __call__(self, scores):
        numbers = tf.argmax(scores, axis=-1)
        if self.names is None:
            return numbers
        return tf.gather(tf.constant(self.names), numbers)
