"""A Hugging Face model on disk: its settings and its weights."""

import contextlib
import json
import pathlib

import numpy as np

from keras_attn.base.paths import inside
from keras_attn.extras import require

_ONE_FILE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_GENERATION = "generation_config.json"
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
}


class Checkpoint:
    """Reads `config.json` and `*.safetensors`, one tensor at a time.

    What `generation_config.json` holds, if there is one, is
    `generation_config`, and otherwise that is None.

    What is read is planned first and assigned at the end by `finish`, so that
    a checkpoint that does not fit changes nothing.

    Args:
        folder: Holds `config.json` and `model.safetensors`, or its shards
            with `model.safetensors.index.json`.
        prefix: What names may begin with, such as "transformer.": published
            checkpoints of bare models leave it out.
    """

    def __init__(self, folder, *, prefix: str):
        self.folder = pathlib.Path(folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"There is no folder {self.folder}.")
        self.prefix = prefix
        self.config = self._read_json("config.json")
        self.generation_config = None
        if (self.folder / _GENERATION).is_file():
            self.generation_config = self._read_json(_GENERATION)
        self._files = self._find_tensors()
        self._planned = []

    def setting(self, field: str, default=None):
        """A number of `config.json`, which must be there without default."""
        value = self.config.get(field, default)
        if value is None:
            raise ValueError(
                f"{self.folder / 'config.json'} has no field {field!r}."
            )
        if not isinstance(value, (int, float)):
            raise ValueError(
                f"{self.folder / 'config.json'} has {field}={value!r}, which "
                "should be a number."
            )
        return value

    def expect(self, **fields):
        """Refuse settings that the model here does not have.

        Args:
            fields: For each field the only value that is supported, which is
                also what a field means that is missing or null.
        """
        for field, wanted in fields.items():
            found = self.config.get(field, wanted)
            if found is not None and found != wanted:
                raise ValueError(
                    f"{self.folder / 'config.json'} has {field}={found!r}; "
                    f"only {wanted!r} is supported."
                )

    def choose(self, field: str, choices: dict, default: str):
        """Translate a field by a table; another value is refused."""
        value = self.config.get(field, default)
        if value not in choices:
            raise ValueError(
                f"{self.folder / 'config.json'} has {field}={value!r}; "
                f"supported are {sorted(choices)}."
            )
        return choices[value]

    def activation(self, field: str, default: str) -> str:
        """Our name for the activation that a field names."""
        return self.choose(field, _ACTIVATIONS, default)

    def has(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        return self._real_name(name) is not None

    def tensor(self, name: str) -> np.ndarray:
        """Read a tensor, as float32."""
        real_name = self._real_name(name)
        if real_name is None:
            raise ValueError(f"{self.folder} holds no tensor {name!r}.")
        with _open(self._files[real_name]) as file:
            return np.asarray(file.get_tensor(real_name), "float32")

    def plan(self, variable, value: np.ndarray, name: str):
        """Note that a weight is to get a value, if it fits."""
        wanted = tuple(variable.shape)
        if not _splits(value.shape, wanted):
            raise ValueError(
                f"The tensor {name!r} of {self.folder} does not fit the "
                f"settings in config.json: it gives {value.shape} where "
                f"{wanted} is wanted."
            )
        self._planned.append((variable, value.reshape(wanted)))

    def finish(self, model, *, fresh=()):
        """Assign everything that was planned, once it is known to be all.

        Args:
            model: The model, every weight of which must have been planned.
            fresh: Layers that keep the weights they were made with.
        """
        known = {id(variable) for variable, _ in self._planned}
        known |= {id(weight) for layer in fresh for weight in layer.weights}
        missing = [
            variable.path
            for variable in model.weights
            if id(variable) not in known
        ]
        if missing:
            raise ValueError(f"{self.folder} gives no value to {missing}.")
        for variable, value in self._planned:
            variable.assign(value)

    def encoder_block(
        self, block, name: str, *, attention: str, norms: tuple[str, str]
    ):
        """Plan a block of BERT or one of its kin.

        Args:
            block: An `EncoderBlock`.
            name: What its tensors' names begin with.
            attention: Where query, key and value stand in it.
            norms: The norms' names, first that of attention.
        """
        own, feed = block.self_attention, block.feed_forward
        for layer, part in (
            (own.query_dense, f"{attention}.query"),
            (own.key_dense, f"{attention}.key"),
            (own.value_dense, f"{attention}.value"),
            (own.output_dense, "attention.output.dense"),
            (feed.hidden_dense, "intermediate.dense"),
            (feed.output_dense, "output.dense"),
        ):
            self.dense(layer, f"{name}.{part}")
        residuals = block.attention_residual, block.feed_forward_residual
        for residual, part in zip(residuals, norms, strict=True):
            self.norm(residual.normalize, f"{name}.{part}")

    def dense(self, layer, name: str):
        """Plan a linear map; torch keeps W transposed."""
        self._kernel(layer, self.tensor(f"{name}.weight").T, name)

    def convolution(self, layer, name: str):
        """Plan a linear map that GPT-2 keeps as W itself."""
        self._kernel(layer, self.tensor(f"{name}.weight"), name)

    def norm(self, layer, name: str):
        """Plan a layer normalisation, under its new names or the old ones."""
        old = not self.has(f"{name}.weight")
        gamma, beta = ("gamma", "beta") if old else ("weight", "bias")
        for variable, part in ((layer.gamma, gamma), (layer.beta, beta)):
            full = f"{name}.{part}"
            self.plan(variable, self.tensor(full), full)

    def table(self, variable, name: str, *, skip: int = 0):
        """Plan an embedding, without its first rows."""
        self.plan(variable, self.tensor(name)[skip:], name)

    def _kernel(self, layer, kernel, name):
        self.plan(layer.kernel, kernel, f"{name}.weight")
        if layer.bias is not None:
            self.plan(layer.bias, self.tensor(f"{name}.bias"), f"{name}.bias")

    def _real_name(self, name):
        for real_name in (self.prefix + name, name):
            if real_name in self._files:
                return real_name
        return None

    def _find_tensors(self):
        if (self.folder / _INDEX).is_file():
            names = self._read_json(_INDEX).get("weight_map")
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

    def _read_json(self, name):
        path = self.folder / name
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


def _splits(shape, wanted):
    """Whether splitting axes, features into heads, leads to `wanted`."""
    sizes = list(wanted)
    for size in shape:
        product = 1
        while product < size and sizes:
            product *= sizes.pop(0)
        if product != size:
            return False
    return all(size == 1 for size in sizes)
