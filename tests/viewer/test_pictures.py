"""The charts of the viewer: the numbers of leaderboard and diff, and what a reader can do with them in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.viewer.browser import Page
from tests.viewer.demo_runs import make_demo
from tests.viewer.page_steps import to, visit
from tests.viewer.served import Viewer

from assay.core.journal import DamagedError
from assay.pages.charts.colours import colour_of, colours_of
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.paired_columns import read_side
from assay.results.report_settings import View
from assay.results.standings.standing_rows import standings_of

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from assay.viewer.api import Api, Params
from assay.viewer.pictures import history_pictures
from assay.viewer.run_list import RunList


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


def test_scores_of_runs_with_unequal_attempts_are_those_over_the_attempts_that_compare(tmp_path: Path) -> None:
    for name, skill in (("small", 0.5), ("large", 0.9)):
        make_demo(tmp_path / name, model=name, skill=skill, each=12)
    lines = (tmp_path / "large" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "large" / "journal.jsonl").write_bytes(b"".join(lines[::2]))
    (tmp_path / "large" / "leaderboard.json").unlink()
    charts = Api(RunList([tmp_path])).charts(Params([("run", "large"), ("run", "small")]))["charts"]
    [heatmap] = [chart for chart in charts if chart["name"] == "heatmap"]
    sides = [read_side(tmp_path / name, View()) for name in ("large", "small")]
    scores = {
        (row.label, task): cell.score for row in standings_of(sides, View()).models for task, cell in row.tasks.items()
    }
    assert {(row[0], row[1]): float(row[2]) for row in heatmap["rows"]} == pytest.approx(scores, abs=1e-3)


def test_models_whose_names_ask_for_one_colour_have_one_each_and_the_same_on_every_page(tmp_path: Path) -> None:
    names = [name for n in range(90) if colour_of(colours_of([name := f"model-{n}"])[name]) == 3][:3]
    for name in names:
        make_demo(tmp_path / name, model=name, each=3)
    api = Api(RunList([tmp_path]))

    def seen(chart: str, *runs: str) -> set[str]:
        charts = api.charts(Params([("run", run) for run in runs]))["charts"]
        return set(re.findall(r"\bs\d\b", json.dumps(next(each for each in charts if each["name"] == chart))))

    own = {name: seen("scores", name) for name in names}
    assert [len(colours) for colours in own.values()] == [1, 1, 1]
    assert len(set.union(*own.values())) == 3
    assert own[names[2]] == seen("latency-spread", names[2])
    for chart in ("overall", "scores", "latency"):
        assert seen(chart, *names[1:]) == own[names[1]] | own[names[2]], chart
    history = json.dumps(history_pictures(RunList([tmp_path]), line="all")["histories"][0]["chart"])
    assert set(re.findall(r"\bs\d\b", history)) == set.union(*own.values())


def test_slices_come_with_their_deviation(viewer: Viewer) -> None:
    found = viewer.get("slices", run="small", by="difficulty")
    rows = {row[0]: row for row in found["chart"]["rows"]}
    assert set(rows) == {each["value"] for each in found["slices"]}


def test_histories_leave_out_what_cannot_be_read(viewer: Viewer) -> None:
    found = viewer.get("history", line="all")
    assert any({"small", "large"} <= {run["run"] for run in each["runs"]} for each in found["histories"])
    assert viewer.get("history", model="small")["histories"] == []


def test_marks_are_reached_by_keyboard_say_what_they_are_and_lead_to_samples(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await page.send("Emulation.setFocusEmulationEnabled", enabled=True)
        await to(page, "#/run/small", "[data-name=scores] svg .m")
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
        await to(page, "#/run/small", "[data-name=scores] svg .m")
        await page.run(
            "const make = URL.createObjectURL.bind(URL); URL.createObjectURL = (blob) => make((window.saved = blob)); 0"
        )
        await page.run("document.querySelector('[data-name=scores] [aria-label^=\"Download as SVG\"]').click()")
        svg = await page.run("window.saved.text()")
        assert svg.startswith("<svg")
        assert "Score per task" in svg
        assert "var(" not in svg, "its colours are its own"
        await page.run("window.saved = null")
        await page.run("document.querySelector('[data-name=scores] [aria-label^=\"Download as PNG\"]').click()")
        await page.until("window.saved && window.saved.type === 'image/png' && window.saved.size > 2000")
        assert not [line for line in page.console if "Content Security" in json.dumps(line)]

    visit(browser, viewer.link, steps)


def test_a_history_is_made_once_for_runs_that_do_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, skill in (("one", 0.5), ("two", 0.9)):
        make_demo(tmp_path / name, model=name, skill=skill, each=3)
    api = Api(RunList([tmp_path]))
    made: list[str] = []

    def counted(*given: Any, **more: Any) -> Any:
        made.append("history")
        return history_pictures(*given, **more)

    monkeypatch.setattr("assay.viewer.pictures.history_pictures", counted)
    first = api.history(Params([]))
    assert api.history(Params([])) == first
    assert len(made) == 1
    api.history(Params([("model", "one")]))
    assert len(made) == 2
    with (tmp_path / "two" / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"not": "a record"}\n')
    with pytest.raises(DamagedError, match=r"two/journal\.jsonl, line \d+: has no checksum"):
        api.history(Params([]))
    assert len(made) == 3
