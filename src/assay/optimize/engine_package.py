"""The package of the search engine: whether it is installed, and its version."""

from __future__ import annotations

from functools import cache

from assay.core.errors import UsageError


def require_engine() -> None:
    """One line for those who have not installed it, before anything is spent."""
    from importlib.util import find_spec

    if find_spec("gepa") is None:
        raise UsageError("optimize needs the gepa package: pip install 'assay-eval[optimize]'")


@cache
def engine_version() -> str:
    """The engine and its version: with another one a search takes another course."""
    from importlib.metadata import version

    return f"gepa {version('gepa')}"
