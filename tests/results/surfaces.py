"""Every place where a result or a comparison of results is shown, in one list.

A surface that shows numbers of one run has `run`; one that concludes something about two has `pair`. Whoever adds a
surface adds it here, and every property of `test_surfaces.py` holds for it, which fails while a command or a request
of the viewer is neither listed nor named as showing no result.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.cli.main import main
from assay.pages.html.report_page import report_page
from assay.pytest_plugin.measured import Board
from assay.results.board.leaderboard import read_leaderboard
from assay.results.report_settings import view_of_results
from assay.runs.evaluate import RunResult
from assay.runs.run_handle import open_run
from assay.viewer.api import Api, Params
from assay.viewer.export import export_site
from assay.viewer.run_list import RunList

OVERALL = "overall"
DIGITS = 3
"""What surfaces for people are rounded to."""


class Shown(NamedTuple):
    """A score as it is shown; what a surface leaves out is None."""

    score: float | None
    low: float | None = None
    high: float | None = None
    bounds: tuple[float, float] | None = None


class Verdict(NamedTuple):
    """What is said of the second against the first."""

    word: str
    """`better`, `worse`, or `no` significant difference."""
    difference: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None


Run = Callable[[Path], dict[str, Shown]]
Pair = Callable[[Path, Path], dict[str, Verdict]]


class Surface(NamedTuple):
    name: str
    shows: tuple[str, ...]
    """The commands, requests of the viewer and functions that it is."""
    run: Run | None = None
    pair: Pair | None = None
    exact: bool = True
    """Whether its numbers are whole; else they are rounded for people."""
    slow: bool = False
    """Whether it writes pages: most properties try it under `make prove` only."""


def said(*arguments: str | Path, codes: tuple[int, ...] = (0, 1)) -> str:
    """What a command prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()) as errors:
        code = main([str(each) for each in arguments])
    assert code in codes, errors.getvalue()
    return printed.getvalue()


def signed(text: str) -> float:
    return float(text.replace("−", "-").replace(" *", ""))


# -- one run -----------------------------------------------------------------------------------------------------------


def of_rows(tasks: list[Mapping[str, Any]]) -> dict[str, Shown]:
    return {each["task"]: _shown(each["score"], each.get("interval"), each.get("bounds")) for each in tasks}


def _shown(score: float | None, interval: Any, bounds: Any) -> Shown:
    ends = (None, None) if interval is None else (interval["low"], interval["high"])
    return Shown(score, *ends, None if bounds is None else (bounds["low"], bounds["high"]))


def board_file(run: Path) -> dict[str, Shown]:
    board = json.loads((run / "leaderboard.json").read_text())
    overall = _shown(board["overall_score"], board.get("overall_interval"), board.get("overall_bounds"))
    return {**of_rows(board["tasks"]), OVERALL: overall}


def shown_run(run: Path) -> dict[str, Shown]:
    """The table that `run` and `show` print; the score alone, which every width has."""
    found = {}
    for row in _first_table(said("show", run, codes=(0, 3))):
        ends = [float(each) for each in row["95 % interval"].split(" – ") if re.fullmatch(r"[\d.]+", each)]
        bounds = [float(each) for each in row.get("bounds", "").split(" – ") if re.fullmatch(r"[\d.]+", each)]
        ends_shown = (bounds[0], bounds[1]) if bounds else None
        found[row["task"].strip("* ")] = Shown(float(row["score"]), *(ends or (None, None)), ends_shown)
    return found


def _first_table(printed: str) -> list[dict[str, str]]:
    """The first table of a Markdown page, by its heads."""
    lines = printed.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("| "))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.split("|")[1:-1]])
    return [dict(zip(rows[0], cells, strict=True)) for cells in rows[2:]]


def standings_of_one(run: Path) -> dict[str, Shown]:
    [row] = json.loads(said("leaderboard", run, "--json"))["models"]
    found = {task: _shown(cell["score"], cell["interval"], cell.get("bounds")) for task, cell in row["tasks"].items()}
    return {**found, OVERALL: _shown(row["overall"], row["interval"], row.get("bounds"))}


def in_viewer(run: Path) -> dict[str, Shown]:
    return _viewer_board(_api(run).run(Params([("run", run.name)])))


def in_site(run: Path) -> dict[str, Shown]:
    with tempfile.TemporaryDirectory() as folder:
        site = export_site([run], Path(folder) / "site", 10_000).parent
        return _viewer_board(_exported(site, run.name))


def _viewer_board(found: Mapping[str, Any]) -> dict[str, Shown]:
    board = found["board"]
    overall = _shown(board["overall_score"], board.get("overall_interval"), board.get("overall_bounds"))
    return {**of_rows(board["tasks"]), OVERALL: overall}


