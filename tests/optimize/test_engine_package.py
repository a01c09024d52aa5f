"""What is said of the engine's package."""

from __future__ import annotations

import importlib.util

import pytest

from assay.core.errors import UsageError
from assay.optimize.engine_package import engine_version, require_engine


def test_the_version_is_that_of_the_installed_package() -> None:
    from importlib.metadata import version

    require_engine()
    assert engine_version() == f"gepa {version('gepa')}"


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'assay-eval\[optimize\]'"):
        require_engine()
