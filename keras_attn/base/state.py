"""What a model keeps while it decodes."""

from typing import Any
from typing import NamedTuple


class State(NamedTuple):
    """The state between two steps of decoding, parted by what changes it.

    A tuple, so that `keras.tree`, `tf.nest`, loops and saved functions take
    it apart. A step returns it with other carried leaves:
    `state._replace(carried=...)`.

    Args:
        carried: Nest of tensors that each step makes anew, such as a cache.
        constant: Nest of tensors that no step changes, such as what an
            encoder made of the source, or the keys and values of a prompt.
    """

    carried: Any
    constant: Any = ()
