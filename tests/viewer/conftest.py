"""One Chromium for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.viewer.browser import CHROMIUM, chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[str]:
    """The address of a headless browser's debugging port."""
    if CHROMIUM is None:
        pytest.skip("no chromium here (Debian: apt-get install chromium)")
    with chromium() as address:
        yield address
