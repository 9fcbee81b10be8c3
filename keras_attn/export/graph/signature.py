"""What a servable offers: a verb with named inputs and outputs."""

import dataclasses
from collections.abc import Callable
from collections.abc import Mapping

import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Signature:
    """One verb of a servable.

    Args:
        name: The verb, such as "translate".
        function: Takes tensors by the names of `inputs`, returns a dictionary
            of tensors. The first axis of each is the batch.
        inputs: For each input its shape and dtype, the batch being None.
        examples: Requests to warm up with and to record the answers of:
            arrays by the names of `inputs`, strings as `bytes` objects.
        compiled: Whether `function` uses XLA, which TF Serving switches off
            unless it is told otherwise.
    """

    name: str
    function: Callable
    inputs: Mapping[str, tf.TensorSpec]
    examples: tuple[Mapping[str, np.ndarray], ...]
    compiled: bool = False


def text_column(*texts: bytes) -> np.ndarray:
    """Texts as a (batch,) array of `bytes` objects."""
    array = np.empty(len(texts), object)
    array[:] = texts
    return array
