"""A Hugging Face model on disk: its settings and its weights."""

import copy
import dataclasses
import math
import pathlib
import re
from collections.abc import Callable

import numpy as np

from keras_attn.base.json_file import read_fields
from keras_attn.base.variables import assign_rows
from keras_attn.base.variables import without_initial_values
from keras_attn.base.wait_notice import WaitNotice
from keras_attn.models.huggingface.settings import Settings
from keras_attn.models.huggingface.tensor_files import TensorFiles

_GENERATION = "generation_config.json"
# Numbers that are read at once.
_BLOCK = 1_000_000


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Leaves out the first rows, and nothing else."""

    skip: int

    def __call__(self, table):
        return table[self.skip :]


class Checkpoint(Settings):
    """Reads `config.json` and `*.safetensors`, one tensor at a time.

    What `generation_config.json` holds, if there is one, is
    `generation_config`, and otherwise that is None.

    What is read is planned first, by names and shapes, and read at the end by
    `finish`, straight into the variables: a checkpoint that does not fit
    changes nothing, and of one that fits no second copy is held.

    Args:
        folder: Holds `config.json` and `model.safetensors`, or its shards
            with `model.safetensors.index.json`.

    Attributes:
        prefix: What names may begin with, such as "transformer.": published
            checkpoints of bare models leave it out.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"There is no folder {self.folder}.")
        self.prefix = ""
        path = self.folder / "config.json"
        super().__init__(path, read_fields(path))
        self.generation_config = None
        if (self.folder / _GENERATION).is_file():
            self.generation_config = read_fields(self.folder / _GENERATION)
        self._files = TensorFiles(self.folder)
        self._planned = []
        self._initial_values = None

    def make(self, cls: type, **arguments):
        """Make a model whose weights `finish` reads; until then they are 0."""
        with without_initial_values() as self._initial_values:
            return cls(**arguments)

    def part(self, field: str, prefix: str) -> "Checkpoint":
        """One of several models in the folder, of the same plan.

        Args:
            field: Where `config.json` holds its own settings.
            prefix: What the names of its tensors begin with.
        """
        part = copy.copy(self)
        part.config, part.prefix = self.config.get(field), prefix
        part.section = f"{self.section}{field}."
        if not isinstance(part.config, dict):
            raise ValueError(f"{self.says(field)}, which should be settings.")
        return part

    def has(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        return self._real_name(name) is not None

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, which is not read for it."""
        return self._files.shape(self._found(name))

    def tensor(self, name: str) -> np.ndarray:
        """Read a tensor, as float32."""
        return self._files.read(self._found(name))

    def plan(self, variable, *names: str, change: Callable = np.asarray):
        """Note that a weight is to be read from tensors, if they fit.

        Args:
            variable: The weight. Splitting axes, features into heads, needs
                no `change`.
            names: Of the tensors, in most cases one.
            change: From the tensors, as arrays, to the value, such as
                `np.transpose`.
        """
        # Arrays of these shapes that take no memory.
        shapes = [self.shape(name) for name in names]
        found = change(*(np.broadcast_to(np.float32(0), x) for x in shapes))
        wanted = tuple(variable.shape)
        if not _splits(found.shape, wanted):
            raise ValueError(
                f"The tensor {names[0]!r} of {self.folder} does not fit the "
                f"settings in config.json: it gives {found.shape} where "
                f"{wanted} is wanted."
            )
        # By their whole names: each part of a checkpoint has its own prefix.
        found = tuple(map(self._found, names))
        self._planned.append((variable, found, change))

    def finish(self, model, *, fresh=(), unused: str = ""):
        """Read everything that was planned, once it is known to be all.

        Args:
            model: The model, every weight of which must have been planned.
            fresh: Layers that keep the weights they were made with.
            unused: A pattern of the names of tensors, without prefix, that
                the folder may hold beside those planned. Others are refused:
                a model without them would not be the one in the folder.
        """
        known = {id(variable) for variable, _, _ in self._planned}
        known |= {id(weight) for layer in fresh for weight in layer.weights}
        missing = [
            variable.path
            for variable in model.weights
            if id(variable) not in known
        ]
        if missing:
            raise ValueError(f"{self.folder} gives no value to {missing}.")
        self._refuse_rest(unused)
        if self._initial_values is not None:
            self._initial_values.give(
                weight for layer in fresh for weight in layer.weights
            )
        total = len(self._planned)
        with WaitNotice(
            "keras_attn.models", f"reading {self.folder}"
        ) as notice:
            for number, (variable, names, change) in enumerate(self._planned):
                if number % max(total // 10, 1) == 0:
                    notice.say(f"reading {self.folder}, {number} of {total}")
                self._read(variable, names, change)

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
        self._kernel(layer, name, np.transpose)

    def convolution(self, layer, name: str):
        """Plan a linear map that GPT-2 keeps as W itself."""
        self._kernel(layer, name, np.asarray)

    def norm(self, layer, name: str):
        """Plan a layer normalisation, under its new names or the old ones."""
        old = not self.has(f"{name}.weight")
        gamma, beta = ("gamma", "beta") if old else ("weight", "bias")
        self.plan(layer.gamma, f"{name}.{gamma}")
        self.plan(layer.beta, f"{name}.{beta}")

    def table(self, variable, name: str, *, skip: int = 0):
        """Plan an embedding, without its first rows."""
        self.plan(variable, name, change=_Rows(skip))

    def _read(self, variable, names, change):
        if not isinstance(change, _Rows):
            value = change(*map(self.tensor, names))
            variable.assign(value.reshape(variable.shape))
            return
        # In blocks: of the largest tables no copy is held.
        name = self._found(*names)
        size, *others = self.shape(name)
        block = max(_BLOCK // max(math.prod(others), 1), 1)
        for start in range(change.skip, size, block):
            rows = self._files.read_rows(name, start, min(start + block, size))
            rows = rows.reshape(-1, *variable.shape[1:])
            assign_rows(variable, start - change.skip, rows)

    def _kernel(self, layer, name, change):
        self.plan(layer.kernel, f"{name}.weight", change=change)
        if layer.bias is not None:
            self.plan(layer.bias, f"{name}.bias")

    def _real_name(self, name):
        for real_name in (self.prefix + name, name):
            if real_name in self._files.names:
                return real_name
        return None

    def _found(self, name):
        real_name = self._real_name(name)
        if real_name is None:
            raise ValueError(f"{self.folder} holds no tensor {name!r}.")
        return real_name

    def _refuse_rest(self, unused):
        planned = {
            self._real_name(name)
            for _, names, _ in self._planned
            for name in names
        }
        rest = [
            name
            for name in sorted(self._files.names - planned)
            if not re.fullmatch(unused, name.removeprefix(self.prefix))
        ]
        if rest:
            raise ValueError(
                f"{self.folder} holds tensors that the model has no place for: "
                f"{rest[:5]}{' and more' if len(rest) > 5 else ''}."
            )


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
