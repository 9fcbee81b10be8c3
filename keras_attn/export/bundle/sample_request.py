"""A request to a served model, as a line for a shell."""

import json
import pathlib
import shlex

from keras_attn.export.bundle.model_card import MAIN_SIGNATURE
from keras_attn.export.bundle.recorded_examples import PATH as EXAMPLES

_IMAGE = "image_bytes"
# Recorded texts are words of a vocabulary, in no order that means something.
_PHRASES = {
    "text": "Hello, world!",
    "question": "Who wrote the first program?",
    "context": "Ada Lovelace wrote the first program.",
}


def sample_request(
    folder: str | pathlib.Path, *, server: str = "http://localhost:8501"
) -> str:
    """Write a request that TF Serving and the loopback server answer.

    Args:
        folder: A version that `export_model` wrote. The folder above has the
            model's name. Asked is a plain phrase, or the first recorded
            example where that has a [MASK] or other inputs than texts.
        server: Where the REST interface is.

    Returns:
        A line with `curl`. An image is read from `image.jpg`, since no shell
        takes a whole one.
    """
    folder = pathlib.Path(folder).absolute()
    records = json.loads((folder / EXAMPLES).read_text(encoding="utf-8"))
    record = next(x for x in records if x["signature"] == MAIN_SIGNATURE)
    inputs = {
        name: [_PHRASES[name]] if _is_plain(name, column) else column
        for name, column in record["inputs"].items()
    }
    address = f"{server}/v1/models/{folder.parent.name}:predict"
    if _IMAGE not in inputs:
        body = shlex.quote(json.dumps({"inputs": inputs}, ensure_ascii=False))
        return f"curl {shlex.quote(address)} -d {body}"
    others = {name: inputs[name] for name in inputs if name != _IMAGE}
    inputs = {**others, _IMAGE: [{"b64": "IMAGE"}]}
    body = json.dumps({"inputs": inputs}, ensure_ascii=False)
    before, after = map(shlex.quote, body.split("IMAGE"))
    # Not as an argument, which may have 128 KiB.
    return (
        f"(printf %s {before}; base64 < image.jpg | tr -d '\\n'; "
        f"printf %s {after}) | curl {shlex.quote(address)} -d @-"
    )


def _is_plain(name, column):
    return name in _PHRASES and not any("[" in x or "<" in x for x in column)
