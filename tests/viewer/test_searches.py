"""A search of `assay optimize` among the runs: listed and shown as what it is, and in no one's way."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.optimize.scripted import AddingProposer, WordEvaluator
from tests.viewer.browser import Page
from tests.viewer.demo_runs import make_demo
from tests.viewer.page_steps import click, pick, text, to, visit
from tests.viewer.served import viewing

from assay.cli.main import main

pytest.importorskip("starlette")
pytest.importorskip("gepa")

from assay.core.errors import SearchFolderError
from assay.evaluators import Evaluation
from assay.optimize.run import SearchSettings, optimize
from assay.viewer.api import Api, Params
from assay.viewer.export import export_site
from assay.viewer.run_list import RunList

KEPT = "document.querySelectorAll('.plotted svg.for-page .m[aria-label*=\"after\"]').length"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searches")
    make_demo(folder / "run", each=3)
    make_demo(folder / "other", model="other", each=3)
    optimize(SETTINGS, Telling(), AddingProposer(), folder=folder / "optimize-1", probe=False)
    return folder


SETTINGS = SearchSettings(
    seed="Be",
    dataset=[{"words": [word]} for word in ("clear", "kind", "short", "exact", "calm", "clear kind")]
    + [{"words": ["<b>never</b>"]}],
    budget=60,
    max_proposals=8,
)


class Telling(WordEvaluator):
    """Says what the text led to, why, and how it did in parts."""

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
        found = await super().__call__(candidate, example, task_model)
        told = {"output": f"led to {candidate}", "scores": {"tone": 0.25}, "reasoning": f"lacks {example['words'][0]}"}
        return Evaluation(score=found.score, side_info={**found.side_info, **told})


def test_it_is_listed_as_a_search_and_has_a_page(folder: Path) -> None:
    api = Api(RunList([folder]))
    lines: dict[str, Any] = {line["name"]: line for line in api.runs(Params([]))["runs"]}
    assert {name: line["kind"] for name, line in lines.items()} == {
        "run": "run",
        "other": "run",
        "optimize-1": "search",
    }
    assert lines["optimize-1"]["best"] > lines["optimize-1"]["seed"]
    found = api.run(Params([("run", "optimize-1")]))["summary"]
    assert found["lineage"][0]["text"] == "Be"
    assert found["best"].startswith("Be")
    seventh = found["records"][6]
    assert (seventh["index"], seventh["best"], seventh["record"]) == (6, 0.0, {"words": ["<b>never</b>"]})
    (row,) = [row for row in seventh["evaluations"] if row["candidate"] == found["best_number"]]
    assert row["output"] == f"led to {found['best']}"
    assert (row["side_info"]["reasoning"], row["scores"]) == ("lacks <b>never</b>", {"tone": 0.25})
    with pytest.raises(SearchFolderError, match="holds a search"):
        api.samples(Params([("run", "optimize-1")]))


def test_a_search_that_is_not_finished_says_so(tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "run.json").write_text('{"schema": "assay.optimize.run.v1", "fingerprint": "", "parts": {}}')
    (line,) = Api(RunList([tmp_path])).runs(Params([]))["runs"]
    assert (line["kind"], "error" in line) == ("search", False)
    assert "resumes it" in line["verdict"]


def test_a_search_without_a_summary_shows_how_far_it_is(browser: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "optimize-1", tmp_path / "running")
    finished = msgspec.json.decode((tmp_path / "running" / "summary.json").read_bytes())
    (tmp_path / "running" / "summary.json").unlink()
    with (tmp_path / "running" / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"key":"to')  # it is being written
    found = Api(RunList([tmp_path])).run(Params([("run", "running")]))
    so_far = found["so_far"]
    kept = {each["number"]: (each["calls"], pytest.approx(each["mean"])) for each in finished["lineage"]}
    assert {each["number"]: (each["calls"], each["mean"]) for each in so_far["lineage"]} == kept
    assert so_far["calls"] == {"used": finished["calls"]["used"], "failed": 0}
    made, repeated = finished["proposals"]["made"], finished["proposals"]["repeated"]
    assert made <= so_far["proposals"]["answers"] <= made + repeated  # after a repeat the proposer is called once more
    assert so_far["proposals"]["unusable"] == 0
    assert so_far["selected_on"] == finished["selected_on"] == "dataset"

    async def steps(page: Page) -> None:
        await to(page, "#/run/running", ".plotted")
        assert await page.run(KEPT) == len(kept)
        assert f"{finished['calls']['used']} evaluator calls, 0 failed" in await page.run("document.body.innerText")

    with viewing(tmp_path) as viewer:
        visit(browser, viewer.link, steps)


@pytest.mark.parametrize("command", [["leaderboard"], ["report", "--output"]])
def test_commands_over_a_folder_of_runs_skip_it(
    folder: Path, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    output = [str(tmp_path / "page.html")] if "--output" in command else []
    assert main([command[0], *sorted(map(str, folder.iterdir())), *command[1:], *output]) == 0
    assert f"skipped {folder / 'optimize-1'}: holds a search" in capsys.readouterr().err
    assert main([command[0], str(folder / "optimize-1"), *command[1:], *output]) == 2


def test_the_page_shows_list_and_lineage_in_the_viewer_and_in_a_copy(
    browser: str, folder: Path, tmp_path: Path
) -> None:
    async def steps(page: Page) -> None:
        await page.until("document.querySelector('.search-row .c-model a')")
        assert "search" in await page.run("document.querySelector('.search-row').innerText")
        await to(page, "#/run/optimize-1", "table[aria-label=Lineage]")
        assert (await page.run(text("table[aria-label=Lineage] tbody tr td:first-child")))[0] == "seed"
        assert await page.run("document.querySelector('.tabs')") is None
        assert await page.run(KEPT) > 1
        assert await page.run(text(".plotted .tools button")) == ["SVG", "PNG"]
        assert "Be" in (await page.run(text(".sides .side-of pre")))[0]
        # why does the best text fail on record 7?
        await click(page, "button.record", "dataset 7")
        await page.until("document.querySelector('tr.detail:not([hidden]) .sides')")
        sides = await page.run(text("tr.detail:not([hidden]) .side-of"))
        assert len(sides) == 2
        for told in ("score 0.000", "lacks <b>never</b>", "sub-scores", "tone", "led to Be"):
            assert told in sides[1]
        assert "ms" in sides[1] or "µs" in sides[1]
        # the record has an address, and the list can be cut to what matters
        assert "record=dataset+7" in await page.run("location.hash")
        await pick(page, "Which records", "failed")
        assert await page.run(text("button.record")) == ["dataset 7"]
        await page.run("location.reload()")
        await page.until("document.querySelector('tr.detail:not([hidden]) .sides')")

    with viewing(folder) as viewer:
        visit(browser, viewer.link, steps)
    site = export_site([folder], tmp_path / "site", 100)
    visit(browser, site.as_uri(), steps)
