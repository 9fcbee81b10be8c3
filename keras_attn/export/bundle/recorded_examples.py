"""Requests and their answers, kept with an exported model."""

import json
import pathlib
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from keras_attn.export.bundle.json_arrays import from_json
from keras_attn.export.bundle.json_arrays import to_json
from keras_attn.export.loader import loaded_model

PATH = pathlib.Path("assets.extra", "examples.json")


def write_examples(
    folder: str | pathlib.Path,
    examples: Sequence[tuple[str, Mapping, Mapping]],
) -> pathlib.Path:
    """Write requests and answers next to a SavedModel.

    Args:
        folder: The SavedModel, with `saved_model.pb` in it.
        examples: For each the name of its signature, the arrays it was asked
            with and the arrays it answered, by name.

    Returns:
        The file, JSON in the columns of TF Serving's REST interface.
    """
    records = [
        {
            "signature": signature,
            "inputs": {name: to_json(inputs[name]) for name in inputs},
            "outputs": {name: to_json(outputs[name]) for name in outputs},
        }
        for signature, inputs, outputs in examples
    ]
    path = pathlib.Path(folder, PATH)
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        json.dumps(records, ensure_ascii=False, indent=1) + "\n",
        encoding="utf-8",
    )
    return path


def read_examples(
    folder: str | pathlib.Path,
) -> list[tuple[str, dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """Read what `write_examples` wrote, in the dtypes of the signatures.

    Raises:
        FileNotFoundError: If the model has no recorded examples.
        ValueError: If they do not belong to the model's signatures.
    """
    signatures = loaded_model.read_signatures(loaded_model.read_graph(folder))
    path = pathlib.Path(folder, PATH)
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no recorded examples ({PATH}). "
            "Write the model with `export_model`."
        )
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        return [
            (
                record["signature"],
                *(
                    _arrays(record[side], signatures[record["signature"]][side])
                    for side in ("inputs", "outputs")
                ),
            )
            for record in records
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} does not fit the signatures of the model: {error!r}"
        ) from error


def _arrays(columns, tensors):
    if columns.keys() != tensors.keys():
        raise ValueError(f"found {sorted(columns)}, not {sorted(tensors)}")
    return {
        name: _reshaped(from_json(columns[name], info.dtype), info.shape)
        for name, info in tensors.items()
    }


def _reshaped(array, shape):
    """Give an empty array back the axes that JSON has no brackets for."""
    if array.size or shape is None or array.ndim == len(shape):
        return array
    return array.reshape([size or 0 for size in shape])
