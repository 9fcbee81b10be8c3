"""Reads SentencePiece's byte-pair encoding: Llama 2, Mistral, Gemma."""

import pathlib

from keras_attn.text import files
from keras_attn.text.huggingface import parts
from keras_attn.text.huggingface.settings import special_tokens
from keras_attn.text.sentence_piece.marked_words import MARK

_PREPEND = {"type": "Prepend", "prepend": MARK}
_REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
_RESTORE = {"type": "Replace", "pattern": {"String": MARK}, "content": " "}
_STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
# Finds no space after `_REPLACE`: Gemma's files have it.
_NO_SPLIT = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}


def read(path: pathlib.Path, whole: dict, settings: dict):
    """Make the tokenizer of a `tokenizer.json`."""
    model = whole["model"]
    tokens = parts.vocabulary(path, whole)
    byte_fallback = bool(model.get("byte_fallback"))
    unknown = model.get("unk_token")
    if unknown is None and not byte_fallback:
        wanted = "without byte_fallback a token is needed"
        parts.refuse(path, "model.unk_token", unknown, wanted)
    if model.get("ignore_merges"):
        parts.refuse(path, "model.ignore_merges", True, "false is")
    chosen = special_tokens(settings, tokens)
    if unknown is not None:
        chosen["unknown"] = unknown
    return files.kind_named("CharacterPairTokenizer")(
        tokens,
        model["merges"],
        **_words(path, whole),
        byte_fallback=byte_fallback,
        fuse_unknown=bool(model.get("fuse_unk")),
        strip_prefix=_strips(path, whole, byte_fallback),
        special_tokens=chosen,
    )


def _words(path, whole):
    """What becomes of spaces, as arguments."""
    normalizer = parts.steps(path, whole, "normalizer")
    for step in normalizer:
        if step not in (_PREPEND, _REPLACE):
            wanted = f"Prepend {MARK} and Replace ' ' by {MARK} are"
            parts.refuse(path, "normalizer", step, wanted)
    prepends, replaces = _PREPEND in normalizer, _REPLACE in normalizer
    chosen = {"prefix": "text" if prepends else "never", "split": False}
    for step in parts.steps(path, whole, "pre_tokenizer"):
        if step.get("type") == "Metaspace" and not replaces:
            if step.get("replacement", MARK) != MARK or prepends:
                wanted = f"{MARK} is, without Prepend"
                parts.refuse(path, "Metaspace", step, wanted)
            # Older files have a boolean.
            always = "always" if step.get("add_prefix_space") else "never"
            chosen["prefix"] = step.get("prepend_scheme", always)
            chosen["split"] = step.get("split", True)
            replaces = True
        elif not (step == _NO_SPLIT and replaces):
            wanted = "none and Metaspace are"
            parts.refuse(path, "pre_tokenizer", step.get("type"), wanted)
    if not replaces:
        wanted = "byte-pair encoding needs ByteLevel, Metaspace or Replace"
        parts.refuse(path, "pre_tokenizer", None, wanted)
    return chosen


def _strips(path, whole, byte_fallback):
    """Whether the decoder takes the first space away."""
    steps = parts.steps(path, whole, "decoder")
    first = [_RESTORE]
    if byte_fallback:
        first.append({"type": "ByteFallback"})
    first.append({"type": "Fuse"})
    if steps not in (first, [*first, _STRIP]):
        wanted = f"{', '.join(parts.kinds(first))}, and Strip after, are"
        parts.refuse(path, "decoder", parts.kinds(steps), wanted)
    return steps[-1] == _STRIP
