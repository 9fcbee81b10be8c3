"""What the files beside a vocabulary say: special tokens, casing."""

import pathlib
from collections.abc import Collection

from keras_attn.text import files

# Their names for the parts that special tokens play.
_PARTS = {
    "pad": ("pad_token",),
    "start": ("cls_token", "bos_token"),
    "end": ("sep_token", "eos_token"),
    "unknown": ("unk_token",),
    "mask": ("mask_token",),
}


def read(folder: pathlib.Path) -> dict:
    """Settings of all the files that may hold some, as one dictionary."""
    settings = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            found = files.read_json(folder / name)
            if not isinstance(found, dict):
                raise ValueError(f"{folder / name} must hold an object.")
            settings.update(found)
    return settings


def special_tokens(settings: dict, vocabulary: Collection[str]) -> dict:
    """Token by part, of the tokens that the vocabulary has."""
    vocabulary, chosen = set(vocabulary), {}
    for part, names in _PARTS.items():
        for name in names:
            token = content(settings.get(name))
            if token in vocabulary:
                chosen.setdefault(part, token)
    return chosen


def content(token) -> str | None:
    """A token's text, whether it is written with its settings or without."""
    return token["content"] if isinstance(token, dict) else token
