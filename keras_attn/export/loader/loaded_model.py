"""A SavedModel that answers by the names of its signatures."""

import collections
import pathlib
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.export.loader import worker
from keras_attn.export.loader.c_session import Session

# Where a value enters or leaves the graph: the name of the tensor,
# TensorFlow's name of the dtype, and the shape, with None where it is open
# (and None alone where even the rank is).
TensorInfo = collections.namedtuple("TensorInfo", ["tensor", "dtype", "shape"])


class LoadedModel:
    """A SavedModel in the C++ session that TF Serving uses, in this process.

    It answers from many threads at once.

    Args:
        folder: The version, with `saved_model.pb` in it.
        disable_xla: Whether to switch XLA off, as TF Serving does. It stays
            off for this whole process, Python's own functions with
            `jit_compile=True` included, so it is left on unless asked for.

    Raises:
        FileNotFoundError: If the folder is not a whole SavedModel.
        c_session.SessionError: If TensorFlow cannot load it.
    """

    def __init__(
        self, folder: str | pathlib.Path, *, disable_xla: bool = False
    ):
        self.folder = pathlib.Path(folder)
        graph = read_graph(self.folder)
        self.signatures = read_signatures(graph)
        self._session = Session(
            self.folder, worker.libraries(), disable_xla=disable_xla
        )

    def run(
        self, signature: str, inputs: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Answer one request.

        Args:
            signature: Name of a signature, such as "serving_default".
            inputs: Arrays by the signature's names, in its dtypes; strings
                are arrays of `bytes` or `str`.

        Returns:
            Arrays by the names of the signature's outputs, strings as `bytes`.

        Raises:
            ValueError: If the names, dtypes or shapes are not the signature's.
            c_session.SessionError: With TensorFlow's own code and message, if
                the graph refuses the values.
        """
        feeds, fetches = request(self.signatures, signature, inputs)
        arrays = self._session.run(feeds, fetches)
        outputs = self.signatures[signature]["outputs"]
        return dict(zip(outputs, arrays, strict=True))

    def close(self):
        """Wait for the answers under way, then free the memory."""
        self._session.close()


def read_graph(folder: str | pathlib.Path):
    """Read the `MetaGraphDef` of a SavedModel.

    Raises:
        FileNotFoundError: If the folder is not a whole SavedModel.
        ValueError: If `saved_model.pb` is not one, or names files that are
            not in the folder.
    """
    folder = pathlib.Path(folder)
    path = folder / "saved_model.pb"
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} is not a SavedModel: it has no saved_model.pb."
        )
    saved = saved_model_pb2.SavedModel()
    try:
        saved.ParseFromString(path.read_bytes())
        (graph,) = [
            graph
            for graph in saved.meta_graphs
            if "serve" in graph.meta_info_def.tags
        ]
    except Exception as error:
        # Each implementation of protobuf has an error of its own.
        raise ValueError(
            f"{path} is damaged, or is not a SavedModel for serving: {error}"
        ) from error
    # TensorFlow would load it, and fail each request.
    has_variables = any(
        node.op == "VarHandleOp" for node in graph.graph_def.node
    )
    index = folder / "variables" / "variables.index"
    if has_variables and not index.is_file():
        raise FileNotFoundError(
            f"{folder} is not a whole SavedModel: it has no "
            "variables/variables.index."
        )
    # TensorFlow would read whatever file the name leads to.
    for asset in graph.asset_file_def:
        name = pathlib.PurePath(asset.filename)
        if name.is_absolute() or ".." in name.parts:
            raise ValueError(
                f"{path} names a file outside of its folder: "
                f"{asset.filename!r}. No exporter writes that: do not use it."
            )
    return graph


def read_signatures(graph) -> dict[str, dict[str, dict[str, TensorInfo]]]:
    """Find the signatures of a `MetaGraphDef`.

    Returns:
        For each name `{"inputs": {name: TensorInfo}, "outputs": ...}`.
    """
    return {
        name: {
            "inputs": _tensors(definition.inputs),
            "outputs": _tensors(definition.outputs),
        }
        for name, definition in sorted(graph.signature_def.items())
        # TensorFlow keeps how to initialise a model among its signatures.
        if not name.startswith("__")
    }


def request(
    signatures: Mapping, name: str, inputs: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Check a request against its signature.

    Returns:
        Feeds by tensor, and the tensors to fetch.

    Raises:
        ValueError: If the names, dtypes or shapes are not the signature's.
    """
    if name not in signatures:
        raise ValueError(
            f"The model has no signature {name!r}. "
            f"It has: {sorted(signatures)}."
        )
    wanted = signatures[name]["inputs"]
    if set(inputs) != set(wanted):
        raise ValueError(
            f"Signature {name!r} takes the inputs {sorted(wanted)}. "
            f"Received: {sorted(inputs)}"
        )
    feeds = {}
    for key, info in wanted.items():
        array = np.asarray(inputs[key])
        where = f"Input {key!r} of signature {name!r}"
        is_text = array.dtype.kind in "OSU"
        if ("string" if is_text else array.dtype.name) != info.dtype:
            raise ValueError(
                f"{where} takes {info.dtype}. Received: {array.dtype}"
            )
        if not tf.TensorShape(info.shape).is_compatible_with(array.shape):
            raise ValueError(
                f"{where} has the shape {info.shape}. Received: {array.shape}"
            )
        feeds[info.tensor] = array
    outputs = signatures[name]["outputs"].values()
    return feeds, [info.tensor for info in outputs]


def _tensors(definitions):
    return {
        name: TensorInfo(
            info.name,
            tf.as_dtype(info.dtype).name,
            None
            if info.tensor_shape.unknown_rank
            else tuple(tf.TensorShape(info.tensor_shape).as_list()),
        )
        for name, info in sorted(definitions.items())
    }
