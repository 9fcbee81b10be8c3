"""Reads a post-processor: the special tokens around a text, or two."""

import pathlib

from keras_attn.text.huggingface import parts
from keras_attn.text.template import Template


def read(path: pathlib.Path, whole: dict) -> Template | None:
    """Make the template of a `tokenizer.json`; None if it adds nothing."""
    templates = []
    for step in parts.steps(path, whole, "post_processor"):
        kind = step.get("type")
        if kind == "ByteLevel":
            continue  # it moves offsets alone
        if kind not in _READERS:
            known = ", ".join(["ByteLevel", *_READERS])
            parts.refuse(path, "post_processor", kind, f"{known} are")
        templates.append(_READERS[kind](step))
    if len(templates) > 1:
        parts.refuse(path, "post_processor", len(templates), "one template is")
    if not templates or not templates[0].ids():
        return None
    return templates[0]


def _template(step):
    special = step.get("special_tokens") or {}

    def row(name):
        for part in step[name]:
            ((kind, value),) = part.items()
            segment = value.get("type_id", 0)
            if kind == "Sequence":
                yield value["id"], segment
            else:
                for number in special[value["id"]]["ids"]:
                    yield number, segment

    return Template(row("single"), row("pair"))


def _bert(step):
    start, end = step["cls"][1], step["sep"][1]
    single = [(start, 0), ("A", 0), (end, 0)]
    return Template(single, [*single, ("B", 1), (end, 1)])


def _roberta(step):
    start, end = step["cls"][1], step["sep"][1]
    single = [(start, 0), ("A", 0), (end, 0)]
    return Template(single, [*single, (end, 0), ("B", 0), (end, 0)])


_READERS = {
    "TemplateProcessing": _template,
    "BertProcessing": _bert,
    "RobertaProcessing": _roberta,
}
