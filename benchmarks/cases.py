"""What is measured: one case is a length, a pass and a mask."""

import dataclasses

BATCH, HEADS, DEPTH = 1, 8, 64


@dataclasses.dataclass(frozen=True)
class Case:
    """One thing to measure."""

    length: int
    backward: bool
    causal: bool

    @property
    def dense_bytes(self) -> int:
        """Memory that attention takes if it forms the (query, key) matrix.

        A forward pass holds scores, weights and a copy or two (a causal mask
        makes one more); a backward pass twice as many.
        """
        matrix = 4 * BATCH * HEADS * self.length**2
        return matrix * (6 if self.backward else 3)


def cases_of(length: int) -> list[Case]:
    """List the four cases of one length."""
    return [
        Case(length, backward, causal)
        for backward in (False, True)
        for causal in (False, True)
    ]
