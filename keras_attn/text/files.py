"""Tokenizers as folders of plain text files."""

import hashlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterable

from keras_attn.base import json_file
from keras_attn.base.paths import inside
from keras_attn.text.template import Template

# Not tokenizer.json, which Hugging Face would take for its own.
_SETTINGS = "settings.json"
_KINDS: dict[str, type] = {}


def register(kind: type) -> type:
    """Class decorator: let `load` make this kind of tokenizer."""
    _KINDS[kind.__name__] = kind
    return kind


def kind_named(name: str) -> type:
    """The registered class of this name."""
    return _KINDS[name]


def save(tokenizer, folder: pathlib.Path) -> None:
    """Write a tokenizer; its settings come last and vouch for the rest."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".partial_") as partial:
        partial = pathlib.Path(partial)
        tokenizer.write_vocabulary(partial)
        written = sorted(partial.iterdir())
        settings = {
            "kind": type(tokenizer).__name__,
            "config": tokenizer.get_config(),
            **_beside(tokenizer),
            "sha256": {path.name: _digest(path) for path in written},
        }
        (partial / _SETTINGS).write_text(
            json.dumps(settings, indent=2, ensure_ascii=False) + "\n",
            encoding="utf-8",
        )
        for path in [*written, partial / _SETTINGS]:
            os.replace(path, folder / path.name)


def load(cls: type, folder: pathlib.Path):
    """Make the tokenizer that was saved, which must be a kind of `cls`."""
    path = folder / _SETTINGS
    settings = read_json(path)
    try:
        kind, config = settings["kind"], settings["config"]
        digests = settings["sha256"]
    except (KeyError, TypeError):
        raise ValueError(
            f"{path} was not written by a tokenizer's `save`. A folder from "
            "Hugging Face is read by `from_huggingface`."
        ) from None
    if kind not in _KINDS:
        raise ValueError(f"{path} names {kind!r}; known are {sorted(_KINDS)}.")
    if not issubclass(_KINDS[kind], cls):
        raise ValueError(
            f"{folder} holds a {kind}, not a {cls.__name__}. Read it with "
            f"{kind}.load or Tokenizer.load."
        )
    for name, digest in digests.items():
        path = inside(folder, name, named_by=_SETTINGS)
        if not path.is_file():
            raise FileNotFoundError(f"{folder} lacks {name}: save it again.")
        if _digest(path) != digest:
            raise ValueError(
                f"{path} is not the file that was saved: it was "
                "changed, or its writing was interrupted. Save it again."
            )
    tokenizer = _KINDS[kind](*_KINDS[kind].read_vocabulary(folder), **config)
    if settings.get("added_tokens"):
        tokenizer.added_tokens = settings["added_tokens"]
    if settings.get("template"):
        tokenizer.template = Template(**settings["template"])
    return tokenizer


def write_lines(path: pathlib.Path, tokens: Iterable[str]) -> None:
    """Write one token on each line."""
    tokens = list(tokens)
    for token in tokens:
        if "\n" in token:
            raise ValueError(
                "A token with a line break cannot be a line of "
                f"{path.name}. Received: {token!r}"
            )
    # Not `write_text`: on some systems it would change the line ends.
    path.write_bytes("".join(f"{token}\n" for token in tokens).encode())


def read_lines(path: pathlib.Path) -> list[str]:
    """Read one token from each line, ended by "\\n" or "\\r\\n"."""
    # Not `splitlines`: a token may be U+2028 or another sign it splits at.
    lines = read_text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_json(path: pathlib.Path):
    """Read a JSON file, naming it if it is broken."""
    return json_file.parse(read_text(path), path)


def read_text(path: pathlib.Path) -> str:
    """Read a UTF-8 file, naming it if it is missing or broken."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not valid UTF-8: {error}") from None


def _beside(tokenizer):
    """What a tokenizer of any kind may have."""
    found = {}
    if tokenizer.added_tokens:
        found["added_tokens"] = tokenizer.added_tokens
    if tokenizer.template is not None:
        found["template"] = tokenizer.template.get_config()
    return found


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
