"""The tokens that stand for no text: PAD, START, END, UNK and MASK."""

import dataclasses
from collections.abc import Mapping

# What a new vocabulary opens with: padding is 0, as Keras' masks expect.
DEFAULT = ("[PAD]", "[UNK]", "[START]", "[END]", "[MASK]")

# How published vocabularies call them, the first that is there being taken.
USUAL_NAMES = {
    "pad": ("[PAD]", "<pad>"),
    "start": ("[START]", "[CLS]", "<s>", "<|endoftext|>"),
    "end": ("[END]", "[SEP]", "</s>", "<|endoftext|>"),
    "unknown": ("[UNK]", "<unk>"),
    "mask": ("[MASK]", "<mask>"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class SpecialTokens(Mapping):
    """Token by part, of the parts that a vocabulary has a token for.

    Each part is an attribute too, None where there is no token.
    """

    pad: str | None = None
    start: str | None = None
    end: str | None = None
    unknown: str | None = None
    mask: str | None = None

    def __getitem__(self, part):
        return self._played()[part]

    def __iter__(self):
        return iter(self._played())

    def __len__(self):
        return len(self._played())

    @classmethod
    def find(
        cls, ids: Mapping[str, int], chosen: Mapping[str, str | None] | None
    ) -> "SpecialTokens":
        """Take the chosen tokens, and the usual names for the rest.

        Args:
            ids: Id by token.
            chosen: Token by part, such as `{"pad": "<|endoftext|>"}`; None
                as a token means that the part is not played.
        """
        chosen = dict(chosen or {})
        wrong = chosen.keys() - USUAL_NAMES.keys()
        if wrong:
            raise ValueError(
                f"`special_tokens` has the parts {sorted(USUAL_NAMES)}. "
                f"Received: {sorted(wrong)}"
            )
        for part, token in chosen.items():
            if token is not None and token not in ids:
                raise ValueError(
                    f"The {part} token {token!r} is not in the vocabulary. "
                    "Add it there, or choose another in `special_tokens`."
                )
        for part, names in USUAL_NAMES.items():
            there = (name for name in names if name in ids)
            chosen.setdefault(part, next(there, None))
        return cls(**chosen)

    def _played(self):
        return {k: token for k, token in vars(self).items() if token}
