"""Requests that a user wants a servable to be tried with."""

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.export.bundle.json_arrays import from_json
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column

_ROWS_AT_ONCE = 8


def add_requests(
    signatures: Sequence[Signature], requests: Sequence | None
) -> list[Signature]:
    """Put requests before the examples that the signatures have.

    Args:
        signatures: The main one first.
        requests: Texts, for every signature that takes nothing else; or
            `{"inputs": {...}, "signature": name}` in the columns of TF
            Serving's REST interface, for the main signature if none is named.

    Returns:
        The signatures, with more examples.

    Raises:
        ValueError: If a request fits no signature.
    """
    requests = list(requests or ())
    if not requests:
        return list(signatures)
    if all(isinstance(request, (str, bytes)) for request in requests):
        return _add_texts(signatures, requests)
    more = {signature.name: [] for signature in signatures}
    by_name = {signature.name: signature for signature in signatures}
    for request in requests:
        name = _signature_of(request, by_name, signatures[0].name)
        more[name].append(_arrays(request["inputs"], by_name[name]))
    return [_with(each, more[each.name]) for each in signatures]


def _add_texts(signatures, texts):
    texts = [x.encode() if isinstance(x, str) else x for x in texts]
    batches = [
        {"text": text_column(*texts[first : first + _ROWS_AT_ONCE])}
        for first in range(0, len(texts), _ROWS_AT_ONCE)
    ]
    takes_text = [
        {name: spec.dtype for name, spec in each.inputs.items()}
        == {"text": tf.string}
        for each in signatures
    ]
    if not takes_text[0]:
        raise ValueError(
            f"The signature {signatures[0].name!r} takes "
            f"{', '.join(signatures[0].inputs)}, not `text` alone. Give its "
            'requests as dictionaries: {"inputs": {...}}.'
        )
    return [
        _with(each, batches) if takes else each
        for each, takes in zip(signatures, takes_text, strict=True)
    ]


def _signature_of(request, by_name, main):
    known = {"inputs", "signature"}
    if not isinstance(request, Mapping) or not (
        {"inputs"} <= request.keys() <= known
    ):
        raise ValueError(
            'A request for warming up is a text, or {"inputs": {...}, '
            f'"signature": name}}. Received: {request!r:.200}'
        )
    name = request.get("signature", main)
    if name not in by_name:
        raise ValueError(
            f"The model has the signatures {', '.join(by_name)}. Received a "
            f"request for {name!r}."
        )
    return name


def _arrays(inputs, signature):
    if inputs.keys() != signature.inputs.keys():
        raise ValueError(
            f"The signature {signature.name!r} takes "
            f"{', '.join(sorted(signature.inputs))}. Received: "
            f"{', '.join(sorted(inputs))}"
        )
    return {
        name: from_json(inputs[name], spec.dtype.name)
        for name, spec in signature.inputs.items()
    }


def _with(signature, examples):
    return dataclasses.replace(
        signature, examples=(*examples, *signature.examples)
    )
