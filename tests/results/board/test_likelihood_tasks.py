"""Perplexity goes down when it gets better: no part in overall scores, turned round in comparisons and ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.results.runs import build_standings, run_into, write_sums

from assay.core.describe import ModelOffers
from assay.core.types import Completion, Request
from assay.pages.html.report_page import report_page
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.marks import Mark, append_mark, marks_agreement
from assay.results.report_settings import View
from assay.viewer.builders import Builders
from assay.viewer.comparing import compare_runs
from assay.viewer.query import Filters, summary
from assay.viewer.run_view import RunView


class Reader:
    """Finds every byte of a text equally likely, and can add."""

    offers = ModelOffers(likelihoods="yes")

    def __init__(self, name: str, nats_per_byte: float) -> None:
        self.name = name
        self._nats = nats_per_byte

    async def generate(self, request: Request) -> Completion:
        if request.continuation is None:
            return Completion(text="1")
        size = len(request.continuation)
        return Completion(text=request.continuation, logprob=-self._nats * size - 0.01 * (size % 3))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    write_sums(folder / "tasks", "sums", 20)
    with (folder / "tasks" / "texts.jsonl").open("w") as file:
        for n in range(20):
            line = {"id": f"t{n}", "prompt": "Say:", "targets": ["word " * (n + 2)], "metric": "perplexity"}
            file.write(json.dumps(line) + "\n")
    run_into(folder / "fair", folder / "tasks", Reader("fair", 1.0))
    run_into(folder / "good", folder / "tasks", Reader("good", 0.5))
    return folder


def test_the_overall_score_leaves_perplexity_out_and_says_so(runs: Path) -> None:
    board = build_leaderboard(runs / "fair")
    texts = next(row for row in board.tasks if row.task == "texts")
    assert texts.lower_is_better
    assert texts.score is not None
    assert texts.score > 1.0
    assert board.overall_score == 0.05
    assert board.overall_reason == "over 1 of 2 tasks; lower is better: texts"


def test_a_lower_perplexity_is_a_gain(runs: Path, tmp_path: Path) -> None:
    found = diff(runs / "fair", runs / "good")
    texts = next(task for task in found.tasks if task.task == "texts")
    assert texts.comparison is not None
    assert texts.comparison.wins == 20
    assert texts.significant
    assert texts.verdict.startswith("B is better: +0.7")
    assert all(flip.better for flip in texts.shown)
    assert "B is better on texts" in found.verdict
    for name in ("fair", "good"):
        write_leaderboard_file(tmp_path / f"{name}.json", build_leaderboard(runs / name, View(per_example=True)))
    assert diff(tmp_path / "fair.json", tmp_path / "good.json").tasks == found.tasks


def test_ranks_turn_it_round(runs: Path) -> None:
    found = build_standings([runs / "fair", runs / "good"])
    by_label = {row.label: row for row in found.models}
    assert by_label["good"].win_rate == 0.75
    assert by_label["good"].overall == by_label["fair"].overall == 0.05
    assert (by_label["good"].normalised or 0.0) > (by_label["fair"].normalised or 0.0)


def test_the_report_gives_it_a_scale_of_its_own(runs: Path) -> None:
    assert "Scores where lower is better" in report_page([runs / "fair", runs / "good"], View())


def test_the_viewer_calls_no_bits_right_or_wrong_and_fewer_of_them_better(runs: Path) -> None:
    builders = Builders()
    fair, good = (RunView(name, runs / name, builders) for name in ("fair", "good"))
    texts = fair.rows(Filters(task=("texts",)), "order", False, [])
    assert summary(fair.snapshot(), texts, 0.95)["outcomes"] == {"scored": 20}
    sums = fair.rows(Filters(task=("sums",)), "order", False, [])
    assert summary(fair.snapshot(), sums, 0.95)["outcomes"] == {"right": 1, "wrong": 19}
    for first, second, flip in ((fair, good, "better"), (good, fair, "worse")):
        assert len(first.rows(Filters(flip=flip), "order", False, [second])) == 20
    [compared] = [task for task in compare_runs([fair, good])["pairs"][0]["tasks"] if task["task"] == "texts"]
    found = next(task for task in diff(runs / "fair", runs / "good").tasks if task.task == "texts")
    assert found.comparison is not None
    assert compared["difference"] == found.comparison.difference
    assert (compared["wins"], compared["lower_is_better"]) == (20, True)


def test_people_cannot_disagree_with_bits(runs: Path, tmp_path: Path) -> None:
    import shutil

    folder = Path(shutil.copytree(runs / "fair", tmp_path / "run"))
    marked = {"texts": 0, "sums": 0}
    for line in map(json.loads, (folder / "journal.jsonl").read_text().splitlines()):
        marked[line["task"]] += 1
        append_mark(folder, Mark(key=line["key"], task=line["task"], sample_id=line["sample_id"], verdict="wrong"))
    found = marks_agreement(folder)
    assert found is not None
    assert (found.unscored, found.overall.n) == (marked["texts"], marked["sums"])
    view = RunView("run", folder, Builders())
    assert len(view.rows(Filters(mark="disagree"), "order", False, [])) == 1  # the one sum that is right
