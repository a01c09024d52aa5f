"""Where downloads and indexes are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.user.cache_folder import cache_folder


def test_the_folder_that_the_user_named_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


@pytest.mark.parametrize(
    ("system", "base", "folder"),
    [
        ("linux", None, ".cache/assay"),
        ("linux", "elsewhere", "elsewhere/assay"),
        ("darwin", None, "Library/Caches/assay"),
    ],
)
def test_else_it_is_where_the_system_keeps_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, base: str | None, folder: str
) -> None:
    monkeypatch.delenv("ASSAY_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "" if base is None else str(tmp_path / base))
    assert cache_folder() == tmp_path / folder
