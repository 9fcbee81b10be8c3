"""Tensors by name, in one safetensors file or in shards with an index."""

import contextlib
import json
import pathlib

import numpy as np

from keras_attn.base.paths import inside
from keras_attn.extras import require

_ONE_FILE = "model.safetensors"
_INDEX = "model.safetensors.index.json"


class TensorFiles:
    """Finds tensors, and reads one at a time.

    A file is open for one tensor only: what is mapped into memory would count
    as used, and a checkpoint be there twice.

    Args:
        folder: Holds `model.safetensors`, or its shards with
            `model.safetensors.index.json`.
    """

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self._paths = self._find()

    @property
    def names(self):
        """The names of all tensors, as a set."""
        return self._paths.keys()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, which is not read for it."""
        with _open(self._paths[name]) as file:
            return tuple(file.get_slice(name).get_shape())

    def read(self, name: str) -> np.ndarray:
        """Read a tensor, as float32."""
        with _open(self._paths[name]) as file:
            return np.asarray(file.get_tensor(name), "float32")

    def read_rows(self, name: str, start: int, stop: int) -> np.ndarray:
        """Read some rows of a tensor, as float32."""
        with _open(self._paths[name]) as file:
            rows = file.get_slice(name)[start:stop]
            return np.asarray(rows, "float32")

    def _find(self):
        if (self.folder / _INDEX).is_file():
            names = read_json(self.folder / _INDEX).get("weight_map")
            if not isinstance(names, dict):
                raise ValueError(
                    f"{self.folder / _INDEX} has no field 'weight_map'."
                )
        elif (self.folder / _ONE_FILE).is_file():
            with _open(self.folder / _ONE_FILE) as file:
                names = dict.fromkeys(file.keys(), _ONE_FILE)
        else:
            raise FileNotFoundError(
                f"{self.folder} holds no weights: neither {_ONE_FILE} nor "
                f"{_INDEX}. Older checkpoints (*.bin) are saved again by "
                "transformers' `save_pretrained`."
            )
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


def read_json(path: pathlib.Path) -> dict:
    """Read the fields of a JSON file."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{path} is not a JSON object with fields.")
    return fields


@contextlib.contextmanager
def _open(path):
    safetensors = require("safetensors", extra="pretrained")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            yield file
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"{path} cannot be read: {error}. The file is damaged or its "
            "download was not finished."
        ) from error
