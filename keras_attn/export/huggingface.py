"""From a Hugging Face folder to a folder that TF Serving runs."""

import pathlib

from keras_attn.export.exporting import export_model
from keras_attn.export.settings import folder_settings
from keras_attn.models.pretrained import class_of
from keras_attn.models.pretrained import from_huggingface


def export_huggingface(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    *,
    version: int | None = None,
    dtype: str = "float32",
    **settings,
) -> pathlib.Path:
    """Write a version of a model that Hugging Face's libraries have saved.

        text → ids → model → ids → text, all in one SavedModel

    Model, tokenizer, search, names of classes and what is done to images are
    those of the folder. What cannot be expressed is refused, with the file and
    the key, and nothing is written. The prompt of a chat model is what the
    caller sends: its template is not part of the graph.

    Args:
        folder: Written by transformers, or by sentence-transformers.
        destination: Where the versions of this model are.
        version: A number that is not there yet; the next if None.
        dtype: Of the weights and of what is computed: "float32", "bfloat16"
            or "float16".
        **settings: Of `export_model`, such as `width`, in place of the
            folder's.

    Returns:
        The folder of the version, verified in the C++ loader.

    Raises:
        FileNotFoundError: If the folder lacks a file.
        ValueError: If a file says what cannot be served.
    """
    folder = pathlib.Path(folder)
    settings = {k: v for k, v in settings.items() if v is not None}
    cls = class_of(folder)
    settings = folder_settings.read(folder, cls, settings)
    model = from_huggingface(folder, dtype=dtype)
    if _names_classes(model) and "labels" not in settings:
        classes = model.output_shape[-1]
        settings["labels"] = folder_settings.labels_of(folder, classes)
    settings.setdefault("metadata", {"description": _origin(folder, model)})
    return export_model(model, destination, version=version, **settings)


def _names_classes(model):
    config = model.config
    if "head" in config:
        return config["head"] in ("classification", "token_classification")
    # A ViT; of models that write, the classes are tokens.
    return config.get("num_classes") is not None


def _origin(folder, model):
    return (
        f"Exported from the Hugging Face folder {folder.resolve().name!r}, as "
        f"a {type(model).__name__} of {model.count_params():,} weights."
    )
