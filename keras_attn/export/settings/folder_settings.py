"""What a Hugging Face folder says of a model beside its weights."""

import inspect
import pathlib
from collections.abc import Mapping

from keras_attn import decoding
from keras_attn.base.json_file import read_fields
from keras_attn.image.preprocessing import Preprocessing
from keras_attn.models.bert.model import BERT
from keras_attn.models.huggingface import sentence_folder
from keras_attn.models.transformer.model import Transformer
from keras_attn.models.transformer_captioner.model import TransformerCaptioner
from keras_attn.models.vit.model import ViT
from keras_attn.text.tokenizer import Tokenizer

_CONFIG = "config.json"
_GENERATION = "generation_config.json"
# Of models whose positions have no end, such as T5's.
_USUAL_SOURCE = 512


def read(folder: pathlib.Path, cls: type, given: Mapping) -> dict:
    """Read what `export_model` takes, before any weight is read.

    Args:
        folder: Holds `config.json` and, as the class of the model asks, a
            tokenizer, `preprocessor_config.json` and `generation_config.json`.
        cls: The model's class.
        given: Settings that the caller has chosen, which win.

    Returns:
        The settings, those that were given included.

    Raises:
        ValueError: If a file says what cannot be served, with its name.
        FileNotFoundError: If one is missing.
    """
    found = {}
    if sentence_folder.is_one(folder):
        found |= sentence_folder.settings(folder)
        folder = sentence_folder.transformer_folder(folder)
    config = read_fields(folder / _CONFIG)
    if not issubclass(cls, ViT):
        found["tokenizer"] = Tokenizer.from_huggingface(folder)
        _check_size(folder, config, given.get("tokenizer", found["tokenizer"]))
    if issubclass(cls, (ViT, TransformerCaptioner)):
        found["preprocessing"] = Preprocessing.from_huggingface(folder)
    if issubclass(cls, BERT) and _has_several_labels(config):
        found["multi_label"] = True
    if issubclass(cls, Transformer):
        # How long answers are says nothing of sources.
        found["source_length"] = _positions(config)
    if callable(getattr(cls, "step", None)):
        found |= _search(folder, config, given.get("search"))
    return found | given


def labels_of(folder: pathlib.Path, num_classes: int) -> list[str]:
    """The names of a model's classes, those that transformers gives."""
    names = read_fields(folder / _CONFIG).get("id2label")
    if names is None:
        # Where a file has none, it is what transformers calls them.
        return [f"LABEL_{number}" for number in range(num_classes)]
    numbers = list(map(str, range(num_classes)))
    if not isinstance(names, dict) or sorted(names) != sorted(numbers):
        raise ValueError(
            f"{folder / _CONFIG} has an id2label of other classes than the "
            f"{num_classes} of the weights."
        )
    return [str(names[number]) for number in numbers]


def _search(folder, config, chosen):
    path = folder / _GENERATION
    generation = read_fields(path) if path.is_file() else {}
    try:
        settings = decoding.search_settings(generation, config)
    except ValueError as error:
        # It begins with the name of the file.
        raise ValueError(f"{folder}/{error}") from None
    search = chosen or settings["search"]
    # Another search than the folder's has other options.
    taken = inspect.signature(getattr(decoding, search)).parameters
    kept = {name: settings[name] for name in settings if name in taken}
    return {**kept, "search": search}


def _positions(config):
    for field in ("max_position_embeddings", "n_positions"):
        if isinstance(config.get(field), int):
            return config[field]
    return _USUAL_SOURCE


def _has_several_labels(config):
    (name, *_) = config.get("architectures") or [""]
    several = config.get("problem_type") == "multi_label_classification"
    return several and name.endswith("ForSequenceClassification")


def _check_size(folder, config, tokenizer):
    decoder = config.get("decoder")
    if isinstance(decoder, dict):
        config = decoder
    size = config.get("vocab_size")
    both = tokenizer if isinstance(tokenizer, dict) else {"": tokenizer}
    for each in both.values():
        if isinstance(size, int) and each.vocabulary_size > size:
            raise ValueError(
                f"{folder / _CONFIG} has vocab_size={size}, and the tokenizer "
                f"of the folder has {each.vocabulary_size} ids. It is not the "
                "one that the model was trained with."
            )
