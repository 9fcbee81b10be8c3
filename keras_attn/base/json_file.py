"""JSON files, each of which is named if it is missing or broken."""

import json
import pathlib


def parse(text: str, path: pathlib.Path):
    """The value that a file's text stands for.

    Args:
        text: What the file holds.
        path: The file, for the message.

    Raises:
        ValueError: If it is not JSON.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise _broken(path, error) from None


def read_fields(path: pathlib.Path) -> dict:
    """Read a file that holds an object.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is not JSON, or not an object.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _broken(path, error) from None
    fields = parse(text, path)
    if not isinstance(fields, dict):
        raise ValueError(f"{path} is not a JSON object with fields.")
    return fields


def _broken(path, error):
    return ValueError(f"{path} is not valid JSON: {error}")
