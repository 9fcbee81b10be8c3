"""From a signature to the graph that answers it."""

import tensorflow as tf

from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.utf8 import to_utf8


def trace(signature: Signature):
    """Trace a signature's function once, for all batches.

    Args:
        signature: Says what its function takes.

    Returns:
        A concrete function: (batch, ...) tensors by name to a dictionary of
        them. Strings are text, unless their name ends with "_bytes".
    """
    specs = {
        name: tf.TensorSpec(spec.shape, spec.dtype, name)
        for name, spec in signature.inputs.items()
    }

    def respond(**inputs):
        outputs = signature.function(**inputs)
        return {name: _readable(name, outputs[name]) for name in outputs}

    function = tf.function(respond, autograph=False)
    return function.get_concrete_function(**specs)


def is_text(name: str, dtype) -> bool:
    """Whether an output is text, which TF Serving writes as it is.

    Strings named `*_bytes` it writes in base 64.
    """
    return dtype == tf.string and not name.endswith("_bytes")


def _readable(name, output):
    """Make text of strings, which would else be no JSON over REST."""
    return to_utf8(output) if is_text(name, output.dtype) else output
