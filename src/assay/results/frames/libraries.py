"""Optional libraries that tables are converted for: a missing one is a one-line error."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from assay.core.errors import UsageError


def library(name: str, wanted_for: str) -> ModuleType:
    """The library, imported; `UsageError` where it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # it is installed, but one of its own dependencies is not
        package = name.partition(".")[0]
        raise UsageError(f"{wanted_for} needs {package}; install it with: pip install {package}") from error
