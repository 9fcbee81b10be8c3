"""Real English that is on every machine: Python's own documentation."""

import ast
import pathlib
import sysconfig


def sentences(limit: int = 40_000) -> list[str]:
    """Lines of the docstrings of Python's standard library, without repeats.

    Args:
        limit: How many lines at most.
    """
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    lines = {}
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                for line in (ast.get_docstring(node) or "").splitlines():
                    if len(line.split()) > 3:
                        lines[line.strip()] = None
        if len(lines) >= limit:
            break
    return list(lines)[:limit]
