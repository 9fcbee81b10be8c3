"""The model in a Hugging Face folder, whatever its class."""

import pathlib

from keras_attn.base.json_file import read_fields
from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.huggingface import sentence_folder
from keras_attn.models.preset_model import PresetModel


def from_huggingface(folder, **overrides) -> PresetModel:
    """Read a model that Hugging Face's `save_pretrained` wrote.

    Its class is found by `model_type` in `config.json`, its head by
    `architectures`. A folder of sentence-transformers gives the model without
    a head; how its vectors are pooled is not part of it.

    Args:
        folder: Holds `config.json` and the weights (safetensors).
        overrides: Arguments of the class's constructor, such as `dtype`.
    """
    cls = class_of(folder)
    checkpoint = Checkpoint(sentence_folder.transformer_folder(folder))
    task = {}
    if not sentence_folder.is_one(folder):
        task = cls.checkpoint_task(checkpoint)
    return cls.from_checkpoint(checkpoint, **task | overrides)


def class_of(folder) -> type[PresetModel]:
    """The class of the model in a folder, whose weights are not looked at."""
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    path = sentence_folder.transformer_folder(folder) / "config.json"
    families = families_by_type()
    kind = read_fields(path).get("model_type")
    if kind not in families:
        raise ValueError(
            f"{path} has model_type={kind!r}; supported are {sorted(families)}."
        )
    return families[kind]


def families_by_type() -> dict[str, type[PresetModel]]:
    """The class that reads each `model_type`."""
    return {
        kind: cls
        for cls in _below(PresetModel)
        # A class derived from a model reads as that does, if asked itself.
        for kind in vars(cls).get("readers", ())
    }


def _below(cls):
    for derived in cls.__subclasses__():
        yield derived
        yield from _below(derived)
