"""The bodies of REST requests and answers, as TF Serving has them."""

import base64
import json
from collections.abc import Mapping

import numpy as np

from keras_attn.export.bundle.json_arrays import from_json

DEFAULT_SIGNATURE = "serving_default"


def read_request(
    body: bytes, signatures: Mapping[str, Mapping]
) -> tuple[str, dict[str, np.ndarray], bool]:
    """Read the body of a `:predict` request.

    Args:
        body: JSON with the inputs as rows (`instances`) or as columns
            (`inputs`), and maybe a `signature_name`.
        signatures: What can be asked, as in `LoadedModel.signatures`.

    Returns:
        The signature's name, arrays by the names of its inputs, and whether
        they came as rows, which is how the answer goes back.

    Raises:
        ValueError: If the body is no such request.
    """
    request = _parse(body)
    name = request.get("signature_name", DEFAULT_SIGNATURE)
    if not isinstance(name, str):
        raise ValueError(
            f"'signature_name' key must be a string value. Received: "
            f"{_brief(name)}"
        )
    if name not in signatures:
        raise ValueError(
            f'Serving signature name: "{name}" not found in signature def. '
            f"There are: {', '.join(sorted(signatures))}"
        )
    inputs = signatures[name]["inputs"]
    as_rows = "instances" in request
    if as_rows == ("inputs" in request):
        raise ValueError(
            "A request has either the key 'inputs' or the key 'instances'. "
            f"Received: {_brief(sorted(request))}"
        )
    if as_rows:
        columns = _columns_of_rows(request["instances"], list(inputs))
    else:
        columns = _columns_by_name(request["inputs"], list(inputs))
    arrays = {
        key: _to_array(key, columns[key], dtype)
        for key, (_, dtype, _) in inputs.items()
    }
    return name, arrays, as_rows


def write_answer(outputs: Mapping[str, np.ndarray], *, as_rows: bool) -> bytes:
    """Write the body of the answer to a `:predict` request.

    Args:
        outputs: Arrays by name. Strings go out as they are, be they UTF-8 or
            not; those of an output named `*_bytes` in base 64.
        as_rows: Whether to answer with `predictions`, an item for each row;
            else with `outputs`, by name.

    Returns:
        JSON, in which the name of a single output is dropped.

    Raises:
        ValueError: If rows are asked for, and the outputs differ in their
            number or have none.
    """
    columns = {
        name: _to_json(array, as_bytes=name.endswith("_bytes"))
        for name, array in outputs.items()
    }
    if not as_rows:
        answer = {"outputs": _without_name(columns)}
    else:
        counts = {name: array.shape[:1] for name, array in outputs.items()}
        if () in counts.values() or len(set(counts.values())) > 1:
            raise ValueError(
                "Outputs must have one item for each row to be answered as "
                f"rows. Their first sizes are: {counts}. Ask with 'inputs'."
            )
        answer = {
            "predictions": [
                _without_name(dict(zip(columns, row, strict=True)))
                for row in zip(*columns.values(), strict=True)
            ]
        }
    text = json.dumps(answer, ensure_ascii=False)
    return text.encode("utf-8", "surrogateescape")


def _parse(body):
    try:
        text, is_utf8 = body.decode(), True
    except UnicodeDecodeError:
        text, is_utf8 = body.decode("utf-8", "surrogateescape"), False
    try:
        # Like TF Serving, it does not look at what follows the object.
        request, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except RecursionError:
        raise ValueError("JSON Parse error: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"JSON Parse error: {error}") from error
    if not isinstance(request, dict):
        raise ValueError(f"JSON Value: {_brief(request)} Is not object")
    return request if is_utf8 else _keep_bytes(request)


def _keep_bytes(value):
    """Write in base 64 the strings that are no UTF-8."""
    if isinstance(value, list):
        return [_keep_bytes(item) for item in value]
    if isinstance(value, dict):
        return {key: _keep_bytes(item) for key, item in value.items()}
    if not isinstance(value, str) or value.isascii():
        return value
    raw = value.encode("utf-8", "surrogateescape")
    return value if raw.decode("utf-8", "ignore") == value else _base64(raw)


def _columns_of_rows(rows, names):
    if not isinstance(rows, list) or not rows:
        raise ValueError(
            "'instances' must be a list with at least one row. Received: "
            f"{_brief(rows)}"
        )
    if not _is_named(rows[0]):
        for number, row in enumerate(rows):
            if _is_named(row):
                raise ValueError(
                    "Expecting value/list but got object at item "
                    f"{number} of 'instances'"
                )
        return {_only(names, "'instances' is a plain list"): rows}
    for number, row in enumerate(rows):
        if not _is_named(row) or set(row) != set(names):
            raise ValueError(
                f"Failed to process element: {number} of 'instances' list. "
                f"JSON object: {_brief(row)} keys must be equal to: "
                f"{','.join(sorted(names))}"
            )
    return {name: [row[name] for row in rows] for name in names}


def _columns_by_name(inputs, names):
    if not _is_named(inputs):
        return {_only(names, "'inputs' is a plain value or list"): inputs}
    for name in names:
        if name not in inputs:
            raise ValueError(
                f"Missing named input: {name} in 'inputs' object. It has: "
                f"{_brief(sorted(inputs))}"
            )
    return inputs


def _only(names, what):
    if len(names) != 1:
        raise ValueError(
            f"{what}, but the signature needs an object with the inputs "
            f"{', '.join(sorted(names))}"
        )
    return names[0]


def _is_named(value):
    """Whether this is an object of inputs, not bytes in base 64."""
    return isinstance(value, dict) and not (
        list(value) == ["b64"] and isinstance(value["b64"], str)
    )


def _to_array(name, value, dtype):
    try:
        return from_json(value, dtype)
    except ValueError as error:
        raise ValueError(f"Input {name!r}: {error}") from error


def _to_json(array, *, as_bytes):
    if array.dtype == object:
        write = _base64 if as_bytes else _text
        texts = np.empty(array.shape, object)
        texts.flat = [write(text) for text in array.flat]
        return texts.tolist()
    if array.dtype == np.float32:
        # The shortest digits that mean this number, not those of a float64.
        return array.astype(str).astype(np.float64).tolist()
    return array.tolist()


def _text(text):
    return text.decode("utf-8", "surrogateescape")


def _base64(text):
    return {"b64": base64.b64encode(text).decode()}


def _without_name(named):
    return next(iter(named.values())) if len(named) == 1 else named


def _brief(value):
    text = json.dumps(value)
    return text if len(text) <= 256 else f"{text[:256]}..."