def in_python(run: Path) -> dict[str, Shown]:
    board = open_run(run).leaderboard
    found = {row.task: _of_object(row.score, row.interval, row.bounds) for row in board.tasks}
    return {**found, OVERALL: _of_object(board.overall_score, board.overall_interval, board.overall_bounds)}


def _of_object(score: float | None, interval: Any, bounds: Any) -> Shown:
    ends = (None, None) if interval is None else (interval.low, interval.high)
    return Shown(score, *ends, None if bounds is None else (bounds.low, bounds.high))


def in_table(run: Path) -> dict[str, Shown]:
    rows = list(csv.DictReader(io.StringIO(said("export", run, "--rows", "tasks", "--format", "csv"))))
    return {
        row["task"]: Shown(
            *(float(row[name]) if row[name] else None for name in ("score", "low", "high")),
            (float(row["bounds_low"]), float(row["bounds_high"])) if row["bounds_low"] else None,
        )
        for row in rows
    }


def in_pytest(run: Path) -> dict[str, Shown]:
    board = Board(RunResult(leaderboard=read_leaderboard(run), folder=run))
    scores = {**{name: board[name].score for name in board}, OVERALL: board.overall}
    return {name: _of_object(float(each), each.interval, each.bounds) for name, each in scores.items()}


def in_report(run: Path) -> dict[str, Shown]:
    words = words_of(report_page([run], view_of_results([run])))
    found = {}
    for name, shown in board_file(run).items():
        if shown.score is None:
            continue
        ends = "" if shown.low is None else f" {shown.low:.3f} – {shown.high:.3f} "
        match = re.search(rf" {re.escape(name)} [^|]*?{shown.score:.3f}{re.escape(ends)}", words)
        found[name] = shown if match else Shown(None)
    return found


def words_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


# -- two runs ----------------------------------------------------------------------------------------------------------


def verdicts_of(made: Mapping[str, Any]) -> dict[str, Verdict]:
    """From the JSON of a comparison."""
    found = {
        each["task"]: _verdict(each["significant"], each["comparison"])
        for each in made["tasks"]
        if each.get("comparison") and each["comparison"]["n"]
    }
    if (overall := made.get("overall")) is not None:
        found[OVERALL] = _verdict(overall["significant"], overall)
    return found


def _verdict(significant: bool, numbers: Mapping[str, Any]) -> Verdict:
    difference, ends = numbers["difference"], numbers["interval"]
    word = "no" if not significant else "better" if difference > 0 else "worse"
    return Verdict(word, difference, ends.get("low"), ends.get("high"), numbers["p_value"])


def diff_json(a: Path, b: Path) -> dict[str, Verdict]:
    return verdicts_of(json.loads(said("diff", a, b, "--json", "--allow-unequal")))


def diff_terminal(a: Path, b: Path) -> dict[str, Verdict]:
    """The table, and in agreement with it the sentence on top."""
    printed = said("diff", a, b, "--allow-unequal", "--samples", "0")
    found = _table(printed)
    top = printed.splitlines()[0]
    for name, verdict in found.items():
        if verdict.word != "no":
            wanted = f"overall B is {verdict.word}" if name == OVERALL else rf"B is {verdict.word} on [^;]*\b{name}\b"
            assert re.search(wanted, top), (name, verdict, top)
    return found


def _table(printed: str) -> dict[str, Verdict]:
    found = {}
    for row in _first_table(printed):
        if row["difference"] in ("", "–"):
            continue
        difference = signed(row["difference"])
        word = "no" if "*" not in row["difference"] else "better" if difference > 0 else "worse"
        shown = next(cell for head, cell in row.items() if head.endswith("interval"))
        ends = [] if shown == "–" else [signed(each) for each in shown.split(" – ")]
        found[row["task"].strip("* ")] = Verdict(word, difference, *(ends or (None, None)))
    return found


def diff_in_python(a: Path, b: Path) -> dict[str, Verdict]:
    made = open_run(a).diff(open_run(b), allow_unequal=True)
    compared = [(task.task, task.significant, task.comparison) for task in made.tasks]
    if made.overall is not None:
        compared.append((OVERALL, made.overall.significant, made.overall))
    return {name: _of_comparison(bool(significant), each) for name, significant, each in compared if each is not None}


def _of_comparison(significant: bool, each: Any) -> Verdict:
    word = "no" if not significant else "better" if each.difference > 0 else "worse"
    return Verdict(word, each.difference, each.interval.low, each.interval.high, each.p_value)


def in_notebook(a: Path, b: Path) -> dict[str, Verdict]:
    return _table(repr(open_run(a).diff(open_run(b), allow_unequal=True)))


def compared_in_viewer(a: Path, b: Path) -> dict[str, Verdict]:
    [pair] = _api(a).compare(Params([("run", a.name), ("run", b.name)]))["pairs"]
    return _of_pair(pair)


