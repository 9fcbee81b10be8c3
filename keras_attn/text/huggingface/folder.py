"""Reads tokenizer folders written by Hugging Face's libraries."""

import pathlib

from keras_attn.text import files

# Their names for the parts that special tokens play.
_PARTS = {
    "pad": ("pad_token",),
    "start": ("cls_token", "bos_token"),
    "end": ("sep_token", "eos_token"),
    "unknown": ("unk_token",),
    "mask": ("mask_token",),
}


def read(cls: type, folder: pathlib.Path):
    """Make the tokenizer of a folder, which must be a kind of `cls`."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    if (folder / "vocab.txt").is_file():
        tokenizer = _word_piece(folder)
    elif (folder / "vocab.json").is_file():
        tokenizer = _byte_pair(folder)
    elif (folder / "tokenizer.json").is_file():
        tokenizer = _one_file(folder)
    else:
        raise FileNotFoundError(
            f"{folder} holds no tokenizer: neither vocab.txt, nor vocab.json "
            "with merges.txt, nor tokenizer.json."
        )
    if not isinstance(tokenizer, cls):
        raise ValueError(
            f"{folder} holds a {type(tokenizer).__name__}, not a "
            f"{cls.__name__}. Read it with Tokenizer.from_huggingface."
        )
    return tokenizer


def _word_piece(folder):
    vocabulary = files.read_lines(folder / "vocab.txt")
    settings = _settings(folder)
    # BERT's first release is lower-cased unless its settings say otherwise,
    # and accents go with the case unless they are named.
    lowercase = settings.get("do_lower_case", True)
    strip_accents = settings.get("strip_accents")
    return files.kind_named("WordPieceTokenizer")(
        vocabulary,
        lowercase=lowercase,
        strip_accents=lowercase if strip_accents is None else strip_accents,
        clean_text=True,
        **_unknown(settings),
        special_tokens=_special_tokens(settings, vocabulary),
    )


def _byte_pair(folder):
    vocabulary = files.read_json(folder / "vocab.json")
    merges = files.read_lines(folder / "merges.txt")
    settings = _settings(folder)
    _refuse_prefix_space(folder, settings)
    return files.kind_named("BytePairTokenizer")(
        vocabulary,
        merges,
        special_tokens=_special_tokens(settings, vocabulary),
    )


def _one_file(folder):
    path = folder / "tokenizer.json"
    whole = files.read_json(path)
    model, settings = whole.get("model") or {}, _settings(folder)
    vocabulary = dict(model.get("vocab") or {})
    for token in whole.get("added_tokens") or ():
        vocabulary.setdefault(token["content"], token["id"])
    special_tokens = _special_tokens(settings, vocabulary)
    if model.get("type") == "BPE":
        _refuse_prefix_space(folder, whole.get("pre_tokenizer") or {})
        return files.kind_named("BytePairTokenizer")(
            vocabulary, model["merges"], special_tokens=special_tokens
        )
    if model.get("type") == "WordPiece":
        normalizer = whole.get("normalizer") or {}
        lowercase = bool(normalizer.get("lowercase"))
        strip_accents = normalizer.get("strip_accents")
        return files.kind_named("WordPieceTokenizer")(
            _in_order(path, vocabulary),
            lowercase=lowercase,
            strip_accents=lowercase if strip_accents is None else strip_accents,
            clean_text=bool(normalizer.get("clean_text")),
            unknown_token=model["unk_token"],
            special_tokens=special_tokens,
        )
    raise ValueError(
        f"{path} holds a model of type {model.get('type')!r}; WordPiece and "
        "byte-level BPE can be read."
    )


def _settings(folder):
    """Settings of all the files that may hold some."""
    settings = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            settings.update(files.read_json(folder / name))
    return settings


def _content(token):
    return token["content"] if isinstance(token, dict) else token


def _unknown(settings):
    token = _content(settings.get("unk_token"))
    return {} if token is None else {"unknown_token": token}


def _special_tokens(settings, vocabulary):
    vocabulary, chosen = set(vocabulary), {}
    for part, names in _PARTS.items():
        for name in names:
            token = _content(settings.get(name))
            if token in vocabulary:
                chosen.setdefault(part, token)
    return chosen


def _refuse_prefix_space(folder, settings):
    if settings.get("add_prefix_space"):
        raise ValueError(
            f"{folder} sets add_prefix_space, which is not supported. Put a "
            "space before each text, and clear the setting."
        )


def _in_order(path, vocabulary):
    tokens = sorted(vocabulary, key=vocabulary.get)
    if [vocabulary[token] for token in tokens] != list(range(len(tokens))):
        raise ValueError(f"The ids in {path} are not 0, 1, 2, ... without gap.")
    return tokens
