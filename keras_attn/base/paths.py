"""File names that other files give."""

import pathlib


def inside(folder: pathlib.Path, name: str, *, named_by: str) -> pathlib.Path:
    """Find a file of a folder, by a name that may come from a stranger.

    By its letters and not by where it leads: in Hugging Face's cache the files
    of a folder are links to others.

    Args:
        folder: The folder.
        name: Of the file, or a path below the folder.
        named_by: Name of the file that gives it.

    Returns:
        Its path, whether there is such a file or not.

    Raises:
        ValueError: If the name leads out of the folder.
    """
    path = pathlib.PurePath(name) if isinstance(name, str) else None
    if path is None or path.anchor or ".." in path.parts:
        raise ValueError(
            f"{folder / named_by} names the file {name!r}, which leads out of "
            "its folder. Only files of the folder itself are read."
        )
    return folder / path
