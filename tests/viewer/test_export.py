"""The exported site: opened from a file, it reads, filters, searches and compares as the viewer does."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay
from tests.viewer.browser import Page, new_page
from tests.viewer.demo_runs import make_demo, make_hostile
from tests.viewer.page_steps import Steps, click, pick, to, write

from assay.pages.documents.leaderboard import interval, number
from assay.results.board.board_types import read_leaderboard_file


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    make_demo(folder / "runs" / "small", model="small", skill=0.5)
    make_demo(folder / "runs" / "large", model="large", skill=0.9)
    make_hostile(folder / "runs" / "hostile")
    done = assay("view", "runs", "--export", "site", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "site/index.html\n"), done.stderr
    return folder / "site"


def open_site(browser: str, site: Path, steps: Steps) -> None:
    async def go() -> None:
        async with new_page(browser) as page:
            await page.size(1280, 900)
            await page.open((site / "index.html").as_uri())
            await page.until("document.querySelector('#page .page')")
            await steps(page)
            assert page.console == []
            assert all(address.startswith((site.as_uri(), "data:", "blob:")) for address in page.requests)

    asyncio.run(go())


def test_the_site_works_from_a_file(browser: str, site: Path) -> None:
    shown = "document.querySelector('.summary b').textContent"
    told = "document.querySelector('.summary').textContent"

    async def steps(page: Page) -> None:
        await page.until("document.querySelectorAll('table.runs tbody tr').length === 3")
        await to(page, "#/run/small", "table[aria-label='Leaderboard']")
        await pick(page, "Slice by", "year")
        await page.until("document.querySelector('table[aria-label=\"Slices by year\"]')")
        await to(page, "#/run/small/samples", ".samples tbody tr")
        await pick(page, "Task", "capitals")
        await page.until(f"{shown} === '40 of 160 samples'")
        assert f"mean score {mean(site, 'capitals')}" in await page.run(told)
        await write(page, "Search samples", '"capital of peru"')
        await page.until(f"{shown}.endsWith(' of 160 samples') && {shown} !== '40 of 160 samples'")
        assert "has no mean for this selection" in await page.run(told)
        await page.key("Enter")
        await page.until("document.querySelector('.turn')")
        assert "capital of Peru" in await page.run("document.querySelector('.messages').textContent")
        assert await page.run("document.querySelector('.marking').textContent") == ""
        await to(page, "#/compare?run=small&run=large", ".side tbody tr")
        assert "large is better" in await page.run("document.querySelector('.verdict').textContent")
        await click(page, "button", "worse than the first")
        await to(page, "#/run/small/provenance", ".command")
        await to(page, "#/run/small/marks", ".page-marks")

    open_site(browser, site, steps)


def mean(site: Path, task: str) -> str:
    """As the leaderboard has it, with its interval."""
    board = read_leaderboard_file(site.parent / "runs" / "small" / "leaderboard.json")
    row = next(row for row in board.tasks if row.task == task)
    return f"{number(row.score)} ({interval(row.interval)}, over {row.scored} scored)"


def test_hostile_content_is_text_in_the_site_too(browser: str, site: Path) -> None:
    async def steps(page: Page) -> None:
        await to(page, "#/run/hostile/samples", ".samples tbody tr")
        keys = await page.run("[...document.querySelectorAll('.c-id a')].map((a) => a.hash)")
        for place in keys:
            await to(page, place, ".page-sample .facts")
            await page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert await page.run("window.hacked") is None

    open_site(browser, site, steps)


def test_the_numbers_of_the_site_are_those_of_the_run(site: Path) -> None:
    def data(name: str) -> object:
        text = (site / "data" / f"{name}.js").read_text()
        return json.loads(text[text.index(",") + 1 : text.rindex(")")])

    listed = data("runs")
    assert isinstance(listed, dict)
    small = next(run for run in listed["runs"] if run["name"] == "small")
    rows = data(f"{small['file']}-rows")
    assert isinstance(rows, list)
    assert len(rows) == 160
    board = json.loads((site.parent / "runs" / "small" / "leaderboard.json").read_text())
    assert small["score"] == board["overall_score"]


def test_a_folder_that_is_no_export_is_left_alone(tmp_path: Path) -> None:
    make_demo(tmp_path / "runs" / "run", each=2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    done = assay("view", "runs", "--export", "mine", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "mine" / "thesis.txt").read_text()) == (2, "years of work")
    assert "not empty" in done.stderr
    for _ in range(2):
        assert assay("view", "runs", "--export", "site", "--export-samples", "3", cwd=tmp_path).returncode == 0
    assert (tmp_path / "site" / "data" / "r0-rows.js").read_text().count('"key"') == 3


@pytest.mark.parametrize("arguments", [["nowhere"], ["nowhere", "--export", "site"], [".", "--export", "site"]])
def test_bad_input_is_reported_in_a_sentence(tmp_path: Path, arguments: list[str]) -> None:
    done = assay("view", *arguments, "--no-browser", cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"assay view: .+\n", done.stderr)
    assert not (tmp_path / "site").exists()


def test_a_run_that_cannot_be_read_is_refused_by_name_and_skipped_aloud_among_others(tmp_path: Path) -> None:
    make_demo(tmp_path / "runs" / "whole", each=2)
    make_demo(tmp_path / "runs" / "torn", each=2)
    file = tmp_path / "runs" / "torn" / "run.json"
    file.write_bytes(file.read_bytes()[:-9])
    reason = "runs/torn/run.json: not a run.v1 file: Input data was truncated\n"
    refused = assay("view", "runs/whole", "runs/torn", "--export", "site", cwd=tmp_path)
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", f"assay view: {reason}")
    assert not (tmp_path / "site").exists()
    done = assay("view", "runs", "--export", "site", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "site/index.html\n")
    assert done.stderr.startswith(f"skipped: {reason}")
    shutil.rmtree(tmp_path / "runs" / "whole")
    nothing = assay("view", "runs", "--export", "site", cwd=tmp_path)
    assert (nothing.returncode, nothing.stderr) == (2, f"assay view: {reason}")
