"""One truth: whoever is asked for a number of a run, table, comparison, page, gate or search, gives the same one."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.results.every_kind import KINDS, LEVEL, REPEATED, write_run
from tests.results.runs import build_standings

from assay.cli.main import main
from assay.core.errors import FailureError
from assay.core.journal import counting_lines
from assay.core.types import Record
from assay.optimize.evaluations import ScoreOrFailure
from assay.optimize.results import measure
from assay.optimize.task_fitness import evaluation_of
from assay.pages.documents.leaderboard import interval, number
from assay.pages.html.report_page import report_page
from assay.results.board.board_types import Leaderboard, TaskRow
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.diff.differences import BoardDiff
from assay.results.diff.ends import diff_ends
from assay.results.frames.frame_source import RunSource
from assay.results.gates.drops import check_drop
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.results.measure import measure_of
from assay.results.report_settings import View, common_view, view_of
from assay.run_file import read_run_file
from assay.runs.run_handle import Rows, table_of_runs
from assay.viewer.api import Api, Params
from assay.viewer.export import export_site
from assay.viewer.run_list import RunList

PAIRS = ("once", "thrice")


class Case(NamedTuple):
    """A task of one of the two pairs of runs."""

    pair: str
    task: str


CASES = [Case("once", task) for task in KINDS] + [Case("thrice", task) for task in REPEATED]
MEANS = [case for case in CASES if case.task != "perplexity"]
"""Perplexity is no mean over samples: what is averaged there is another measure, and says so."""


class Everything(NamedTuple):
    """The runs `a` and `b`, once and thrice, and everything that can be asked in one go."""

    root: Path
    boards: dict[str, Leaderboard]
    api: Api
    site: Path


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Everything:
    root = tmp_path_factory.mktemp("surfaces")
    for pair, repeat in (("once", 1), ("thrice", 3)):
        tasks = tuple(KINDS) if repeat == 1 else REPEATED
        write_run(root / "runs" / f"{pair}-a", f"{pair}-a", 0.5, tasks, repeat=repeat)
        write_run(root / "runs" / f"{pair}-b", f"{pair}-b", 0.8, tasks, repeat=repeat)
    boards = {folder.name: build_leaderboard(folder) for folder in (root / "runs").iterdir()}
    site = export_site([root / "runs"], root / "site", 10_000).parent
    return Everything(root, boards, Api(RunList([root / "runs"])), site)


def task_of(board: Leaderboard, task: str) -> dict[str, Any]:
    row = next(row for row in board.tasks if row.task == task)
    ends = None if row.interval is None else [row.interval.low, row.interval.high]
    return {"score": row.score, "interval": ends, "scored": row.scored}


def same(found: Any, expected: Any) -> bool:
    """Up to far beyond the fourth decimal."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return isinstance(found, float | int) and abs(found - expected) < 1e-9
    return bool(found == expected)


