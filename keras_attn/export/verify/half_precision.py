"""Models that compute in half precision, where every fusion rounds anew."""

import pathlib

import numpy as np
import tensorflow as tf

from keras_attn.export.bundle.recorded_examples import read_examples
from keras_attn.export.bundle.recorded_examples import write_examples
from keras_attn.export.loader import loaded_model
from keras_attn.export.loader import worker
from keras_attn.export.verify.differences import HALF_TOLERANCE
from keras_attn.export.verify.differences import difference

# The steps of a network round one after the other.
_STEPS = 4


def half_tolerance(folder: str | pathlib.Path) -> float | None:
    """How far answers may be apart if the weights are of half precision.

    Returns:
        The greatest `difference` of two numbers, or None if all weights are
        of more than half precision.
    """
    graph = loaded_model.read_graph(folder).graph_def
    dtypes = {
        tf.as_dtype(node.attr["dtype"].type).name
        for node in graph.node
        if node.op == "VarHandleOp"
    }
    return max(
        (_STEPS * HALF_TOLERANCE[x] for x in dtypes & HALF_TOLERANCE.keys()),
        default=None,
    )


def record_served_answers(folder: str | pathlib.Path, *, timeout: float = 600):
    """Record what the C++ loader answers, where that is rounding apart.

    Python and a server fuse ops in their own ways. In half precision that
    moves numbers, and where two tokens are almost equally likely it moves the
    text: what a server says again is what it has said itself.

    Args:
        folder: A version with recorded examples, those of Python.
        timeout: Seconds that the loader has.

    Raises:
        ValueError: If an answer is further from the recorded one than
            rounding explains.
    """
    most = half_tolerance(folder)
    if most is None:
        return
    examples = read_examples(folder)
    signatures = loaded_model.read_signatures(loaded_model.read_graph(folder))
    requests = [
        loaded_model.request(signatures, name, inputs)
        for name, inputs, _ in examples
    ]
    results = worker.run_each(folder, requests, timeout=timeout)
    served = []
    for (name, inputs, wanted), result in zip(examples, results, strict=True):
        if "message" in result:
            raise ValueError(f"{folder}, {name!r}: {result['message'].strip()}")
        found = dict(zip(wanted, result["arrays"], strict=True))
        _check(folder, name, wanted, found, most)
        served.append((name, inputs, found))
    write_examples(folder, served)


def _check(folder, name, wanted, found, most):
    apart = {key: difference(found[key], wanted[key]) for key in wanted}
    numbers = {key for key in wanted if _is_number(wanted[key])}
    # After another token everything may be different, but for what is known
    # before: whether a text could be read.
    decided = all(not apart[key] for key in wanted.keys() - numbers)
    compared = numbers if decided else wanted.keys() & {"valid", "truncated"}
    wrong = sorted(key for key in compared if apart[key] > most)
    if wrong:
        raise ValueError(
            f"{folder} answers {name!r} in the C++ loader with {wrong} that "
            "are further from Python's than half precision explains: "
            f"{max(apart[key] for key in wrong):.3g} > {most:.3g}."
        )


def _is_number(array):
    return np.issubdtype(array.dtype, np.floating) or (
        array.dtype.name in HALF_TOLERANCE
    )
