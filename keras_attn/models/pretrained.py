"""The model in a Hugging Face folder, whatever its class."""

from keras_attn.models import sentence_folder
from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.preset_model import PresetModel


def from_huggingface(folder, **overrides) -> PresetModel:
    """Read a model that Hugging Face's `save_pretrained` wrote.

    Its class is found by `model_type` in `config.json`, its head by
    `architectures`. A folder of sentence-transformers gives the model without
    a head, whose vectors are pooled as `sentence_folder.settings` says.

    Args:
        folder: Holds `config.json` and the weights (safetensors).
        overrides: Arguments of the class's constructor, such as `dtype`.
    """
    checkpoint = Checkpoint(sentence_folder.transformer_folder(folder))
    families = families_by_type()
    kind = checkpoint.config.get("model_type")
    if kind not in families:
        raise ValueError(
            f"{checkpoint.folder / 'config.json'} has model_type={kind!r}; "
            f"supported are {sorted(families)}."
        )
    cls = families[kind]
    task = {}
    if not sentence_folder.is_one(folder):
        task = cls.checkpoint_task(checkpoint)
    return cls.from_checkpoint(checkpoint, **task | overrides)


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
