"""Reads tokenizer folders written by Hugging Face's libraries."""

import pathlib

from keras_attn.text import files
from keras_attn.text.huggingface import byte_pair
from keras_attn.text.huggingface import marian
from keras_attn.text.huggingface import one_model
from keras_attn.text.huggingface import settings as settings_files
from keras_attn.text.huggingface import template
from keras_attn.text.huggingface import unigram
from keras_attn.text.huggingface import word_piece

# By the type of the model in a `tokenizer.json`.
_READERS = {
    "BPE": byte_pair.read,
    "Unigram": unigram.read,
    "WordPiece": word_piece.read,
}


def read(cls: type, folder: pathlib.Path):
    """Make the tokenizer of a folder, which must be a kind of `cls`.

    A folder with source.spm and target.spm holds two: a dictionary.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    settings = settings_files.read(folder)
    if (folder / "source.spm").is_file():
        tokenizer = marian.read(folder)
    elif (folder / "tokenizer.json").is_file():
        tokenizer = _one_file(folder / "tokenizer.json", settings)
    elif (folder / "vocab.txt").is_file():
        tokenizer = word_piece.read_lines(folder, settings)
    elif (folder / "vocab.json").is_file():
        tokenizer = byte_pair.read_lines(folder, settings)
    else:
        tokenizer = one_model.read(folder, settings)
        if tokenizer is None:
            raise FileNotFoundError(
                f"{folder} holds no tokenizer: neither vocab.txt, nor "
                "vocab.json with merges.txt, nor tokenizer.json, nor a model "
                "of SentencePiece."
            )
    both = tokenizer if isinstance(tokenizer, dict) else {"": tokenizer}
    for each in both.values():
        if not isinstance(each, cls):
            raise ValueError(
                f"{folder} holds a {type(each).__name__}, not a "
                f"{cls.__name__}. Read it with Tokenizer.from_huggingface."
            )
    return tokenizer


def _one_file(path, settings):
    whole = files.read_json(path)
    model = whole.get("model") if isinstance(whole, dict) else None
    if not isinstance(model, dict):
        raise ValueError(f"{path} is no tokenizer: it has no 'model'.")
    kind = model.get("type")
    if kind not in _READERS:
        raise ValueError(
            f"{path} holds a model of type {kind!r}; {', '.join(_READERS)} can "
            "be read."
        )
    try:
        tokenizer = _READERS[kind](path, whole, settings)
        added = whole.get("added_tokens")
        if added:
            tokenizer.added_tokens = added
        tokenizer.template = template.read(path, whole)
    except KeyError as error:
        raise ValueError(f"{path} lacks the key {error}.") from None
    return tokenizer
