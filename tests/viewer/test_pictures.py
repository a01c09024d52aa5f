"""The charts of the viewer: the numbers of leaderboard and diff, and what a reader can do with them in a browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.viewer.browser import Page
from tests.viewer.page_steps import to, visit
from tests.viewer.served import Viewer

from assay.reports.board.build import build_leaderboard

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_a_run_has_the_charts_of_its_report(viewer: Viewer, folder: Path) -> None:
    found = {chart["name"]: chart for chart in viewer.get("charts", run="small")["charts"]}
    assert {"scores", "latency-spread", "length-spread", "token-spread"} <= set(found)
    board = build_leaderboard(folder / "runs" / "small")
    scores = {row[0]: float(row[2]) for row in found["scores"]["rows"]}
    for row in board.tasks:
        assert scores[row.task] == pytest.approx(row.score, abs=1e-4)


def test_several_runs_are_compared_with_the_first(viewer: Viewer) -> None:
    found = {chart["name"]: chart for chart in viewer.get("charts", run=["large", "small"])["charts"]}
    assert {"overall", "heatmap", "wins", "latency", "scores"} <= set(found)
    pair = viewer.get("compare", run=["large", "small"])["pairs"][0]
    differences = {task["task"]: task["difference"] for task in pair["tasks"]}
    drawn = {row[1]: row[3] for row in found["heatmap"]["rows"] if row[0] == "small"}
    assert drawn == {task: f"{difference:+.3f}" for task, difference in differences.items()}


def test_slices_come_with_their_deviation(viewer: Viewer) -> None:
    found = viewer.get("slices", run="small", by="difficulty")
    rows = {row[0]: row for row in found["chart"]["rows"]}
    assert set(rows) == {each["value"] for each in found["slices"]}


def test_histories_leave_out_what_cannot_be_read(viewer: Viewer) -> None:
    found = viewer.get("history")
    assert any({"small", "large"} <= {run["run"] for run in each["runs"]} for each in found["histories"])
    assert viewer.get("history", model="small")["histories"] == []


def test_marks_are_reached_by_keyboard_say_what_they_are_and_lead_to_samples(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await page.send("Emulation.setFocusEmulationEnabled", enabled=True)
        await to(page, "#/run/small", ".plotted svg .m")
        scores = "[...document.querySelectorAll('.plotted')].find((f) => f.textContent.includes('Score per task'))"
        stops = f"{scores}.querySelectorAll('svg.for-page .m[tabindex=\"0\"]').length"
        assert await page.run(stops) == 1, "one stop for Tab"
        await page.run(f"{scores}.querySelector('svg.for-page .m[tabindex=\"0\"]').focus()")
        await page.run(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))"
        )
        tip = await page.run(f"{scores}.querySelector('.tip').textContent")
        assert tip == await page.run("document.activeElement.getAttribute('aria-label')")
        assert "capitals: 0." in tip
        await page.run(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"
        )
        await page.until("location.hash === '#/run/small/samples?task=capitals'")

    visit(browser, viewer.link, steps)


def test_a_chart_is_downloaded_as_a_drawing_that_stands_alone_and_as_pixels(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await to(page, "#/run/small", ".plotted svg .m")
        await page.run(
            "const make = URL.createObjectURL.bind(URL); URL.createObjectURL = (blob) => make((window.saved = blob)); 0"
        )
        await page.run("document.querySelector('[aria-label^=\"Download as SVG\"]').click()")
        svg = await page.run("window.saved.text()")
        assert svg.startswith("<svg")
        assert "Score per task" in svg
        assert "var(" not in svg, "its colours are its own"
        await page.run("window.saved = null; document.querySelector('[aria-label^=\"Download as PNG\"]').click()")
        await page.until("window.saved && window.saved.type === 'image/png' && window.saved.size > 2000")
        assert not [line for line in page.console if "Content Security" in json.dumps(line)]

    visit(browser, viewer.link, steps)
