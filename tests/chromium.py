"""Which Chromium the tests of the pages open, and what happens where there is none."""

from __future__ import annotations

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = os.environ.get("CHROMIUM") or next((found for name in NAMES if (found := shutil.which(name))), None)
NEEDED = "ASSAY_NEED_BROWSER"
"""Set by `.ci/run`: then a test without a browser fails instead of being skipped."""
REASON = "no chromium is installed (Debian: apt-get install chromium)"


def missing(program: str | None, needed: str | None) -> bool:
    """Whether tests of pages are to be skipped; `AssertionError` where they must not be."""
    if program is None and needed:
        raise AssertionError(f"{REASON}, and {NEEDED} is set")
    return program is None


needs_chromium = pytest.mark.skipif(PROGRAM is None and not os.environ.get(NEEDED), reason=REASON)


def chromium_program() -> str:
    """The browser's program; skips the test that asks where there is none, or fails it."""
    if missing(PROGRAM, os.environ.get(NEEDED)):
        pytest.skip(REASON)
    assert PROGRAM is not None
    return PROGRAM
