"""A SavedModel in TensorFlow's C++ session, without Python TensorFlow."""

import contextlib
import ctypes
import pathlib
import threading
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

# `TF_DataType` of tensorflow/c/tf_datatype.h, by NumPy's names.
DATA_TYPES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "object": 7,  # strings, as arrays of `bytes`
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}
NAMES = {number: name for name, number in DATA_TYPES.items()}
STRING = DATA_TYPES["object"]
STRING_SIZE = 24  # bytes of one `TF_TString`

# Of TensorFlow's status codes, those that are given here.
INVALID_ARGUMENT = 3
FAILED_PRECONDITION = 9
UNIMPLEMENTED = 12


class _Output(ctypes.Structure):
    """`TF_Output`: one result of an operation of the graph."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


_TYPES = {
    "-": None,
    "p": ctypes.c_void_p,
    "i": ctypes.c_int,
    "l": ctypes.c_int64,
    "s": ctypes.c_size_t,
    "t": ctypes.c_char_p,
    "o": _Output,
}
# Functions of tensorflow/c/c_api.h by what they return and then take.
_INTERFACE = {
    "p": ("TF_NewStatus", "TF_NewGraph", "TF_NewSessionOptions"),
    "-p": (
        *("TF_DeleteStatus", "TF_DeleteGraph", "TF_DeleteSessionOptions"),
        *("TF_DeleteTensor", "TF_StringInit"),
    ),
    "-pp": ("TF_CloseSession", "TF_DeleteSession"),
    "ip": (
        *("TF_GetCode", "TF_OperationNumOutputs"),
        *("TF_TensorType", "TF_NumDims"),
    ),
    "pp": ("TF_TensorData", "TF_StringGetDataPointer"),
    "tp": ("TF_Message",),
    "sp": ("TF_StringGetSize",),
    "lpi": ("TF_Dim",),
    "io": ("TF_OperationOutputType",),
    "ppt": ("TF_GraphOperationByName",),
    "-pts": ("TF_StringCopy",),
    "pipis": ("TF_AllocateTensor",),
    "ppptpippp": ("TF_LoadSessionFromSavedModel",),
    "-ppppippipipp": ("TF_SessionRun",),
}


class Session:
    """A loaded SavedModel that answers from many threads at once.

    Args:
        folder: The SavedModel, with `saved_model.pb` in it.
        libraries: Paths of TensorFlow's shared libraries, the one that the
            others take their symbols from first.
        disable_xla: Whether to switch XLA off, as TF Serving does. This holds
            for the whole process, Python's own compiled functions included.

    Raises:
        SessionError: With TensorFlow's own code and message.
    """

    class Error(RuntimeError):
        """What TensorFlow refused: `code` is one of its status codes."""

        def __init__(self, code: int, message: str):
            super().__init__(message)
            self.code = code
            self.message = message

    def __init__(
        self,
        folder: str | pathlib.Path,
        libraries: Sequence[str],
        *,
        disable_xla: bool = False,
    ):
        self._library = library = load(libraries)
        if disable_xla:  # tensorflow::DisableXlaCompilation()
            library._ZN10tensorflow21DisableXlaCompilationEv()
        self._idle = threading.Condition()
        self._running = 0
        self._graph = library.TF_NewGraph()
        self._session = None
        options = library.TF_NewSessionOptions()
        try:
            with self._status() as status:
                self._session = library.TF_LoadSessionFromSavedModel(
                    *(options, None, str(folder).encode()),
                    *((ctypes.c_char_p * 1)(b"serve"), 1),
                    *(self._graph, None, status),
                )
        except SessionError:
            library.TF_DeleteGraph(self._graph)
            raise
        finally:
            library.TF_DeleteSessionOptions(options)

    def run(
        self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]
    ) -> list[np.ndarray]:
        """Feed arrays to tensors of the graph and fetch others, by name.

        Args:
            feeds: Arrays by names such as "serving_default_text:0". Strings
                are arrays of `bytes` or `str`.
            fetches: Names of the tensors wanted.

        Returns:
            The arrays, strings as `bytes`.

        Raises:
            SessionError: With TensorFlow's own code and message.
        """
        with self._in_use() as session, contextlib.ExitStack() as stack:
            inputs = (_Output * len(feeds))(*map(self._output, feeds))
            outputs = (_Output * len(fetches))(*map(self._output, fetches))
            tensors = map(self._tensor, feeds, feeds.values(), inputs)
            tensors = (ctypes.c_void_p * len(feeds))(
                *map(stack.enter_context, tensors)
            )
            results = (ctypes.c_void_p * len(fetches))()
            with self._status() as status:
                self._library.TF_SessionRun(
                    *(session, None),
                    *(inputs, tensors, len(feeds)),
                    *(outputs, results, len(fetches)),
                    *(None, 0, None, status),
                )
            try:
                return [self._to_array(result) for result in results]
            finally:
                # Before the inputs, whose memory they may share.
                for result in results:
                    self._library.TF_DeleteTensor(result)

    def close(self):
        """Wait for the answers under way, then free the session."""
        with self._idle:
            session, self._session = self._session, None
            self._idle.wait_for(lambda: not self._running)
        if session is None:
            return
        for name in ("TF_CloseSession", "TF_DeleteSession"):
            with self._status() as status:
                getattr(self._library, name)(session, status)
        self._library.TF_DeleteGraph(self._graph)

    @contextlib.contextmanager
    def _in_use(self):
        with self._idle:
            if self._session is None:
                raise SessionError(FAILED_PRECONDITION, "It is closed.")
            session = self._session
            self._running += 1
        try:
            yield session
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()

    @contextlib.contextmanager
    def _status(self):
        status = self._library.TF_NewStatus()
        try:
            yield status
            code = self._library.TF_GetCode(status)
            if code:
                message = self._library.TF_Message(status)
                raise SessionError(code, message.decode(errors="replace"))
        finally:
            self._library.TF_DeleteStatus(status)

    def _output(self, name):
        operation, _, index = name.encode().partition(b":")
        found = self._library.TF_GraphOperationByName(self._graph, operation)
        index = int(index or 0)
        if not found or index >= self._library.TF_OperationNumOutputs(found):
            raise SessionError(
                INVALID_ARGUMENT, f"The graph has no tensor {name!r}."
            )
        return _Output(found, index)

    @contextlib.contextmanager
    def _tensor(self, name, array, place):
        data_type = self._library.TF_OperationOutputType(place)
        array = _in_memory(name, np.asarray(array), data_type)
        strings = array.size if data_type == STRING else 0
        tensor = self._library.TF_AllocateTensor(
            data_type,
            (ctypes.c_int64 * array.ndim)(*array.shape),
            array.ndim,
            strings * STRING_SIZE if strings else array.nbytes,
        )
        data = self._library.TF_TensorData(tensor)
        if strings:
            for number, text in enumerate(array.flat):
                place = data + number * STRING_SIZE
                self._library.TF_StringInit(place)
                self._library.TF_StringCopy(place, text, len(text))
        else:
            ctypes.memmove(data, array.ctypes.data, array.nbytes)
        try:
            yield tensor
        finally:
            self._library.TF_DeleteTensor(tensor)  # and its strings

    def _to_array(self, tensor):
        library = self._library
        data_type = library.TF_TensorType(tensor)
        if data_type not in NAMES:
            raise SessionError(
                UNIMPLEMENTED,
                f"NumPy cannot hold a tensor of TensorFlow's type {data_type}.",
            )
        axes = range(library.TF_NumDims(tensor))
        shape = [library.TF_Dim(tensor, axis) for axis in axes]
        array = np.empty(shape, NAMES[data_type])
        data = library.TF_TensorData(tensor)
        if data_type != STRING:
            ctypes.memmove(array.ctypes.data, data, array.nbytes)
            return array
        for number in range(array.size):
            place = data + number * STRING_SIZE
            array.flat[number] = ctypes.string_at(
                library.TF_StringGetDataPointer(place),
                library.TF_StringGetSize(place),
            )
        return array


SessionError = Session.Error


def load(paths: Sequence[str]) -> ctypes.CDLL:
    """Load TensorFlow's C interface from its shared libraries."""
    # It teaches NumPy what bfloat16 is, and comes with TensorFlow.
    import ml_dtypes  # noqa: F401

    # Each library takes its symbols from those before it.
    *_, library = [ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in paths]
    for letters, names in _INTERFACE.items():
        result, *arguments = (_TYPES[letter] for letter in letters)
        for name in names:
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    return library


def _in_memory(name, array, data_type):
    wanted = NAMES.get(data_type)
    if data_type == STRING and array.dtype.kind in "OSU":
        texts = [t.encode() if isinstance(t, str) else t for t in array.flat]
        if all(isinstance(text, bytes) for text in texts):
            strings = np.empty(array.size, object)
            strings[:] = texts
            return strings.reshape(array.shape)
    elif array.dtype.name == wanted:
        return np.ascontiguousarray(array).reshape(array.shape)
    raise SessionError(
        INVALID_ARGUMENT,
        f"Tensor {name!r} takes {'strings' if wanted == 'object' else wanted}. "
        f"Received: {array.dtype}",
    )
