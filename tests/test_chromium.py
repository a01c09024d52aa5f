"""A browser that has to be there and is not fails the tests; where no one needs it, they are skipped."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.chromium import chromium_program, missing

ROOT = Path(__file__).parents[1]


def test_without_a_browser_tests_are_skipped_unless_it_is_needed() -> None:
    assert missing(None, None)
    assert not missing("/usr/bin/chromium", "1")
    with pytest.raises(AssertionError, match=r"no chromium is installed .*ASSAY_NEED_BROWSER is set"):
        missing(None, "1")


def test_there_is_a_browser_where_one_is_needed() -> None:
    assert Path(chromium_program()).exists()


def test_ci_stops_with_a_sentence_where_no_browser_can_be_had(tmp_path: Path) -> None:
    """With an apt-get that has nothing, and a make that must not be reached."""
    for name, script in {"apt-get": "exit 1", "make": "echo reached", "id": "echo 0"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("bash", "dirname", "cat", "mktemp", "rm", "tail"):
        (tmp_path / name).symlink_to(
            next(Path(place, name) for place in ("/usr/bin", "/bin") if Path(place, name).exists())
        )
    done = subprocess.run(
        [tmp_path / "bash", ROOT / ".ci" / "run"],
        env={"PATH": str(tmp_path), "TMPDIR": str(tmp_path), **{k: v for k, v in os.environ.items() if k == "LANG"}},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "no Chromium" in done.stderr
    assert "reached" not in done.stdout
