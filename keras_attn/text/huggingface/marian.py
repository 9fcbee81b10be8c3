"""Reads Marian's folders: two models of SentencePiece, one vocabulary."""

import pathlib

from keras_attn.text import files
from keras_attn.text.huggingface import sentence_piece
from keras_attn.text.huggingface import settings as settings_files
from keras_attn.text.template import Template

_END = "</s>"


def read(folder: pathlib.Path) -> dict:
    """Make both tokenizers of a Marian folder.

    Each side is cut by its own model; ids come from vocab.json, which both
    share unless the settings say "separate_vocabs".

    Args:
        folder: Holds source.spm, target.spm and vocab.json.

    Returns:
        `{"source", "target"}` tokenizers.
    """
    settings = settings_files.read(folder)
    names = {"source": "vocab.json", "target": "vocab.json"}
    if settings.get("separate_vocabs"):
        names["target"] = "target_vocab.json"
    return {
        side: _side(folder, side, folder / name, settings)
        for side, name in names.items()
    }


def _side(folder, side, path, settings):
    model = sentence_piece.read(folder / f"{side}.spm")
    ids = files.read_json(path)
    tokens = sorted(ids, key=ids.get) if isinstance(ids, dict) else []
    if not tokens or [*map(ids.get, tokens)] != [*range(len(tokens))]:
        raise ValueError(
            f"{path} must hold tokens and their ids, 0, 1, 2, ... without gap."
        )
    special = settings_files.special_tokens(settings, tokens)
    unknown = special.pop("unknown", "<unk>")
    for token in (unknown, special.setdefault("end", _END)):
        if token not in ids:
            raise ValueError(f"{path} lacks the token {token!r}.")
    # A model starts with an id of its configuration, not with a token.
    special.setdefault("start", None)
    tokenizer = files.kind_named("UnigramTokenizer")(
        tokens,
        model["scores"],
        model["replacements"],
        **{**model["arguments"], "unknown_token": unknown},
        marian=True,
        special_tokens=special,
    )
    tokenizer.added_tokens = [
        {"content": token, "special": True}
        for token in {unknown: 0, **dict.fromkeys(special.values())}
        if token is not None
    ]
    end = (tokenizer.end_id, 0)
    tokenizer.template = Template([("A", 0), end], [("A", 0), ("B", 0), end])
    return tokenizer
