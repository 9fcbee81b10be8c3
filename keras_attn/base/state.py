"""What a model keeps while it decodes."""

from typing import Any
from typing import NamedTuple


class State(NamedTuple):
    """The state between two steps of decoding, parted by what changes it.

        state[t] = State(carried[t], constant)

    A tuple, so that `keras.tree`, `tf.nest`, loops and saved functions take
    it apart. A step returns it with other carried leaves:
    `state._replace(carried=...)`.

    Args:
        carried: Nest of (batch, ...) tensors that each step makes anew, such
            as a cache of keys, (batch, heads, length, depth).
        constant: Nest of (batch, ...) tensors that no step changes, such as
            the keys and values of a source or of a prompt.

    Reference:
        Shazeer 2019, "Fast Transformer Decoding".
        https://arxiv.org/abs/1911.02150
    """

    carried: Any
    constant: Any = ()
