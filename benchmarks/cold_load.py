"""Load SavedModels in new processes, with the C++ loader that servers use.

As a script it is such a process: it reads a job from its input, loads one
folder, asks it once with XLA off, and writes the times as JSON.
"""

import json
import os
import runpy
import subprocess
import sys
import time

import numpy as np

TIMEOUT_SECONDS = 300.0


def measure(servables: dict[str, dict], *, rounds: int) -> dict[str, dict]:
    """Load each folder in turns; the best seconds, and what it weighs.

    Args:
        servables: By name `{"folder", "weights", "inputs"}`: a SavedModel,
            the bytes of its raw weights, and a request to "serving_default".
        rounds: How many turns each gets.

    Returns:
        By name `{"load", "answer", "variables", "whole", "weights"}`: seconds
        and bytes; `{"message"}` instead of a time where TensorFlow refused.
    """
    jobs = {name: _job(each) for name, each in servables.items()}
    results = {}
    for _ in range(rounds):
        for name, job in jobs.items():
            keep_best(results.setdefault(name, {}), _in_a_new_process(job))
    for name, each in servables.items():
        variables = each["folder"] / "variables"
        results[name] |= {
            "variables": _bytes_of(variables.glob("variables.data*")),
            "whole": _bytes_of(each["folder"].rglob("*")),
            "weights": each["weights"],
        }
    return results


def keep_best(best: dict, new: dict):
    """Keep the shorter of two times of each kind, and any message."""
    for key, value in new.items():
        best[key] = (
            value if key == "message" else min(value, best.get(key, value))
        )


def load(job: dict) -> dict:
    """Load and ask, in the process that is for it.

    Returns:
        `{"load", "answer"}` in seconds, or `{"message"}` in place of what
        TensorFlow refused.
    """
    # An import would bring Python TensorFlow, and take its time.
    session = runpy.run_path(job["session"])
    # Any server has its libraries in memory before it loads a model.
    session["load"](job["libraries"])
    feeds = {
        tensor: np.array(values, dtype)
        for tensor, (dtype, values) in job["feeds"].items()
    }
    result = {}
    try:
        start = time.perf_counter()
        model = session["Session"](
            job["folder"], job["libraries"], disable_xla=True
        )
        loaded = time.perf_counter()
        result["load"] = loaded - start
        model.run(feeds, job["fetches"])
        result["answer"] = time.perf_counter() - loaded
    except session["SessionError"] as error:
        result["message"] = error.message
    return result


def _job(servable):
    from keras_attn.export.loader import c_session
    from keras_attn.export.loader import loaded_model
    from keras_attn.export.loader import worker

    folder = servable["folder"]
    feeds, fetches = loaded_model.request(
        loaded_model.read_signatures(loaded_model.read_graph(folder)),
        "serving_default",
        servable["inputs"],
    )
    return {
        "session": c_session.__file__,
        "libraries": worker.libraries(),
        "folder": str(folder),
        "feeds": {
            tensor: (array.dtype.name, array.tolist())
            for tensor, array in feeds.items()
        },
        "fetches": fetches,
    }


def _in_a_new_process(job):
    process = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
    )
    if process.returncode:
        raise RuntimeError(
            f"Loading {job['folder']} ended with status {process.returncode}. "
            f"{process.stderr.strip()}"
        )
    return json.loads(process.stdout.splitlines()[-1])


def _bytes_of(paths):
    return sum(path.stat().st_size for path in paths if path.is_file())


if __name__ == "__main__":
    print(json.dumps(load(json.load(sys.stdin))))
