"""Run a SavedModel as TF Serving does: C++ loader, XLA off, no Python TF.

    from tests import cpp_loader

    outputs = cpp_loader.run(folder, "serving_default", {"tokens": tokens})

A SavedModel that reloads in Python may still fail in the server. `run` finds
the tensors of the signature, then starts this file as a script; that process
refuses to import TensorFlow and Keras, and calls the C interface of the very
library that the server is built from.
"""

import contextlib
import ctypes
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

FORBIDDEN = ("tensorflow", "keras")

# `TF_DataType` of tensorflow/c/tf_datatype.h.
DATA_TYPES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "object": 7,  # strings, as arrays of `bytes`
    "int64": 9,
    "bool": 10,
}
STRING_SIZE = 24  # bytes of one `TF_TString`


def run(folder, signature: str, inputs: dict, *, timeout: float = 120) -> dict:
    """Answer one request: `run_each` for a single one."""
    return run_each(folder, signature, [inputs], timeout=timeout)[0]


def run_each(
    folder, signature: str, requests: list[dict], *, timeout: float = 120
) -> list[dict]:
    """Load once and answer requests in turn, in a process of its own.

    Args:
        folder: The SavedModel, with `saved_model.pb` in it.
        signature: Name of a signature.
        requests: Arrays by the signature's names, in its dtypes; strings are
            arrays of `bytes` with dtype object.
        timeout: Seconds after which the process is stopped.

    Returns:
        For each request, arrays by the signature's names.

    Raises:
        RuntimeError: With TensorFlow's own message, if it refuses.
    """
    signatures = _meta_graph(folder).signature_def
    if signature not in signatures:
        raise ValueError(
            f"{folder} has no signature {signature!r}. It has "
            f"{sorted(signatures)}."
        )
    definition = signatures[signature]
    for inputs in requests:
        if set(inputs) != set(definition.inputs):
            raise ValueError(
                f"Signature {signature!r} takes {sorted(definition.inputs)}. "
                f"Received: {sorted(inputs)}"
            )
    job = {
        "folder": str(folder),
        "libraries": _libraries(),
        "inputs": {k: v.name for k, v in definition.inputs.items()},
        "outputs": {k: v.name for k, v in definition.outputs.items()},
        "requests": len(requests),
    }
    with tempfile.TemporaryDirectory() as exchange:
        exchange = pathlib.Path(exchange)
        (exchange / "job.json").write_text(json.dumps(job))
        for number, inputs in enumerate(requests):
            np.savez(exchange / f"inputs_{number}.npz", **inputs)
        process = subprocess.run(
            [sys.executable, __file__, str(exchange)],
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if process.returncode:
            raise RuntimeError(process.stderr)
        return [
            _read(exchange / f"outputs_{number}.npz")
            for number in range(len(requests))
        ]


def op_names(folder) -> set[str]:
    """Every kind of op in the graph and in the functions it may call."""
    graph = _meta_graph(folder).graph_def
    nodes = list(graph.node)
    for function in graph.library.function:
        nodes.extend(function.node_def)
    return {node.op for node in nodes}


def function_names(folder) -> set[str]:
    """Names of the functions that the graph may call like ops."""
    library = _meta_graph(folder).graph_def.library
    return {function.signature.name for function in library.function}


def _meta_graph(folder):
    # Only the asking process may import TensorFlow.
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString(pathlib.Path(folder, "saved_model.pb").read_bytes())
    return saved.meta_graphs[0]


def _read(path):
    # NumPy keeps strings as pickles; both ends of the exchange are this file.
    with np.load(path, allow_pickle=True) as arrays:
        return dict(arrays)


def _libraries():
    package = pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent
    return [
        str(package / "libtensorflow_framework.so.2"),
        str(package / "libtensorflow_cc.so.2"),
    ]


# From here on: the process that answers.


class Output(ctypes.Structure):
    """`TF_Output`: one result of an operation of the graph."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


def forbid_imports():
    """Make `import tensorflow` and `import keras` fail from now on."""
    for name in FORBIDDEN:
        sys.modules[name] = None


def load_library(paths):
    """Load TensorFlow's C interface, and switch XLA off as the server does."""
    # The second library takes its symbols from the first.
    *_, library = [ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in paths]
    pointers = (
        "TF_NewStatus",
        "TF_NewGraph",
        "TF_NewSessionOptions",
        "TF_LoadSessionFromSavedModel",
        "TF_GraphOperationByName",
        "TF_AllocateTensor",
        "TF_TensorData",
        "TF_StringGetDataPointer",
    )
    for name in pointers:
        getattr(library, name).restype = ctypes.c_void_p
    library.TF_Message.restype = ctypes.c_char_p
    library.TF_Dim.restype = ctypes.c_int64
    library.TF_TensorByteSize.restype = ctypes.c_size_t
    library.TF_StringGetSize.restype = ctypes.c_size_t
    library._ZN10tensorflow21DisableXlaCompilationEv()
    return library


class Session:
    """A loaded SavedModel.

    Nothing is ever freed: the process ends after its answers.
    """

    def __init__(self, library, folder: str):
        self.library = library
        self.graph = ctypes.c_void_p(library.TF_NewGraph())
        with self._status() as status:
            self.session = ctypes.c_void_p(
                library.TF_LoadSessionFromSavedModel(
                    ctypes.c_void_p(library.TF_NewSessionOptions()),
                    None,
                    folder.encode(),
                    (ctypes.c_char_p * 1)(b"serve"),
                    1,
                    self.graph,
                    None,
                    status,
                )
            )

    def run(self, feeds: dict, fetches: list[str]) -> list:
        """Feed arrays to tensors of the graph, and fetch others, by name."""
        results = (ctypes.c_void_p * len(fetches))()
        with self._status() as status:
            self.library.TF_SessionRun(
                self.session,
                None,
                (Output * len(feeds))(*map(self._output, feeds)),
                (ctypes.c_void_p * len(feeds))(
                    *map(self._to_tensor, feeds.values())
                ),
                len(feeds),
                (Output * len(fetches))(*map(self._output, fetches)),
                results,
                len(fetches),
                None,
                0,
                None,
                status,
            )
        return [self._to_array(ctypes.c_void_p(result)) for result in results]

    @contextlib.contextmanager
    def _status(self):
        status = ctypes.c_void_p(self.library.TF_NewStatus())
        yield status
        if self.library.TF_GetCode(status):
            raise RuntimeError(self.library.TF_Message(status).decode())

    def _output(self, name):
        operation, _, index = name.partition(":")
        found = self.library.TF_GraphOperationByName(
            self.graph, operation.encode()
        )
        if not found:
            raise RuntimeError(f"The graph has no operation {operation!r}.")
        return Output(found, int(index))

    def _to_tensor(self, array):
        array = np.asarray(array, order="C")
        is_text = array.dtype == object
        tensor = self.library.TF_AllocateTensor(
            DATA_TYPES[array.dtype.name],
            (ctypes.c_int64 * array.ndim)(*array.shape),
            array.ndim,
            ctypes.c_size_t(
                array.size * STRING_SIZE if is_text else array.nbytes
            ),
        )
        target = self.library.TF_TensorData(ctypes.c_void_p(tensor))
        if is_text:
            self._write_strings(target, array)
        else:
            ctypes.memmove(target, array.ctypes.data, array.nbytes)
        return tensor

    def _write_strings(self, target, array):
        for number, text in enumerate(array.flat):
            place = ctypes.c_void_p(target + number * STRING_SIZE)
            self.library.TF_StringInit(place)
            self.library.TF_StringCopy(
                place, ctypes.c_char_p(text), ctypes.c_size_t(len(text))
            )

    def _read_strings(self, source, array):
        for number in range(array.size):
            place = ctypes.c_void_p(source + number * STRING_SIZE)
            array.flat[number] = ctypes.string_at(
                self.library.TF_StringGetDataPointer(place),
                self.library.TF_StringGetSize(place),
            )

    def _to_array(self, tensor):
        names = {number: name for name, number in DATA_TYPES.items()}
        shape = [
            self.library.TF_Dim(tensor, axis)
            for axis in range(self.library.TF_NumDims(tensor))
        ]
        array = np.empty(shape, names[self.library.TF_TensorType(tensor)])
        if array.dtype == object:
            self._read_strings(self.library.TF_TensorData(tensor), array)
            return array
        size = self.library.TF_TensorByteSize(tensor)
        if size != array.nbytes:
            raise RuntimeError(f"Expected {array.nbytes} bytes, got {size}.")
        source = ctypes.c_void_p(self.library.TF_TensorData(tensor))
        ctypes.memmove(array.ctypes.data, source, array.nbytes)
        return array


def answer(exchange: pathlib.Path):
    """Read a job from the folder `exchange`, and write its outputs there."""
    forbid_imports()
    job = json.loads((exchange / "job.json").read_text())
    session = Session(load_library(job["libraries"]), job["folder"])
    for number in range(job["requests"]):
        inputs = _read(exchange / f"inputs_{number}.npz")
        feeds = {job["inputs"][name]: array for name, array in inputs.items()}
        arrays = session.run(feeds, list(job["outputs"].values()))
        outputs = dict(zip(job["outputs"], arrays, strict=True))
        np.savez(exchange / f"outputs_{number}.npz", **outputs)
    for name in FORBIDDEN:
        if sys.modules[name] is not None:
            raise RuntimeError(f"{name} was imported: this proves nothing.")


if __name__ == "__main__":
    try:
        answer(pathlib.Path(sys.argv[1]))
    except RuntimeError as error:
        sys.exit(str(error))
