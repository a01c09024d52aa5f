"""A run that goes on: the page follows it, and whatever happens to the viewer, the run does not notice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.end_to_end.commands import environment, write_task
from tests.viewer.browser import Page
from tests.viewer.demo_runs import make_demo
from tests.viewer.page_steps import to, visit
from tests.viewer.served import viewing

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from assay.viewer.api import Api, Params
from assay.viewer.derived import Stamp
from assay.viewer.run_list import RunList
from assay.viewer.run_view import RunView

MODEL = """
import pathlib, time

def answer(prompt):
    # goes on only as far as the test lets it
    number = int(prompt.split()[-1])
    while number > int(pathlib.Path("allowed").read_text() or 0):
        time.sleep(0.02)
    return str(number)
"""


class LiveRun:
    """A real `assay run` that waits for permission before each answer."""

    def __init__(self, folder: Path, samples: int) -> None:
        self.folder = folder / "runs" / "live"
        self._cwd = folder
        self.allow(0)
        (folder / "slow_model.py").write_text(MODEL)
        write_task(folder / "numbers.jsonl", {f"say {n}": str(n) for n in range(1, samples + 1)})
        self.process = subprocess.Popen(
            [sys.executable, "-m", "assay", "run", "numbers.jsonl", "--model", "slow_model:answer",
             "--concurrency", "1", "--no-cache", "--quiet", "--run-dir", str(self.folder)],
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        while not (self.folder / "journal.jsonl").exists():
            assert self.process.poll() is None
            time.sleep(0.02)

    def allow(self, number: int) -> None:
        (self._cwd / "allowed.new").write_text(str(number))
        os.replace(self._cwd / "allowed.new", self._cwd / "allowed")

    def finish(self) -> int:
        self.allow(10**6)
        _, said = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, said
        return len((self.folder / "journal.jsonl").read_text().splitlines())


def test_the_page_follows_a_run_without_reload_and_the_run_outlives_the_viewer(browser: str, tmp_path: Path) -> None:
    run = LiveRun(tmp_path, 12)
    done = "document.querySelector('.figure:nth-child(2) .value')?.textContent"

    async def steps(page: Page) -> None:
        await page.run("window.notReloaded = true")
        await page.until("document.querySelector('.state.on')?.textContent === 'running'")
        await to(page, "#/run/live", ".page-overview")
        run.allow(3)
        await page.until(f"{done} === '3'")
        for what, allowed in (("[aria-label='Slice by']", 5), (".head a.button", 7)):
            await page.run(f'document.querySelector("{what}").focus()')
            run.allow(allowed)
            await page.until(f"{done} === '{allowed}'")
            assert await page.run(f'document.activeElement === document.querySelector("{what}")'), what
        assert await page.run("document.querySelector('.state').textContent") == "running"
        await to(page, "#/run/live/samples", ".samples tbody tr")
        run.allow(9)
        await page.until("document.querySelectorAll('.samples tbody tr').length === 9")
        assert await page.run("window.notReloaded") is True

    with viewing(tmp_path / "runs") as viewer:
        visit(browser, viewer.link, steps)
        viewer.process.send_signal(signal.SIGKILL)
        viewer.process.wait()
    assert run.finish() == 12
    board = json.loads((run.folder / "leaderboard.json").read_text())
    assert (board["overall_score"], board["complete"]) == (1.0, True)


def test_a_finished_run_and_a_new_one_appear_in_the_list(browser: str, tmp_path: Path) -> None:
    run = LiveRun(tmp_path, 3)

    async def steps(page: Page) -> None:
        await page.until("document.querySelector('.state.on')")
        run.finish()
        await page.until("document.querySelector('.c-progress .state')?.textContent === 'finished'")
        make_demo(tmp_path / "runs" / "another", each=2)
        await page.until("document.querySelectorAll('table.runs tbody tr').length === 2")

    with viewing(tmp_path / "runs") as viewer:
        visit(browser, viewer.link, steps)


def test_a_run_that_grows_during_a_request_is_answered_from_one_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every look at the journal's size finds one line more."""
    whole = make_demo(tmp_path / "run", each=12)
    make_demo(tmp_path / "other", model="other", each=12)
    lines = (whole / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (whole / "journal.jsonl").write_bytes(b"".join(lines[:5]))
    (whole / "leaderboard.json").unlink()
    rest, stamp = iter(lines[5:]), RunView.journal_stamp

    def growing(view: RunView) -> Stamp:
        if view.name == "run" and (line := next(rest, None)) is not None:
            with view.journal.open("ab") as file:
                file.write(line)
        return stamp(view)

    monkeypatch.setattr(RunView, "journal_stamp", growing)
    api = Api(RunList([tmp_path]))
    for sort in ("score", "order"):
        page = api.samples(Params([("run", "run"), ("sort", sort), ("dir", "desc"), ("limit", "500")]))
        assert page["total"] == len(page["rows"]) == page["summary"]["rows"] > 5
    asked = Params([("run", "run"), ("against", "other"), ("by", "task"), ("key", page["rows"][0]["key"])])
    for read in (api.slices, api.neighbours, api.sample, api.run):
        read(asked)
    assert next(rest, None) is not None, "it stopped growing before the last request"


def test_looking_never_takes_the_journals_lock(tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "run", each=2)
    with viewing(folder) as viewer:
        viewer.get("run", run="run")
        held = Path("/proc/locks").read_text()
    assert f":{(folder / 'journal.jsonl').stat().st_ino} " not in held
