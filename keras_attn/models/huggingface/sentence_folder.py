"""Folders of sentence-transformers: a model, and how its vectors are pooled."""

import json
import pathlib

from keras_attn.base.json_file import read_fields
from keras_attn.base.paths import inside

_MODULES = "modules.json"
# Our poolings by their names, which are older or newer.
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "mean": "mean",
    "cls": "first",
}
_TEXT_SETTINGS = "sentence_{}_config.json"
_KINDS = ("bert", "roberta", "distilbert", "xlm-roberta")


def is_one(folder) -> bool:
    """Whether sentence-transformers wrote a folder."""
    return (pathlib.Path(folder) / _MODULES).is_file()


def transformer_folder(folder) -> pathlib.Path:
    """Where the model's weights are; the folder itself if it is no such."""
    folder = pathlib.Path(folder)
    if not is_one(folder):
        return folder
    return inside(folder, _modules(folder)["Transformer"], named_by=_MODULES)


def settings(folder) -> dict:
    """What `export_model` needs beside the model and its tokenizer.

    Args:
        folder: Written by sentence-transformers' `save`.

    Returns:
        `{"pooling", "normalize"}`, and `"max_length"` if it is said: the
        arguments of `TextEmbedding`.

    Raises:
        ValueError: If the folder does what `TextEmbedding` does not.
    """
    folder = pathlib.Path(folder)
    modules = _modules(folder)
    model = transformer_folder(folder)
    _refuse_prompt(folder / "config_sentence_transformers.json")
    path = inside(folder, modules["Pooling"], named_by=_MODULES)
    found = {
        "pooling": _pooling(path / "config.json"),
        "normalize": "Normalize" in modules,
    }
    length = _text_settings(model)
    return found if length is None else {**found, "max_length": length}


def _modules(folder):
    """Paths by the kinds of the modules, which are those that we know."""
    path = folder / _MODULES
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
        kinds = [module["type"].split(".")[-1] for module in modules]
        paths = [module["path"] for module in modules]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is not a list of modules, each with type and path: "
            f"{error!r}"
        ) from None
    if kinds not in (
        ["Transformer", "Pooling"],
        ["Transformer", "Pooling", "Normalize"],
    ):
        raise ValueError(
            f"{path} has modules of the types {kinds}; supported are "
            "Transformer, Pooling and, if there is one, Normalize."
        )
    return dict(zip(kinds, paths, strict=True))


def _pooling(path):
    config = read_fields(path)
    named = config.get("pooling_mode")
    if named is None:
        chosen = [
            key
            for key, value in config.items()
            if key.startswith("pooling_mode_") and value
        ]
    else:
        chosen = [named] if isinstance(named, str) else list(named)
    if len(chosen) != 1 or chosen[0] not in _POOLINGS:
        raise ValueError(
            f"{path} has the pooling {chosen}; supported is one of "
            f"{list(_POOLINGS)}."
        )
    return _POOLINGS[chosen[0]]


def _refuse_prompt(path):
    if not path.is_file():
        return
    config = read_fields(path)
    name = config.get("default_prompt_name")
    prompt = (config.get("prompts") or {}).get(name)
    if prompt:
        raise ValueError(
            f"{path} has default_prompt_name={name!r}, whose text {prompt!r} "
            "is put before every other; that is not supported. Clear the "
            "setting, and send texts that begin so."
        )


def _text_settings(folder):
    """The most tokens of a text, or None; the rest must be what is usual."""
    paths = [folder / _TEXT_SETTINGS.format(kind) for kind in _KINDS]
    path = next((path for path in paths if path.is_file()), None)
    config = {} if path is None else read_fields(path)
    tokens = {}
    if (folder / "tokenizer_config.json").is_file():
        tokens = read_fields(folder / "tokenizer_config.json")
    task = config.get("transformer_task", "feature-extraction")
    if task != "feature-extraction":
        raise ValueError(
            f"{path} has transformer_task={task!r}; only 'feature-extraction' "
            "is supported."
        )
    if config.get("do_lower_case") and not _makes_small(folder, tokens):
        raise ValueError(
            f"{path} has do_lower_case=true, and the tokenizer leaves letters "
            "as they are; that is not supported. Send texts in small letters, "
            "and clear the setting."
        )
    length = config.get("max_seq_length") or tokens.get("model_max_length")
    # A number as large as this stands for no limit.
    return length if length is not None and length < 1e9 else None


def _makes_small(folder, tokens):
    if (folder / "tokenizer.json").is_file():
        normalizer = read_fields(folder / "tokenizer.json").get("normalizer")
        return bool((normalizer or {}).get("lowercase"))
    return tokens.get("do_lower_case", False)