@cache
def said_by(*arguments: str | Path) -> Any:
    """What a command prints; asked once for all its tasks."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main([str(each) for each in arguments]) == 0
    return json.loads(printed.getvalue())


@cache
def differences(*folders: Path) -> BoardDiff:
    return diff(*folders, common_view([read_run_file(folder).config for folder in folders]))


def data(site: Path, name: str) -> Any:
    text = (site / "data" / f"{name}.js").read_text()
    return json.loads(text[text.index(",") + 1 : text.rindex(")")])


def exported(site: Path, run: str, what: str = "") -> Any:
    listed = next(each for each in data(site, "runs")["runs"] if each["name"] == run)
    return data(site, listed["file"] + what)


def from_viewer(score: dict[str, Any]) -> dict[str, Any]:
    ends = None if score["low"] is None else [score["low"], score["high"]]
    return {"score": score["value"], "interval": ends, "scored": score["n"]}


def sides(case: Case) -> Iterator[str]:
    yield from (f"{case.pair}-a", f"{case.pair}-b")


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_leaderboards_of_one_and_of_many_agree(everything: Everything, case: Case) -> None:
    folders = [everything.root / "runs" / run for run in sides(case)]
    many = said_by("leaderboard", *folders, "--json")
    assert many["level"] == LEVEL
    for run, folder in zip(sides(case), folders, strict=True):
        expected = task_of(everything.boards[run], case.task)
        row = next(each for each in many["models"] if each["source"] == str(folder))
        cell = row["tasks"][case.task]
        ends = cell["interval"] and [cell["interval"]["low"], cell["interval"]["high"]]
        assert same({"score": cell["score"], "interval": ends, "scored": cell["compared"]}, expected)
        board = everything.boards[run]
        assert same(row["overall"], board.overall_score)
        assert board.overall_interval is not None
        assert same(row["interval"]["low"], board.overall_interval.low)
        written = json.loads((folder / "leaderboard.json").read_text())
        [on_file] = [each for each in written["tasks"] if each["task"] == case.task]
        assert same(on_file["score"], expected["score"])


@pytest.mark.parametrize("case", MEANS, ids=" ".join)
def test_the_viewer_its_filters_and_slices_have_the_leaderboards_numbers(everything: Everything, case: Case) -> None:
    for run in sides(case):
        expected = task_of(everything.boards[run], case.task)
        page = everything.api.samples(Params([("run", run), ("task", case.task)]))
        assert same(from_viewer(page["summary"]["score"]), expected)
        slices = everything.api.slices(Params([("run", run), ("by", "task")]))["slices"]
        [part] = [each for each in slices if each["value"] == case.task]
        assert same(from_viewer(part["score"]), expected)
        assert part["score"]["headline"]
        whole = everything.api.run(Params([("run", run)]))
        [row] = [each for each in whole["board"]["tasks"] if each["task"] == case.task]
        assert same(row["score"], expected["score"])


@pytest.mark.parametrize("case", MEANS, ids=" ".join)
def test_slices_of_the_viewer_are_those_of_the_leaderboard(everything: Everything, case: Case) -> None:
    run, folder = f"{case.pair}-a", everything.root / "runs" / f"{case.pair}-a"
    config = read_run_file(folder).config
    view = View(level=config.level, group_by=config.group_by or "", by=("level",))
    [row] = [each for each in build_leaderboard(folder, view).tasks if each.task == case.task]
    found = everything.api.slices(Params([("run", run), ("task", case.task), ("by", "level")]))["slices"]
    shown = {each["value"]: from_viewer(each["score"]) for each in found}
    for part in row.slices:
        assert part.interval is not None
        ends = [part.interval.low, part.interval.high]
        assert same(shown[part.value], {"score": part.score, "interval": ends, "scored": part.scored})


@pytest.mark.parametrize("pair", PAIRS)
def test_the_overall_score_is_the_mean_over_tasks_everywhere(everything: Everything, pair: str) -> None:
    for run in (f"{pair}-a", f"{pair}-b"):
        board = everything.boards[run]
        assert board.overall_interval is not None
        ends = [board.overall_interval.low, board.overall_interval.high]
        for whole in (everything.api.run(Params([("run", run)])), exported(everything.site, run)):
            found = from_viewer(whole["summary"]["score"])
            assert same([found["score"], found["interval"]], [board.overall_score, ends])
            assert same(whole["board"]["overall_score"], board.overall_score)
        [listed] = [each for each in everything.api.runs(Params([]))["runs"] if each["name"] == run]
        assert same([listed["score"], listed["interval"]["low"]], [board.overall_score, ends[0]])


@pytest.mark.parametrize("case", MEANS, ids=" ".join)
def test_the_exported_site_holds_the_leaderboards_numbers_and_makes_none(everything: Everything, case: Case) -> None:
    for run in sides(case):
        expected = task_of(everything.boards[run], case.task)
        whole = exported(everything.site, run)
        [part] = [each for each in whole["slices"]["task"]["slices"] if each["value"] == case.task]
        assert same(from_viewer(part["score"]), expected)
        rows = [row for row in exported(everything.site, run, "-rows") if row["task"] == case.task]
        assert part["rows"] == len(rows)
    script = (everything.site / "app.js").read_text()
    assert "Math.sqrt" not in script
    assert "1.96" not in script


def test_what_is_averaged_where_the_score_is_no_mean_says_so(everything: Everything) -> None:
    found = everything.api.samples(Params([("run", "once-a"), ("task", "perplexity")]))["summary"]["score"]
    assert (found["headline"], found["tasks"]) == (False, 1)
    several = everything.api.run(Params([("run", "once-a")]))["summary"]["score"]
    assert (several["excluded"], several["headline"]) == (["judged", "hallucination", "perplexity"], True)


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_differences_of_two_runs_are_the_same_everywhere(everything: Everything, case: Case) -> None:
    a, b = sides(case)
    folders = [everything.root / "runs" / run for run in (a, b)]
    made = differences(*folders)
    [task] = [each for each in made.tasks if each.task == case.task]
    assert task.comparison is not None
    assert made.overall is not None
    assert same(made.overall.difference, made.overall_change)
    for name, own in (("score_a", a), ("score_b", b)):
        assert same(getattr(task, name), task_of(everything.boards[own], case.task)["score"])
    told = said_by("diff", *folders, "--json")
    viewed = everything.api.compare(Params([("run", a), ("run", b)]))
    assert (told["level"], viewed["level"]) == (LEVEL, LEVEL)
    [on_stdout] = [each for each in told["tasks"] if each["task"] == case.task]
    expected = numbers_of({"comparison": plain(task.comparison), "adjusted_p": task.adjusted_p})
    assert same(numbers_of(on_stdout), expected)
    overall = [made.overall.difference, made.overall.interval.low, made.overall.interval.high, made.overall.adjusted_p]
    for pair in (viewed["pairs"][0], exported(everything.site, a, "-compare")[b]):
        [shown] = [each for each in pair["tasks"] if each["task"] == case.task]
        assert same(numbers_of({"comparison": shown, "adjusted_p": shown["adjusted_p"]}), expected)
        assert shown["significant"] == task.significant
        whole = pair["overall"]
        ends = [whole["difference"], whole["interval"]["low"], whole["interval"]["high"], whole["adjusted_p"]]
        assert same(ends, overall)


def test_runs_with_other_clusters_compare_as_in_diff(tmp_path: Path) -> None:
    write_run(tmp_path / "ours", "ours", 0.5, ("clustered",))
    write_run(tmp_path / "theirs", "theirs", 0.8, ("clustered",), group_by="level")
    made = diff(tmp_path / "ours", tmp_path / "theirs", View(level=LEVEL))
    [pair] = Api(RunList([tmp_path])).compare(Params([("run", "ours"), ("run", "theirs")]))["pairs"]
    assert made.tasks[0].comparison is not None
    assert same(pair["tasks"][0]["p_value"], made.tasks[0].comparison.p_value)
    assert same(pair["tasks"][0]["interval"]["low"], made.tasks[0].comparison.interval.low)


def test_fewer_hallucinations_are_better_everywhere(everything: Everything) -> None:
    boards = [everything.boards[f"once-{side}"] for side in "ab"]
    before, after = (next(row for row in board.tasks if row.task == "hallucination") for board in boards)
    assert before.score is not None
    assert after.score is not None
    assert after.score < before.score
    assert before.lower_is_better
    folders = [everything.root / "runs" / f"once-{side}" for side in "ab"]
    [task] = [each for each in differences(*folders).tasks if each.task == "hallucination"]
    assert task.comparison is not None
    assert same(task.comparison.difference, before.score - after.score)
    assert task.comparison.interval.method == "guarded-t"
    for row, run in ((before, "once-a"), (after, "once-b")):
        outcomes = everything.api.samples(Params([("run", run), ("task", "hallucination")]))["summary"]["outcomes"]
        numbers = [
            record.scores[0].values["hallucination"]
            for _, record in counting_lines(everything.root / "runs" / run / "journal.jsonl", Record)
            if record.task == "hallucination"
        ]
        assert row.correct == outcomes["right"] == numbers.count(0.0)
    ranked = {row.model: row for row in build_standings(folders, View(level=LEVEL)).models}
    assert ranked["once-b"].win_rate is not None
    [gate] = parse_gates(["no-drop-beyond 0.5"])
    paired = diff_ends(*folders, View(level=LEVEL))
    [drop] = [each for each in paired.worst.tasks if each.task == "hallucination"]
    assert check_drop(gate, paired, allow_unequal=False).outcome != "not met"  # type: ignore[arg-type]
    assert drop.drop is not None
    assert not drop.drop.significant
    [back] = [each for each in diff(*reversed(folders), View(level=LEVEL)).tasks if each.task == "hallucination"]
    assert back.comparison is not None
    assert same(back.comparison.difference, after.score - before.score)


def plain(comparison: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(comparison)
    return found


def numbers_of(task: dict[str, Any]) -> dict[str, Any]:
    found = task["comparison"]
    ends = found["interval"]
    return {
        "n": found["n"],
        "means": [found["first"], found["second"]],
        "difference": found["difference"],
        "interval": [ends.get("low"), ends.get("high")],
        "p": [found["p_value"], task["adjusted_p"]],
    }


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_gates_and_searches_measure_what_the_leaderboard_shows(everything: Everything, case: Case) -> None:
    folder = everything.root / "runs" / f"{case.pair}-a"
    board = everything.boards[folder.name]
    expected = task_of(board, case.task)
    if case.task != "failed":  # where attempts failed a gate goes by the ends of what they could have been
        near = [f"`{case.task}` {sign} {expected['score'] + step:.9f}" for sign, step in ((">=", -1e-5), ("<=", 1e-5))]
        assert [result.outcome for result in check_gates(parse_gates(near), board)] == ["met", "met"]
    [definition] = [each for each in read_run_file(folder).definitions if each.name == case.task]
    outcomes = []
    for _, record in counting_lines(folder / "journal.jsonl", Record):
        if record.task == case.task and not record.excluded:
            outcomes.append(searched(record, definition))
    found = measure(outcomes)
    assert found.scored == expected["scored"]
    if case.task != "perplexity":
        assert same(found.mean, -expected["score"] if case.task == "hallucination" else expected["score"])


def searched(record: Record, definition: Any) -> ScoreOrFailure:
    try:
        made = evaluation_of(record, measure_of(definition), definition.name)
    except FailureError as error:
        return ScoreOrFailure(score=None, side_info={}, failure=error.failure)
    return ScoreOrFailure(score=made.score, side_info=made.side_info)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_report_shows_the_numbers_of_leaderboard_and_diff(everything: Everything, pair: str) -> None:
    folders = [everything.root / "runs" / f"{pair}-{side}" for side in "ab"]
    configs = [read_run_file(folder).config for folder in folders]
    made = differences(*folders)
    both = words_of(report_page(folders, common_view(configs)))
    for folder in folders:
        alone = words_of(report_page([folder], view_of(read_run_file(folder).config, folder)))
        board = everything.boards[folder.name]
        for row in board.tasks:
            assert f" {row.task} {row.metric} {number(row.score)} {interval(row.interval)} " in alone
            assert f" {number(row.score)} " in both
            assert interval(row.interval) in both
        assert f" overall {number(board.overall_score)} {interval(board.overall_interval)} " in alone
    for task in made.tasks:
        assert task.comparison is not None
        assert task.comparison.difference is not None
        assert f"{task.comparison.difference:+.3f}".replace("-", "−") in both.replace("-", "−")


SAME_NAMES = (
    *("metric", "score", "correct", "total", "scored", "unscored", "failed", "timeouts", "excluded", "remaining"),
    *("complete", "coverage", "lower_is_better", "tokens_in", "tokens_out", "judge_tokens_in", "latency_ms"),
    *("signature", "sha256"),
)


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_tables_of_python_have_the_numbers_of_leaderboard_and_viewer(everything: Everything, case: Case) -> None:
    for run in sides(case):
        [row] = [each for each in everything.boards[run].tasks if each.task == case.task]
        ours = [each for each in rows_of(everything.root / "runs" / run, "attempts") if each["task"] == case.task]
        numbers = [each["score"] for each in ours if each["score"] is not None]
        assert len(numbers) == row.scored
        if case.task != "perplexity":
            assert same(sum(numbers) / len(numbers), row.score)
        outcomes = Counter(each["outcome"] for each in ours)
        assert [outcomes[name] for name in ("failed", "timeout", "excluded")] == [
            *(row.failed, row.timeouts, row.excluded)
        ]
        assert row.correct is None or outcomes["right"] == row.correct
        viewed = everything.api.samples(Params([("run", run), ("task", case.task)]))["summary"]["outcomes"]
        assert dict(outcomes) == viewed
        assert sum(each["tokens_in"] for each in ours) == row.tokens_in
        assert sum(each["judge_tokens_in"] for each in ours) == row.judge_tokens_in
        [task] = [each for each in rows_of(everything.root / "runs" / run, "tasks") if each["task"] == case.task]
        assert {name: task[name] for name in SAME_NAMES} == {name: getattr(row, name) for name in SAME_NAMES}
        assert row.interval is not None
        assert (task["low"], task["high"], task["level"]) == (row.interval.low, row.interval.high, LEVEL)
        assert [task["bounds_low"], task["bounds_high"]] == ([None, None] if row.bounds is None else [*ends_of(row)])
        for summary in [*row.aggregates, *row.repetitions]:
            of = "aggregates" if summary in row.aggregates else "repetitions"
            assert task[f"{of}.{summary.name}"] == summary.value


def ends_of(row: TaskRow) -> tuple[float, float]:
    assert row.bounds is not None
    return row.bounds.low, row.bounds.high


@cache
def rows_of(folder: Path, rows: Rows) -> list[dict[str, Any]]:
    """A table, row by row, as every library is given it."""
    table = table_of_runs([RunSource.of(folder)], rows)
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for chunk in table.chunks() for row in zip(*chunk, strict=True)]


def words_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_a_report_and_a_leaderboard_are_over_the_shared_samples_that_diff_asks_for(tmp_path: Path) -> None:
    ours = write_run(tmp_path / "ours", "ours", 0.5, ("right/wrong",))
    theirs = write_run(tmp_path / "theirs", "theirs", 0.5, ("right/wrong",), targets=lambda n: str(n + (n < 6)))
    before = (ours / "leaderboard.json").read_bytes()
    assert main(["diff", str(ours), str(theirs)]) == 2
    assert (ours / "leaderboard.json").read_bytes() == before
    shared = words_of(report_page([ours, theirs], View()))
    assert "18 of 24" in shared
    made = diff(ours, theirs, View(), allow_unequal=True)
    ranked = build_standings([ours, theirs], View())
    cells = {row.label: row.tasks["right/wrong"] for row in ranked.models}
    for label, score in (("ours", made.tasks[0].score_a), ("theirs", made.tasks[0].score_b)):
        assert same(cells[label].score, score)
        assert f" {number(score)} " in shared


def test_samples_with_another_answer_key_compare_nothing_in_the_viewer_either(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "ours", "ours", 0.5, ("right/wrong",))
    write_run(tmp_path / "runs" / "theirs", "theirs", 0.5, ("right/wrong",), targets=lambda n: str(n + (n < 6)))
    made = diff(tmp_path / "runs" / "ours", tmp_path / "runs" / "theirs", View(level=LEVEL), allow_unequal=True)
    api = Api(RunList([tmp_path / "runs"]))
    [pair] = api.compare(Params([("run", "ours"), ("run", "theirs")]))["pairs"]
    assert made.tasks[0].comparison is not None
    assert (pair["tasks"][0]["n"], pair["unequal"]) == (18, made.unequal)
    assert same(pair["tasks"][0]["difference"], made.tasks[0].comparison.difference)
    asked = Params([("run", "ours"), ("against", "theirs"), ("flip", "flipped")])
    assert api.samples(asked)["total"] == made.tasks[0].flips
    rows = {row["id"]: row for row in data(export_site([tmp_path / "runs"], tmp_path / "site", 99).parent, "r0-rows")}
    others = {row["id"]: row for row in data(tmp_path / "site", "r1-rows")}
    assert sum(rows[name]["targets"] == others[name]["targets"] for name in rows) == 18
