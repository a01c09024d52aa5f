"""One sandbox for the tests that only run programs in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox(workers=1)
    box.start_here()
    yield box
    box.close()
