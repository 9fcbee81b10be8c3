"""Reads WordPiece: BERT, DistilBERT, many sentence embedders."""

import pathlib

from keras_attn.text import files
from keras_attn.text.huggingface import parts
from keras_attn.text.huggingface.settings import content
from keras_attn.text.huggingface.settings import special_tokens


def read(path: pathlib.Path, whole: dict, settings: dict):
    """Make the tokenizer of a `tokenizer.json`."""
    model, normalizer = whole["model"], {}
    for step in parts.steps(path, whole, "normalizer"):
        if step.get("type", "BertNormalizer") != "BertNormalizer":
            parts.refuse(path, "normalizer", step["type"], "BertNormalizer is")
        normalizer = step
    if normalizer.get("handle_chinese_chars") is False:
        name = "normalizer.handle_chinese_chars"
        parts.refuse(path, name, False, "true is")
    for kind in parts.kinds(parts.steps(path, whole, "pre_tokenizer")):
        if kind != "BertPreTokenizer":
            parts.refuse(path, "pre_tokenizer", kind, "BertPreTokenizer is")
    mark = model.get("continuing_subword_prefix", "##")
    if mark != "##":
        parts.refuse(path, "model.continuing_subword_prefix", mark, '"##" is')
    tokens = parts.vocabulary(path, whole)
    lowercase = bool(normalizer.get("lowercase"))
    strip_accents = normalizer.get("strip_accents")
    return files.kind_named("WordPieceTokenizer")(
        tokens,
        lowercase=lowercase,
        strip_accents=lowercase if strip_accents is None else strip_accents,
        clean_text=bool(normalizer.get("clean_text")),
        unknown_token=model["unk_token"],
        special_tokens=special_tokens(settings, tokens),
    )


def read_lines(folder: pathlib.Path, settings: dict):
    """Make the tokenizer of a `vocab.txt`."""
    vocabulary = files.read_lines(folder / "vocab.txt")
    # BERT's first release is lower-cased unless its settings say otherwise,
    # and accents go with the case unless they are named.
    lowercase = settings.get("do_lower_case", True)
    strip_accents = settings.get("strip_accents")
    unknown = content(settings.get("unk_token"))
    return files.kind_named("WordPieceTokenizer")(
        vocabulary,
        lowercase=lowercase,
        strip_accents=lowercase if strip_accents is None else strip_accents,
        clean_text=True,
        **({} if unknown is None else {"unknown_token": unknown}),
        special_tokens=special_tokens(settings, vocabulary),
    )
