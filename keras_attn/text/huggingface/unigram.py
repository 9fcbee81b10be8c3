"""Reads unigram models of `tokenizer.json`: T5, XLM-R, ALBERT."""

import base64
import binascii
import pathlib
import unicodedata

from keras_attn.text import files
from keras_attn.text.huggingface import parts
from keras_attn.text.huggingface.settings import special_tokens
from keras_attn.text.segmentation.normalize import replacements
from keras_attn.text.segmentation.split import WHITE_SPACE
from keras_attn.text.segmentation.split import code_points
from keras_attn.text.sentence_piece import precompiled_map
from keras_attn.text.sentence_piece.marked_words import MARK

_SEVERAL = {"Regex": " {2,}"}
_DECODERS = {"Metaspace", "ByteFallback", "Fuse", "Replace", "Strip"}


def read(path: pathlib.Path, whole: dict, settings: dict):
    """Make the tokenizer of a `tokenizer.json`."""
    model = whole["model"]
    scores = {piece: score for piece, score in model["vocab"]}
    ids = {piece: place for place, (piece, _) in enumerate(model["vocab"])}
    added = whole.get("added_tokens")
    tokens = parts.vocabulary(
        path, {"model": {"vocab": ids}, "added_tokens": added}
    )
    unknown = model.get("unk_id")
    if unknown is None or not 0 <= unknown < len(tokens):
        parts.refuse(path, "model.unk_id", unknown, "the id of a token is")
    maps, collapses, strips = _normalizer(path, whole)
    splits, prefix = _pre_tokenizer(path, whole)
    if splits:
        white = {*map(chr, code_points(WHITE_SPACE))} - {" "}
        maps.append(dict.fromkeys(sorted(white), " "))
    kind = "collapse" if collapses else "keep"
    kinds = parts.kinds(parts.steps(path, whole, "decoder"))
    if not {*kinds} <= _DECODERS:
        wanted = f"{', '.join(sorted(_DECODERS))} are"
        parts.refuse(path, "decoder", kinds, wanted)
    return files.kind_named("UnigramTokenizer")(
        tokens,
        scores,
        maps,
        spaces="strip" if splits or (collapses and strips) else kind,
        prefix=prefix,
        byte_fallback=bool(model.get("byte_fallback")),
        arithmetic="tokenizers",
        unknown_token=tokens[unknown],
        special_tokens=special_tokens(
            {k: v for k, v in settings.items() if k != "unk_token"}, tokens
        ),
    )


def _normalizer(path, whole):
    """Mappings, whether several spaces are one, whether those at ends go."""
    maps, collapses, strips = [], False, False
    steps = parts.steps(path, whole, "normalizer")
    kinds = parts.kinds(steps)
    for place, (step, kind) in enumerate(zip(steps, kinds, strict=True)):
        if kind == "Precompiled":
            maps.append(_compiled(path, step["precompiled_charsmap"]))
        elif kind == "Replace" and step["pattern"] == _SEVERAL:
            if step["content"] not in (" ", MARK):
                parts.refuse(path, "Replace", step, f"' ' and {MARK!r} are")
            collapses = True
        elif kind == "Replace" and "String" in step["pattern"]:
            maps.append({step["pattern"]["String"]: step["content"]})
        elif kind == "Strip" and step.get("strip_right"):
            strips = True
        elif kind == "Lowercase":
            maps.append(_characters(replacements(True, False)) | _SMALL)
        elif kind == "NFKD" and kinds[place + 1 :][:1] == ["StripAccents"]:
            maps.append(_plain())
        elif kind == "StripAccents" and kinds[:place][-1:] == ["NFKD"]:
            continue
        elif kind == "Nmt":
            maps.append(_nmt())
        else:
            wanted = (
                "Precompiled, Replace, Strip at the right, Lowercase, Nmt, and "
                "NFKD with StripAccents are"
            )
            parts.refuse(path, "normalizer", kind, wanted)
        if maps and (collapses or strips) and kind not in ("Replace", "Strip"):
            parts.refuse(path, "normalizer", kinds, "spaces are last")
    return [mapping for mapping in maps if mapping], collapses, strips


def _pre_tokenizer(path, whole):
    """Whether text is split at white space, and what gets a prefix."""
    steps = parts.steps(path, whole, "pre_tokenizer")
    kinds = parts.kinds(steps)
    splits = kinds[:1] == ["WhitespaceSplit"]
    if kinds[splits:] != ["Metaspace"]:
        wanted = "Metaspace is, and WhitespaceSplit before it"
        parts.refuse(path, "pre_tokenizer", kinds, wanted)
    step = steps[-1]
    if step.get("replacement") != MARK or not step.get("split", True):
        parts.refuse(path, "Metaspace", step, f"splitting at {MARK!r} is")
    # Older files have a boolean.
    always = "always" if step.get("add_prefix_space", True) else "never"
    prefix = step.get("prepend_scheme", always)
    if splits and prefix != "always":
        wanted = "after WhitespaceSplit 'always' is"
        parts.refuse(path, "Metaspace.prepend_scheme", prefix, wanted)
    return splits, prefix


def _compiled(path, text):
    try:
        return precompiled_map.entries(base64.b64decode(text or ""))
    except (ValueError, IndexError, binascii.Error) as error:
        raise ValueError(
            f"{path}: precompiled_charsmap is damaged: {error}"
        ) from None


_SMALL = {chr(code): chr(code + 32) for code in range(65, 91)}


def _characters(by_code):
    return {chr(code): text for code, text in by_code.items()}


def _plain():
    """Every character that NFKD changes, without its accents."""
    changed = {}
    for code in range(0x110000):
        new = "".join(
            part
            for part in unicodedata.normalize("NFKD", chr(code))
            if unicodedata.category(part) != "Mn"
        )
        if new != chr(code) and not 0xD800 <= code < 0xE000:
            changed[chr(code)] = new
    return changed


def _nmt():
    """What the normalizer Nmt takes out, and what becomes a space."""
    out = "1-8 b e-1f 7f 8f 9f"
    spaces = "9 a c d 1680 200b-200f 2028 2029 2581 feff fffd"
    return {
        **{chr(code): "" for code in code_points(out)},
        **{chr(code): " " for code in code_points(spaces)},
    }
