"""The parts of a `tokenizer.json`, and how one is refused."""

import pathlib


def steps(path: pathlib.Path, whole: dict, name: str) -> list[dict]:
    """A part as the list of its steps, without "Sequence" around them.

    Args:
        path: The file, for messages.
        whole: What it holds.
        name: Such as "normalizer".
    """
    part = whole.get(name)
    if part is None:
        return []
    if not isinstance(part, dict):
        raise ValueError(f"{path}: {name!r} must be an object or null.")
    if part.get("type") != "Sequence":
        return [part]
    # The list is called normalizers, pretokenizers, decoders, processors.
    (inner,) = [v for v in part.values() if isinstance(v, list)] or [[]]
    found = []
    for step in inner:
        found += steps(path, {name: step}, name)
    return found


def kinds(steps: list[dict]) -> list[str]:
    """The types of steps."""
    return [step.get("type") for step in steps]


def refuse(path: pathlib.Path, name: str, value, wanted: str) -> None:
    """Raise ValueError for a part that cannot be expressed here."""
    raise ValueError(
        f"{path}: {name} is {value!r}, which is not supported; {wanted}."
    )


def vocabulary(path: pathlib.Path, whole: dict) -> list[str]:
    """Tokens in order of their ids, added ones included."""
    ids = dict((whole.get("model") or {}).get("vocab") or {})
    for token in whole.get("added_tokens") or ():
        ids.setdefault(token["content"], token["id"])
    tokens = sorted(ids, key=ids.get)
    if [ids[token] for token in tokens] != list(range(len(tokens))):
        raise ValueError(f"The ids in {path} are not 0, 1, 2, ... without gap.")
    return tokens
