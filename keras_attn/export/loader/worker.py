"""Answers of a SavedModel from a process without Python TensorFlow."""

import importlib.util
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

# What the process that answers must not have.
FORBIDDEN = ("tensorflow", "keras", "keras_attn")


def libraries() -> list[str]:
    """Paths of TensorFlow's shared libraries, in the order of loading.

    Raises:
        FileNotFoundError: If TensorFlow came without them.
    """
    package = pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent
    names = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")
    paths = [package / name for name in names]
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(
                f"TensorFlow's C++ library {path.name} is not in {package}. "
                "Its wheels for Linux hold it: install tensorflow from PyPI."
            )
    return [str(path) for path in paths]


def run_each(
    folder: str | pathlib.Path,
    requests: Sequence[tuple[Mapping[str, np.ndarray], Sequence[str]]],
    *,
    timeout: float = 600.0,
    disable_xla: bool = True,
) -> list[dict]:
    """Load a SavedModel once and run requests in turn, in a new process.

    There the imports of TensorFlow, Keras and keras_attn fail.

    Args:
        folder: The SavedModel, with `saved_model.pb` in it.
        requests: For each the feeds, arrays by names of tensors, and the
            fetches, names of tensors.
        timeout: Seconds after which the process is stopped.
        disable_xla: Whether XLA is off, as in TF Serving by default.

    Returns:
        For each request `{"seconds", "arrays"}`, the arrays in the order of
        the fetches, or `{"code", "message"}` of TensorFlow's refusal.

    Raises:
        RuntimeError: With TensorFlow's own message, if it cannot load.
        TimeoutError: If it takes too long.
    """
    job = {
        "folder": str(folder),
        "libraries": libraries(),
        "disable_xla": disable_xla,
        "requests": [(list(feeds), list(names)) for feeds, names in requests],
    }
    with tempfile.TemporaryDirectory() as exchange:
        exchange = pathlib.Path(exchange)
        (exchange / "job.json").write_text(json.dumps(job))
        for number, (feeds, _) in enumerate(requests):
            _write(exchange / f"{number}.npz", feeds.values())
        try:
            process = subprocess.run(
                [sys.executable, __file__, str(exchange)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                # Modules beside this one must not hide others of their name.
                env={
                    "TF_CPP_MIN_LOG_LEVEL": "2",
                    **os.environ,
                    "PYTHONSAFEPATH": "1",
                },
            )
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(
                f"{folder} gave no answer within {timeout:g} seconds."
            ) from error
        if process.returncode:
            raise RuntimeError(
                f"The C++ session of {folder} ended with status "
                f"{process.returncode}. {process.stderr.strip()}"
            )
        results = json.loads((exchange / "results.json").read_text())
        if isinstance(results, str):
            raise RuntimeError(f"{folder} cannot be loaded: {results}")
        for number, result in enumerate(results):
            if "seconds" in result:
                result["arrays"] = _read(exchange / f"{number}.npz")
        return results


def forbid_imports():
    """Make imports of TensorFlow, Keras and keras_attn fail from now on."""
    for name in FORBIDDEN:
        sys.modules[name] = None


def answer(exchange: pathlib.Path):
    """Do the job that `run_each` left in a folder, in the process for it."""
    forbid_imports()
    # An import would need the package.
    path = pathlib.Path(__file__).with_name("c_session.py")
    session_class = runpy.run_path(str(path))["Session"]
    job = json.loads((exchange / "job.json").read_text())
    results = []
    try:
        session = session_class(
            job["folder"], job["libraries"], disable_xla=job["disable_xla"]
        )
    except session_class.Error as error:
        (exchange / "results.json").write_text(json.dumps(error.message))
        return
    for number, (inputs, outputs) in enumerate(job["requests"]):
        feeds = dict(
            zip(inputs, _read(exchange / f"{number}.npz"), strict=True)
        )
        start = time.perf_counter()
        try:
            arrays = session.run(feeds, outputs)
        except session_class.Error as error:
            results.append({"code": error.code, "message": error.message})
            continue
        results.append({"seconds": time.perf_counter() - start})
        _write(exchange / f"{number}.npz", arrays)
    session.close()
    for name in FORBIDDEN:
        if sys.modules[name] is not None:
            raise RuntimeError(f"{name} was imported: this proves nothing.")
    (exchange / "results.json").write_text(json.dumps(results))


def _write(path, arrays):
    arrays = [np.asarray(array) for array in arrays]
    np.savez(path, *arrays, dtypes=[array.dtype.name for array in arrays])


def _read(path):
    # It teaches NumPy what bfloat16 is, and comes with TensorFlow.
    import ml_dtypes  # noqa: F401

    # NumPy keeps strings as pickles; both ends of the exchange are this file.
    with np.load(path, allow_pickle=True) as found:
        dtypes = found["dtypes"]
        arrays = [found[f"arr_{number}"] for number in range(len(dtypes))]
    # It writes bfloat16, and reads two bytes of no meaning.
    return [
        array.view(dtype) if array.dtype.kind == "V" else array
        for array, dtype in zip(arrays, dtypes, strict=True)
    ]


if __name__ == "__main__":
    answer(pathlib.Path(sys.argv[1]))
