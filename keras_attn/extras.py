"""Optional packages, and what to install when one is missing."""

import importlib
import types


def require(module: str, *, extra: str) -> types.ModuleType:
    """Import an optional package.

    Args:
        module: Name to import, such as `"tensorflow_datasets"`.
        extra: The extra of keras_attn that installs it.

    Returns:
        The module.

    Raises:
        ImportError: With the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A package that is there and lacks one of its own tells that itself.
        if error.name != module.partition(".")[0]:
            raise
        raise ImportError(
            f"This needs the package {error.name!r}, which is not installed. "
            f'Run: pip install "keras_attn[{extra}]"'
        ) from error
