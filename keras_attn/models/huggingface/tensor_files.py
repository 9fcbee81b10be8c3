"""Tensors by name, in one safetensors file or in shards with an index."""

import json
import math
import pathlib

import numpy as np

from keras_attn.base.json_file import read_fields
from keras_attn.base.paths import inside

_ONE_FILE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")

# The dtypes of a header. NumPy has no bfloat16: these bits are the upper half
# of a float32.
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}
# As the format's own library has it: no header is longer.
_LONGEST_HEADER = 100_000_000


class TensorFiles:
    """Finds tensors, and reads one at a time.

    The bytes of a tensor are read straight from the file, in every version of
    every library: nothing is mapped into memory, which would count as used,
    so that no checkpoint is there twice.

    Args:
        folder: Holds `model.safetensors`, or its shards with
            `model.safetensors.index.json`.
    """

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self._headers = {}
        self._paths = self._find()

    @property
    def names(self):
        """The names of all tensors, as a set."""
        return self._paths.keys()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, which is not read for it."""
        return self._place(name)[1]

    def read(self, name: str) -> np.ndarray:
        """Read a tensor, as float32."""
        _, shape, _ = self._place(name)
        return self._numbers(name, 0, math.prod(shape)).reshape(shape)

    def read_rows(self, name: str, start: int, stop: int) -> np.ndarray:
        """Read some rows of a tensor, as float32."""
        _, (_, *row), _ = self._place(name)
        size = math.prod(row)
        numbers = self._numbers(name, start * size, (stop - start) * size)
        return numbers.reshape(stop - start, *row)

    def _numbers(self, name, start, count):
        kind, _, offset = self._place(name)
        dtype = np.dtype(_DTYPES[kind])
        offset += start * dtype.itemsize
        path = self._paths[name]
        numbers = np.fromfile(path, dtype, count, offset=offset)
        if len(numbers) < count:
            raise _damaged(path, "it has become shorter")
        if kind == "BF16":
            bits = numbers.astype("<u4")
            bits <<= 16
            return bits.view("<f4")
        return numbers.astype("float32", copy=False)

    def _place(self, name):
        """A tensor's dtype, shape and where in its file it begins."""
        path = self._paths[name]
        if path not in self._headers:
            self._headers[path] = _read_header(path)
        places = self._headers[path]
        if name not in places:
            raise _damaged(path, f"it does not hold the tensor {name!r}")
        if places[name][0] not in _DTYPES:
            raise ValueError(
                f"{path} holds the tensor {name!r} as {places[name][0]}; "
                f"supported are {', '.join(_DTYPES)}."
            )
        return places[name]

    def _find(self):
        if (self.folder / _INDEX).is_file():
            names = read_fields(self.folder / _INDEX).get("weight_map")
            if not isinstance(names, dict):
                raise ValueError(
                    f"{self.folder / _INDEX} has no field 'weight_map'."
                )
        elif (self.folder / _ONE_FILE).is_file():
            path = self.folder / _ONE_FILE
            self._headers[path] = _read_header(path)
            return dict.fromkeys(self._headers[path], path)
        else:
            raise FileNotFoundError(_no_weights(self.folder))
        paths = {
            name: inside(self.folder, file, named_by=_INDEX)
            for name, file in names.items()
        }
        for path in sorted(set(paths.values())):
            if not path.is_file():
                raise FileNotFoundError(
                    f"{self.folder} lacks {path.relative_to(self.folder)}, "
                    f"which {_INDEX} names."
                )
        return paths


def _read_header(path):
    """Each tensor's dtype, shape and first byte, by name.

    The file is the length of its header (8 bytes, the lowest first), the
    header (JSON) and the tensors.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if start == b"version ":
            raise _damaged(path, "it is a pointer of Git LFS (`git lfs pull`)")
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise _damaged(path, "its header is not whole")
        header = file.read(length)
    try:
        fields = json.loads(header)
        fields.pop("__metadata__", None)
        places = {
            name: _checked(field, 8 + length, size)
            for name, field in fields.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(path, f"its header is wrong ({error})") from None
    return places


def _checked(field, begin, size):
    kind, shape = field["dtype"], tuple(field["shape"])
    start, stop = field["data_offsets"]
    width = np.dtype(_DTYPES.get(kind, "u1")).itemsize
    if any(not isinstance(x, int) or x < 0 for x in (*shape, start, stop)):
        raise ValueError("a size is no whole number")
    if kind in _DTYPES and stop - start != math.prod(shape) * width:
        raise ValueError("a tensor is not as long as its shape says")
    if begin + stop > size:
        raise ValueError("a tensor reaches beyond the end of the file")
    return kind, shape, begin + start


def _damaged(path, reason):
    return ValueError(
        f"{path} cannot be read: {reason}. The file is damaged or its download "
        "was not finished."
    )


def _no_weights(folder):
    pickled = [name for name in _PICKLED if (folder / name).is_file()]
    if not pickled:
        return f"{folder} holds no weights: neither {_ONE_FILE} nor {_INDEX}."
    # The class that a pipeline would take may not be the folder's.
    convert = (
        "import sys, transformers as t; "
        "c = t.AutoConfig.from_pretrained(sys.argv[1]); "
        "getattr(t, c.architectures[0]).from_pretrained(sys.argv[1])"
        ".save_pretrained(sys.argv[1])"
    )
    return (
        f"{folder} holds no weights: neither {_ONE_FILE} nor {_INDEX}. "
        f"{pickled[0]} is pickled, and could bring code along, so it is not "
        "read. Where you trust it, convert it with transformers: "
        f'python -c "{convert}" {folder}'
    )
