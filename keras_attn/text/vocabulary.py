"""A list of tokens, in which a token's index is its id."""

import functools
from collections.abc import Iterable


class Vocabulary:
    """Tokens by id, and ids by token, on the Python side.

    A plain object on purpose: TensorFlow would wrap and track every entry of
    a list or dictionary that a `tf.Module` holds.

    Args:
        tokens: The tokens in order of their ids.
    """

    def __init__(self, tokens: Iterable[str]):
        self.tokens = list(tokens)
        if not self.tokens:
            raise ValueError(
                "`vocabulary` is empty: it needs a token at least."
            )
        for index, token in enumerate(self.tokens):
            if not isinstance(token, str) or not token:
                raise ValueError(
                    "`vocabulary` must hold strings that are not empty. "
                    f"Received: {token!r} at index {index}."
                )
        if len(self.ids) != len(self.tokens):
            twice = next(
                token
                for index, token in enumerate(self.tokens)
                if self.ids[token] != index
            )
            raise ValueError(
                f"`vocabulary` holds {twice!r} more than once, so its id "
                "would not be certain. Remove the repetitions."
            )

    @functools.cached_property
    def ids(self) -> dict[str, int]:
        """Id by token."""
        return {token: index for index, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def id_of(self, token: str) -> int:
        """The id of a token, which must be there."""
        if token not in self.ids:
            raise ValueError(
                f"{token!r} is not in the vocabulary of {len(self)} tokens."
            )
        return self.ids[token]
