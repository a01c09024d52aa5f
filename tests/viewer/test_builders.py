"""Long work of the viewer in processes of its own: done there, with no key, and ended with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.viewer.demo_runs import make_demo

from assay.viewer.builders import Builders


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_a_job_is_done_and_was_given_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    folder, builders = make_demo(tmp_path / "run", each=1), Builders()
    before = {path.name for path in folder.iterdir()}
    builders.start("index", folder)
    (process,) = builders._running.values()
    assert b"sk-secret" not in Path(f"/proc/{process.pid}/environ").read_bytes()
    builders.wait()
    assert {path.name for path in folder.iterdir()} - before
    assert not builders.busy("index", folder)


def test_stopping_ends_what_runs(tmp_path: Path) -> None:
    folder, builders = make_demo(tmp_path / "run", each=1), Builders()
    builders.start("words", folder)
    builders.stop()
    assert not builders.busy("words", folder)
