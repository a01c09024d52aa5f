"""One Chromium and one served folder of runs for all tests of the viewer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.viewer.browser import chromium
from tests.viewer.demo_runs import make_demo, make_hostile
from tests.viewer.served import Viewer, viewing


@pytest.fixture(scope="session")
def browser() -> Iterator[str]:
    """The address of a headless browser's debugging port."""
    with chromium() as address:
        yield address


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("server")
    make_demo(folder / "runs" / "small", model="small", skill=0.5)
    make_demo(folder / "runs" / "large", model="large", skill=0.9)
    make_hostile(folder / "runs" / "hostile")
    make_demo(folder / "outside")
    (folder / "runs" / "link").symlink_to(folder / "outside")
    (folder / "secret.txt").write_text("secret")
    later = folder / "runs" / "later"
    make_demo(later, each=2)
    later.joinpath("run.json").write_text((later / "run.json").read_text().replace("run.v1", "run.v9"))
    broken = folder / "runs" / "broken"
    broken.mkdir()
    broken.joinpath("run.json").write_text("{")
    return folder


@pytest.fixture(scope="session")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder / "runs") as found:
        yield found