def compared_in_site(a: Path, b: Path) -> dict[str, Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        site = export_site([a, b], Path(folder) / "site", 10_000).parent
        return _of_pair(_exported(site, a.name, "-compare")[b.name])


def _of_pair(pair: Mapping[str, Any]) -> dict[str, Verdict]:
    found = {each["task"]: _verdict(each["significant"], each) for each in pair["tasks"] if each["n"]}
    if (overall := pair.get("overall")) is not None:
        found[OVERALL] = _verdict(overall["significant"], overall)
    return found


def compared_in_report(a: Path, b: Path) -> dict[str, Verdict]:
    """The rows of its table of differences: with a star, or without one."""
    words = words_of(report_page([a, b], view_of_results([a, b])))
    found = {}
    for name in diff_json(a, b):
        match = re.search(rf" {re.escape(name)} [\d.]+ [\d.]+ ([-+−][\d.]+)( \*)? ", words)
        if match:
            difference = signed(match[1])
            word = "no" if match[2] is None else "better" if difference > 0 else "worse"
            found[name] = Verdict(word, difference)
    return found


def ranked(a: Path, b: Path) -> dict[str, Verdict]:
    """Of two models: one is better where it alone has the first rank."""
    made = json.loads(said("leaderboard", a, b, "--json"))
    ranks = {Path(row["source"]).name: (row["rank_low"], row["rank_high"]) for row in made["models"]}
    [pair] = made["pairs"]
    word = {((1, 1), (2, 2)): "worse", ((2, 2), (1, 1)): "better", ((1, 2), (1, 2)): "no"}[ranks[a.name], ranks[b.name]]
    labels = {row["label"]: Path(row["source"]).name for row in made["models"]}
    sign = 1.0 if labels[pair["second"]] == a.name else -1.0
    return {OVERALL: Verdict(word, sign * pair["difference"], p_value=pair["adjusted_p"])}


def _api(run: Path) -> Api:
    return Api(RunList([run.parent]))


def _exported(site: Path, run: str, what: str = "") -> Any:
    listed = next(each for each in _data(site, "runs")["runs"] if each["name"] == run)
    return _data(site, listed["file"] + what)


def _data(site: Path, name: str) -> Any:
    text = (site / "data" / f"{name}.js").read_text()
    return json.loads(text[text.index(",") + 1 : text.rindex(")")])


SURFACES = [
    Surface("leaderboard.json", ("assay run", "assay merge", "assay rescore", "assay verify"), run=board_file),
    Surface("terminal", ("assay run", "assay show"), run=shown_run, exact=False),
    Surface("the viewer", ("view: run", "view: runs", "view: samples", "view: slices", "view: charts"), run=in_viewer),
    Surface("the exported site", ("assay view",), run=in_site, slow=True),
    Surface("Python", ("assay.open_run",), run=in_python),
    Surface("a table", ("assay export", "view: download"), run=in_table),
    Surface("pytest", ("assay_run",), run=in_pytest),
    Surface("the report of one run", ("assay report",), run=in_report, exact=False),
    Surface("leaderboard", ("assay leaderboard",), run=standings_of_one, pair=ranked),
    Surface("diff --json", ("assay diff",), pair=diff_json),
    Surface("diff in the terminal", ("assay diff",), pair=diff_terminal, exact=False),
    Surface("diff in Python", ("assay.open_run",), pair=diff_in_python),
    Surface("diff in a notebook", ("assay.open_run",), pair=in_notebook, exact=False),
    Surface("the viewer's comparison", ("view: compare",), pair=compared_in_viewer),
    Surface("the exported comparison", ("assay view",), pair=compared_in_site, slow=True),
    Surface("the report of two runs", ("assay report",), pair=compared_in_report, exact=False, slow=True),
    Surface("history", ("assay history", "view: history")),
    Surface("gates", ("assay run", "assay diff")),
]
"""`history` and gates answer questions of their own, on these samples and of one side: they have properties of their
own, and no verdict that has to be that of `diff`."""
RUNS = [each for each in SURFACES if each.run is not None]
PAIRS = [each for each in SURFACES if each.pair is not None]
NO_RESULT = {
    "assay validate": "task files",
    "assay trust": "task files",
    "assay check": "task files",
    "assay list": "names",
    "assay plan": "nothing is measured yet",
    "assay repair": "lines of a journal",
    "assay score": "one text",
    "assay schema": "a format",
    "assay doctor": "this machine",
    "assay model": "the embedded model",
    "assay optimize": "`tests/optimize` compares it with `diff`",
    "assay recipe": "task files",
    "assay import": "task files",
    "assay init": "a project",
    "assay completion": "a script",
    "assay lock": "task files",
    "assay agreement": "agreement of people",
    "view: get": "a parameter",
    "view: getlist": "a parameter",
    "view: sample": "one sample",
    "view: neighbours": "one sample",
    "view: marks": "agreement of people",
    "view: mark": "one mark",
}
