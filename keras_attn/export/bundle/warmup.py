"""Warm-up requests, which TF Serving runs before it serves a version."""

import pathlib
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.export.bundle.tensor_protos import to_array
from keras_attn.extras import require

PATH = pathlib.Path("assets.extra", "tf_serving_warmup_requests")
# TF Serving refuses a version with more.
MAX_REQUESTS = 1000


def require_protos():
    """Import TF Serving's messages.

    Returns:
        The module that has `PredictionLog`.

    Raises:
        ImportError: With the command that installs them. To export without
            warm-up requests, pass `warmup=False`.
    """
    name = "tensorflow_serving.apis.prediction_log_pb2"
    try:
        return require(name, extra="serving")
    except ImportError as error:
        raise ImportError(
            f"{error} To export without warm-up requests, pass `warmup=False`."
        ) from error


def write_warmup(
    folder: str | pathlib.Path,
    requests: Sequence[tuple[str, Mapping[str, np.ndarray]]],
) -> pathlib.Path:
    """Write requests where TF Serving looks for them.

    It runs them when it loads the version, and refuses the version if one
    fails. So leave out signatures that it cannot run, such as compiled ones.

    Args:
        folder: The SavedModel, with `saved_model.pb` in it.
        requests: For each the name of its signature, and arrays by name. Of
            more than 1000, the most that TF Serving takes, each signature
            keeps an equal share.

    Returns:
        The file, a TFRecord of `PredictionLog`.

    Raises:
        ImportError: If tensorflow-serving-api is not installed.
    """
    protos = require_protos()
    path = pathlib.Path(folder, PATH)
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in _share(requests):
            log = protos.PredictionLog()
            request = log.predict_log.request
            request.model_spec.signature_name = signature
            for name, array in inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
            writer.write(log.SerializeToString())
    return path


def read_warmup(
    folder: str | pathlib.Path,
) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Read what `write_warmup` wrote; nothing, if there is no such file.

    Raises:
        ImportError: If tensorflow-serving-api is not installed.
    """
    path = pathlib.Path(folder, PATH)
    if not path.is_file():
        return []
    log = require_protos().PredictionLog
    requests = [
        log.FromString(record).predict_log.request
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    ]
    return [
        (
            request.model_spec.signature_name,
            {name: to_array(proto) for name, proto in request.inputs.items()},
        )
        for request in requests
    ]


def _share(requests):
    """At most `MAX_REQUESTS`, in turn of each signature, in their order."""
    counts = {}
    turns = []
    for place, (signature, _) in enumerate(requests):
        counts[signature] = counts.get(signature, 0) + 1
        turns.append((counts[signature], place))
    kept = {place for _, place in sorted(turns)[:MAX_REQUESTS]}
    return [request for n, request in enumerate(requests) if n in kept]
