"""Reads a folder of one model of SentencePiece, without tokenizer.json."""

import pathlib

from keras_attn.text import files
from keras_attn.text.huggingface import sentence_piece
from keras_attn.text.huggingface import settings as settings_files
from keras_attn.text.huggingface.settings import content
from keras_attn.text.template import Template

# What such a model may be called. The second is XLM-R's, whose ids are not
# those of the model: fairseq has put its own special tokens first.
_FILES = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
_FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]


def read(folder: pathlib.Path, settings: dict):
    """Make the tokenizer of a folder; None if there is no such model.

    Args:
        folder: Holds spiece.model (T5), sentencepiece.bpe.model (XLM-R) or
            tokenizer.model.
        settings: What the folder says of special tokens.
    """
    paths = [folder / name for name in _FILES if (folder / name).is_file()]
    if not paths:
        return None
    path = paths[0]
    model = sentence_piece.read(path)
    tokens, arguments = model["pieces"], model["arguments"]
    is_fairseq = path.name == _FILES[1]
    is_t5 = str(settings.get("tokenizer_class")).startswith("T5Tokenizer")
    if is_fairseq:
        own = {*_FAIRSEQ, arguments["unknown_token"]}
        rest = [token for token in tokens if token not in own]
        tokens = [*_FAIRSEQ, *rest, "<mask>"]
        arguments["unknown_token"] = "<unk>"
    elif is_t5:
        extra = settings.get("extra_ids", 100)
        names = [f"<extra_id_{place}>" for place in reversed(range(extra))]
        tokens = [*tokens, *names]
    tokenizer = files.kind_named("UnigramTokenizer")(
        tokens,
        model["scores"],
        model["replacements"],
        **arguments,
        special_tokens=settings_files.special_tokens(
            {k: v for k, v in settings.items() if k != "unk_token"}, tokens
        ),
    )
    listed = settings.get("added_tokens_decoder") or {}
    added = [token for token in listed.values() if content(token) in tokens]
    if added:
        tokenizer.added_tokens = added
    tokenizer.template = _template(tokenizer, is_fairseq, is_t5)
    return tokenizer


def _template(tokenizer, is_fairseq, is_t5):
    start, end = (tokenizer.start_id, 0), (tokenizer.end_id, 0)
    if is_fairseq:
        single = [start, ("A", 0), end]
        return Template(single, [*single, end, ("B", 0), end])
    if is_t5:
        single = [("A", 0), end]
        return Template(single, [*single, ("B", 0), end])
    return None
