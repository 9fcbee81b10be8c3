"""Proof that an exported model answers in the server as it was recorded."""

import math
import pathlib

from keras_attn.base.wait_notice import WaitNotice
from keras_attn.export.bundle.recorded_examples import read_examples
from keras_attn.export.bundle.text_tables import text_table
from keras_attn.export.bundle.versions import find_version
from keras_attn.export.loader import loaded_model
from keras_attn.export.loader import worker
from keras_attn.export.verify.differences import difference
from keras_attn.export.verify.differences import tolerance
from keras_attn.export.verify.half_precision import half_tolerance

# Signatures that XLA compiles, which TF Serving refuses unless told otherwise.
COMPILED = "_xla"


def verify(
    path: str | pathlib.Path, *, verbose: bool = True, timeout: float = 600.0
) -> dict[str, dict]:
    """Ask an exported model its recorded requests, as TF Serving would.

        difference = max |found - recorded| / (1 + |recorded|)

    They run in the C++ session of a new process, which cannot import
    TensorFlow, Keras or keras_attn, with XLA switched off. Texts, integers and
    booleans must be as recorded, other numbers to 1e-5, or to a few bits where
    weights are of half precision. Signatures named "..._xla" are left out.

    Args:
        path: A version's folder, or the folder above for the newest.
        verbose: Whether to print a table, and on standard error what is
            being done if that takes more than some seconds.
        timeout: Seconds after which it is given up.

    Returns:
        For each signature `{"requests", "difference", "seconds"}`: how many,
        the worst difference and the time they took together.

    Raises:
        FileNotFoundError: If a part of the model is missing.
        RuntimeError: With TensorFlow's own message, if it cannot load.
        ValueError: If an answer differs, or a signature has no example.
    """
    folder = find_version(path)
    signatures = loaded_model.read_signatures(loaded_model.read_graph(folder))
    examples = [
        example
        for example in read_examples(folder)
        if not example[0].endswith(COMPILED)
    ]
    requests = [
        loaded_model.request(signatures, signature, inputs)
        for signature, inputs, _ in examples
    ]
    doing = f"asking {len(requests)} recorded requests in the C++ loader"
    with WaitNotice("keras_attn.export", doing, verbose=verbose):
        results = worker.run_each(folder, requests, timeout=timeout)
    report = {
        name: {"requests": 0, "difference": 0.0, "seconds": 0.0}
        for name in signatures
        if not name.endswith(COMPILED)
    }
    half = half_tolerance(folder)
    faults = []
    for (name, _, wanted), result in zip(examples, results, strict=True):
        entry = report[name]
        worst, found_faults = _compare(wanted, result, half)
        entry["requests"] += 1
        entry["difference"] = max(entry["difference"], worst)
        entry["seconds"] += result.get("seconds", 0.0)
        request = f"request {entry['requests']} of {name!r}"
        faults += [f"{request}: {fault}" for fault in found_faults]
    faults += [
        f"{name!r} has no recorded example"
        for name, entry in report.items()
        if not entry["requests"]
    ]
    if verbose:
        print(_table(report))
    if faults:
        shown = "\n".join(f"  {fault}" for fault in faults[:10])
        raise ValueError(
            f"{folder} does not answer as recorded; {len(faults)} faults, "
            f"beginning with:\n{shown}"
        )
    return report


def _compare(wanted, result, half):
    """The worst difference of one answer, and a sentence for each fault."""
    if "message" in result:
        return math.inf, [result["message"].strip()]
    worst, faults = 0.0, []
    # The names were checked when the examples were read, and both sides have
    # them in the order of the signature.
    for (name, array), found in zip(
        wanted.items(), result["arrays"], strict=True
    ):
        apart = difference(found, array)
        worst = max(worst, apart)
        if apart > max(tolerance(array.dtype), half or 0.0):
            faults.append(
                f"output {name!r} is {_brief(found)}, not {_brief(array)}"
            )
    return worst, faults


def _brief(array):
    text = " ".join(str(array.tolist()).split())
    if len(text) > 60:
        text = f"{text[:57]}..."
    return f"{text} {array.shape}"


def _table(report):
    rows = [("signature", "requests", "worst difference", "milliseconds")]
    for name, entry in report.items():
        rows.append(
            (
                name,
                entry["requests"],
                f"{entry['difference']:.1e}" if entry["difference"] else "0",
                f"{1000 * entry['seconds']:.1f}",
            )
        )
    return text_table(rows, right=(1, 2, 3))
