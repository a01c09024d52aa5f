"""The JSON API as plain functions: parameters in, data out. Bad parameters are answered with a message."""

from __future__ import annotations

import math
import shlex
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from assay.core.errors import SearchFolderError, UsageError
from assay.results.marks import Mark, MarkVerdict, agreement_of, append_mark, people_agreement
from assay.results.outcomes import OUTCOMES
from assay.results.query.fields import FLIPS, MARKED
from assay.viewer import comparing, downloads, many_runs, overview, pictures, samples
from assay.viewer.downloads import Download
from assay.viewer.query import Filters, mean_of, summary
from assay.viewer.run_list import RunList, cost_of, listed
from assay.viewer.run_view import Kept, RunView
from assay.viewer.searches import search_of

MOST_ROWS = 500
ANSWERS = 32
"""Comparisons, their charts and histories that are kept."""
MOST_FIELDS = 30
PROVENANCE = (
    *("created", "fingerprint", "schema", "model", "settings", "config", "versions", "tasks", "sandbox"),
    "definitions",
)
LONGEST_NOTE = 10_000
TOO_MANY = f"at most {comparing.MOST_RUNS} runs go into one table"
LONGEST_NAME = 100


class Params:
    """The parameters of an address, each of which may occur several times."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._pairs = list(pairs)

    def get(self, name: str, otherwise: str = "") -> str:
        return next((value for key, value in self._pairs if key == name), otherwise)

    def getlist(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]


class Api:
    """Every request of the page has a method. Methods block; the app calls them in threads."""

    def __init__(self, run_list: RunList) -> None:
        self.run_list = run_list
        self._answers = Kept(ANSWERS)
        self._lock = threading.Lock()

    def runs(self, params: Params) -> Any:
        return {"runs": [listed(view) for view in self.run_list.views()]}

    def run(self, params: Params) -> Any:
        """One run from above, or a search."""
        view = self._run(params)
        with view.reading():
            try:
                run, snapshot = view.run_file(), view.snapshot()
            except SearchFolderError:
                view.refuse_damaged()
                return search_of(view.name, view.folder)
            board, moved_on = view.latest_board()
            return {
                "kind": "run",
                "name": view.name,
                "board": board,
                "board_is_older": moved_on,
                "cost": cost_of(board),
                "progress": view.progress(),
                "summary": summary(snapshot, np.flatnonzero(snapshot.counts), view.level),
                "distributions": overview.distributions(snapshot, [definition.name for definition in run.definitions]),
                "failures": self._failures(view),
                "keys": overview.keys(snapshot),
                "values": ["score", *(name for name in snapshot.names if name.startswith("value:"))],
                "fields": view.schema().fields,
                "marks": self._agreement(view),
                "provenance": {
                    "command": shlex.join(run.command),
                    **{name: getattr(run, name) for name in PROVENANCE},
                },
            }

    def samples(self, params: Params) -> Any:
        """A page of the table."""
        view, filters, others = self._table(params)
        sort, descending = _sort(params)
        table = samples.TablePage(
            sort=sort,
            descending=descending,
            offset=_whole(params, "offset", 0, 0, 1 << 40),
            limit=_whole(params, "limit", 100, 1, MOST_ROWS),
            fields=tuple(params.getlist("field"))[:MOST_FIELDS],
            lines=_whole(params, "lines", 1, 1, 6),
        )
        views = self._several(params, 1, TOO_MANY)
        with _reading([*views, *others]):
            if len(views) > 1:
                return many_runs.page(views, filters, table)
            return samples.page(view, filters, table, others)

    def download(self, params: Params) -> Download:
        """The matching samples as a file to keep."""
        _, filters, others = self._table(params)
        views = self._several(params, 1, TOO_MANY)
        with _reading([*views, *others]):
            return downloads.download(views, filters, _one(params, "format"), others)

    def neighbours(self, params: Params) -> Any:
        """The samples before and after one."""
        view, filters, others = self._table(params)
        sort, descending = _sort(params)
        with _reading([view, *others]):
            return samples.neighbours(
                view, _one(params, "key"), filters, sort=sort, descending=descending, others=others
            )

    def sample(self, params: Params) -> Any:
        """One sample in full."""
        view, _, others = self._table(params)
        with _reading([view, *others]):
            sample = samples.sample(view, _one(params, "key"), whole=params.get("whole") == "1")
            return {**sample, "others": samples.same_elsewhere(view, sample["key"], others)}

    def slices(self, params: Params) -> Any:
        """The matching samples grouped by a label."""
        view, filters, others = self._table(params)
        with _reading([view, *others]):
            rows = view.rows(filters, "order", False, others)
            table = overview.slices(view.snapshot(), _one(params, "by"), rows, view.level)
            whole = mean_of(view.snapshot(), rows, view.level)
            return {**table, "chart": pictures.slices_picture(view.name, table, whole)}

    def charts(self, params: Params) -> Any:
        """The charts of one run, or of several against the first."""
        views = self._several(params, 1, f"charts are of one to {comparing.MOST_RUNS} runs (`run=A&run=B`)")
        with _reading(views):
            colours = pictures.model_colours(self.run_list)
            if len(views) == 1:
                return pictures.run_pictures(views[0], colours)
            make = partial(pictures.comparison_pictures, views, colours)
            return self._remembered(("charts", *(view.name for view in views)), self.run_list.views(), make)

    def history(self, params: Params) -> Any:
        """Runs of the same tasks in order."""
        choices = {name: params.get(name) or None for name in ("task", "model", "baseline", "line")}
        make = partial(pictures.history_pictures, self.run_list, **choices)
        return self._remembered(("history", *choices.values()), self.run_list.views(), make)

    def compare(self, params: Params) -> Any:
        """Two or more runs, each against the first."""
        most = comparing.MOST_RUNS
        views = self._several(params, 2, f"comparing takes two to {most} different runs (`run=A&run=B`)")
        with _reading(views):
            return self._remembered(("compare",), views, lambda: comparing.compare_runs(views))

    def _remembered(self, question: tuple[Any, ...], views: list[RunView], make: Callable[[], Any]) -> Any:
        """An answer that takes long, kept until one of the runs it is about changes."""
        key = (question, tuple((view.name, view.stamp()) for view in views))
        with self._lock:
            answer = self._answers.get(key)
        if answer is not None:
            return answer
        answer = make()
        if all(view.boards.settled() for view in views):
            with self._lock:
                self._answers.put(key, answer)
        return answer

    def marks(self, params: Params) -> Any:
        """Every mark of a run, for download, and how the scores agree with them."""
        view = self._run(params)
        with view.reading():
            view.snapshot()  # refuses a damaged run, also where nothing is marked
            marks = view.all_marks()
            return {
                "run": view.name,
                "marks": marks,
                "agreement": self._agreement(view),
                "people": people_agreement(marks),
            }

    def mark(self, body: bytes) -> Any:
        """Record one mark: the only thing the viewer ever writes into a run."""
        try:
            request = msgspec.json.decode(body, type=MarkRequest)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UsageError(f"not a mark: {error}") from error
        if len(request.note) > LONGEST_NOTE:
            raise UsageError(f"a note holds at most {LONGEST_NOTE:,} characters")
        if len(request.by) > LONGEST_NAME:
            raise UsageError(f"a name holds at most {LONGEST_NAME} characters")
        view = self.run_list.run(request.run)
        with view.reading():
            row = view.row_of(request.key)
            record = view.record(row)
            mark = Mark(
                key=f"{int(view.snapshot().column('key')[row]):016x}",
                task=str(record.get("task", "")),
                sample_id=str(record.get("sample_id", "")),
                attempt=int(view.snapshot().column("attempt")[row]),
                verdict=request.verdict,
                note=request.note,
                by=request.by,
                blind=request.blind,
                time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            )
            append_mark(view.folder, mark)
            return {"mark": mark, "agreement": self._agreement(view)}

    def _run(self, params: Params) -> RunView:
        return self.run_list.run(_one(params, "run"))

    def _several(self, params: Params, least: int, refusal: str) -> list[RunView]:
        """The runs that the address names, each once."""
        names = list(dict.fromkeys(params.getlist("run")))
        if not least <= len(names) <= comparing.MOST_RUNS:
            raise UsageError(refusal)
        return [self.run_list.run(name) for name in names]

    def _table(self, params: Params) -> tuple[RunView, Filters, list[RunView]]:
        """The run, the filters, and the runs it is compared with."""
        view = self._run(params)
        names = [name for name in dict.fromkeys(params.getlist("against")) if name != view.name]
        if len(names) >= comparing.MOST_RUNS:
            raise UsageError(f"at most {comparing.MOST_RUNS} runs can be compared")
        return view, filters_of(params), [self.run_list.run(name) for name in names]

    def _agreement(self, view: RunView) -> Any:
        marks = view.marks()
        if not marks:
            return None
        snapshot = view.snapshot()
        scores = {}
        for row, mark in view.marked_rows().items():
            share = float(snapshot.column("share")[row])
            scores[mark.key] = None if math.isnan(share) else share
        return agreement_of(marks, scores)

    def _failures(self, view: RunView) -> list[dict[str, Any]]:
        failures = overview.failures(view.snapshot())
        for failure in failures[:50]:
            shown = samples.table_rows(view, [failure.pop("row")], [])[0]
            failure["example"] = {"key": shown["key"], "id": shown["id"], "message": shown["failure"]}
        return failures[:50]


class MarkRequest(Struct, frozen=True, forbid_unknown_fields=True):
    run: str
    key: str
    verdict: MarkVerdict | None = None
    note: str = ""
    by: str = ""
    blind: bool = False


def filters_of(params: Params) -> Filters:
    """The filters of an address, each checked."""
    meta = []
    for pair in params.getlist("meta"):
        key, sign, value = pair.partition("=")
        if not sign:
            raise UsageError(f"`meta` is KEY=VALUE, got `{pair[:80]}`")
        meta.append((key, value))
    return Filters(
        where=params.get("q"),
        task=tuple(params.getlist("task")),
        outcome=tuple(_known(name, OUTCOMES, "outcome") for name in params.getlist("outcome")),
        failure=tuple(params.getlist("failure")),
        meta=tuple(meta),
        value=params.get("value", "score"),
        low=_number(params, "low"),
        high=_number(params, "high"),
        flip=_known(params.get("flip"), FLIPS, "flip") if params.get("flip") else "",
        mark=_known(params.get("mark"), MARKED, "mark") if params.get("mark") else "",
    )


def _sort(params: Params) -> tuple[str, bool]:
    sort = params.get("sort", "order")
    return sort, params.get("dir") == "desc"


def _known(word: str, known: tuple[str, ...], what: str) -> str:
    if word not in known:
        raise UsageError(f"unknown {what} `{word[:80]}`; there are: {', '.join(known)}")
    return word


def _one(params: Params, name: str) -> str:
    value = params.get(name)
    if not value:
        raise UsageError(f"the parameter `{name}` is missing")
    return value


def _whole(params: Params, name: str, otherwise: int, low: int, high: int) -> int:
    text = params.get(name, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 16 and low <= int(text) <= high):
        raise UsageError(f"`{name}` is a whole number from {low} to {high}, got `{text[:40]}`")
    return int(text)


def _number(params: Params, name: str) -> float | None:
    text = params.get(name, "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"`{name}` is a number, got `{text[:40]}`")
    return value


def _reading(views: list[RunView]) -> ExitStack:
    """Holds all of them unchanged; their locks are always taken in the same order."""
    stack = ExitStack()
    for view in sorted(views, key=lambda view: view.name):
        stack.enter_context(view.reading())
    return stack


Reader = Callable[[Params], Any]
"""Answers one kind of request."""
