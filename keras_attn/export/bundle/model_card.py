"""A page about an exported model, for those who will use it."""

import datetime
import importlib.metadata
import json
import pathlib
import platform
import shlex
from collections.abc import Mapping

from keras_attn.export.bundle.recorded_examples import PATH as EXAMPLES
from keras_attn.export.loader import loaded_model

PATH = pathlib.Path("assets.extra", "README.md")
PACKAGES = ("tensorflow", "keras", "keras_attn", "numpy")
MAIN_SIGNATURE = "serving_default"
MAX_TEXT = 200  # letters of one value in an example
MAX_VALUES = 8  # of one list in an example


def write_model_card(
    folder: str | pathlib.Path, name: str, metadata: Mapping | None = None
) -> pathlib.Path:
    """Write a model card next to a SavedModel.

    It tells what the caller knows of the model, such as where its data came
    from and how well it does; the signatures; a request with its answer, if
    examples are recorded; sizes, and the versions of the packages.

    Args:
        folder: The SavedModel, with `saved_model.pb` in it.
        name: What the server calls the model.
        metadata: Sections by their titles, such as "description", "data" and
            "scores". A mapping becomes a table, a list of values a list.

    Returns:
        The file, in Markdown.
    """
    folder = pathlib.Path(folder)
    signatures = loaded_model.read_signatures(loaded_model.read_graph(folder))
    parts = [f"# {name}"]
    for title, value in (metadata or {}).items():
        # The description needs no title: it follows the name.
        if title != "description":
            parts.append(f"## {title[:1].upper()}{title[1:]}")
        parts.append(_section(value))
    parts += ["## Signatures", _signatures(signatures)]
    parts += _example(folder, name)
    parts += ["## Size and versions", _table(_facts(folder))]
    path = folder / PATH
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _section(value):
    if isinstance(value, Mapping):
        return _table([("", ""), *value.items()])
    if isinstance(value, list | tuple):
        return "\n".join(f"- {_in_one_line(entry)}" for entry in value)
    return str(value).strip()


def _signatures(signatures):
    rows = [("signature", "takes", "gives")]
    # The main one first, as it is the one to begin with.
    for name in sorted(signatures, key=lambda name: name != MAIN_SIGNATURE):
        sides = (
            ", ".join(
                f"`{key}` {info.dtype} {_shape(info.shape)}"
                for key, info in signatures[name][side].items()
            )
            for side in ("inputs", "outputs")
        )
        rows.append((f"`{name}`", *sides))
    return _table(rows)


def _shape(shape):
    if shape is None:
        return "of any shape"
    axes = ["any" if size is None else str(size) for size in shape]
    return f"({', '.join(axes)}{',' * (len(axes) == 1)})"


def _example(folder, name):
    """A request for the server's REST interface, with its answer."""
    path = folder / EXAMPLES
    records = json.loads(path.read_text("utf-8")) if path.is_file() else []
    records.sort(key=lambda record: record["signature"] != MAIN_SIGNATURE)
    if not records:
        return []
    record = records[0]
    body = {"inputs": _shortened(record["inputs"])}
    if record["signature"] != MAIN_SIGNATURE:
        body = {"signature_name": record["signature"], **body}
    outputs = record["outputs"]
    if len(outputs) == 1:  # the server leaves out its name
        (outputs,) = outputs.values()
    answer = json.dumps(
        {"outputs": _shortened(outputs)}, ensure_ascii=False, indent=2
    )
    request = shlex.quote(json.dumps(body, ensure_ascii=False))
    is_short = body["inputs"] != record["inputs"]
    return [
        "## Example",
        "Values are shortened (...); the whole request and more are in "
        f"`{EXAMPLES.name}`."
        if is_short
        else f"More are in `{EXAMPLES.name}`.",
        f"```sh\ncurl http://localhost:8501/v1/models/{name}:predict \\\n"
        f"    -d {request}\n```",
        f"```json\n{answer}\n```",
    ]


def _shortened(value):
    if isinstance(value, dict):
        return {key: _shortened(entry) for key, entry in value.items()}
    if isinstance(value, list):
        kept = [_shortened(entry) for entry in value[:MAX_VALUES]]
        return [*kept, "..."] if len(value) > MAX_VALUES else kept
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}..."
    return value


def _facts(folder):
    weights = sum(
        file.stat().st_size for file in (folder / "variables").glob("*")
    )
    graph = (folder / "saved_model.pb").stat().st_size
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return [
        ("", ""),
        ("weights", f"{weights:,} bytes"),
        ("graph", f"{graph:,} bytes"),
        ("exported", today.isoformat()),
        ("Python", platform.python_version()),
        *((package, _version(package)) for package in PACKAGES),
    ]


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "run from its source"


def _table(rows):
    heading, *rows = [
        f"| {' | '.join(_in_one_line(value) for value in row)} |"
        for row in rows
    ]
    return "\n".join(
        [heading, "|---" * (heading.count(" | ") + 1) + "|", *rows]
    )


def _in_one_line(value):
    return " ".join(str(value).split()).replace("|", r"\|")
