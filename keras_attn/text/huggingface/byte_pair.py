"""Reads byte-pair encoding: of bytes here, of characters next door."""

import pathlib

from keras_attn.text import files
from keras_attn.text.huggingface import character_pair
from keras_attn.text.huggingface import parts
from keras_attn.text.huggingface.settings import special_tokens
from keras_attn.text.segmentation.pattern_split import PATTERNS


def read(path: pathlib.Path, whole: dict, settings: dict):
    """Make the tokenizer of a `tokenizer.json`."""
    model = whole["model"]
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            parts.refuse(path, f"model.{name}", model[name], "none is")
    steps = parts.steps(path, whole, "pre_tokenizer")
    if "ByteLevel" not in parts.kinds(steps):
        return character_pair.read(path, whole, settings)
    normalizer = parts.kinds(parts.steps(path, whole, "normalizer"))
    for kind in normalizer:
        if kind != "NFC":
            parts.refuse(path, "normalizer", kind, "none and NFC are")
    for kind in parts.kinds(parts.steps(path, whole, "decoder")):
        if kind != "ByteLevel":
            parts.refuse(path, "decoder", kind, "ByteLevel is")
    tokens = parts.vocabulary(path, whole)
    return files.kind_named("BytePairTokenizer")(
        tokens,
        model["merges"],
        **_split(path, steps),
        ignore_merges=bool(model.get("ignore_merges")),
        nfc="NFC" in normalizer,
        special_tokens=special_tokens(settings, tokens),
    )


def read_lines(folder: pathlib.Path, settings: dict):
    """Make the tokenizer of a `vocab.json` and a `merges.txt`."""
    vocabulary = files.read_json(folder / "vocab.json")
    merges = files.read_lines(folder / "merges.txt")
    return files.kind_named("BytePairTokenizer")(
        vocabulary,
        merges,
        prefix_space=bool(settings.get("add_prefix_space")),
        special_tokens=special_tokens(settings, vocabulary),
    )


def _split(path, steps):
    """How text is split, as arguments."""
    *before, last = steps
    for step in [*before, last]:
        if step.get("type") not in ("Split", "ByteLevel"):
            wanted = "ByteLevel, and Split before it, are"
            parts.refuse(path, "pre_tokenizer", step.get("type"), wanted)
    if parts.kinds(steps) == ["ByteLevel"] and last.get("use_regex", True):
        return {"prefix_space": bool(last.get("add_prefix_space", True))}
    if parts.kinds(steps) != ["Split", "ByteLevel"]:
        wanted = "ByteLevel alone, or one Split before it, is"
        parts.refuse(path, "pre_tokenizer", parts.kinds(steps), wanted)
    if last.get("use_regex", True) or last.get("add_prefix_space", True):
        wanted = "after a Split both must be false"
        for name in ("use_regex", "add_prefix_space"):
            if last.get(name, True):
                parts.refuse(path, f"ByteLevel.{name}", True, wanted)
    return {"split": _rule(path, before[0])}


def _rule(path, step):
    if step.get("behavior") != "Isolated" or step.get("invert"):
        how = step.get("behavior"), step.get("invert")
        wanted = "Isolated, not inverted, is"
        parts.refuse(path, "Split.behavior and invert", how, wanted)
    pattern = (step.get("pattern") or {}).get("Regex")
    for rule, known in PATTERNS.items():
        if pattern == known:
            return rule
    wanted = f"those of {', '.join(PATTERNS)} are"
    return parts.refuse(path, "Split.pattern", step.get("pattern"), wanted)
