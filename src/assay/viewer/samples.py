"""Pages of the sample table, and one sample in full."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from assay.core.types import Request
from assay.formats.media_files import FILE
from assay.models.adapters.chat_messages import message_body
from assay.models.layers.conversation import framed
from assay.results.conversation import (
    expected_in,
    framed_turns,
    last_question,
    prompt_of,
    sent_prompt,
    shared_beginning,
    turns_of,
    worked_examples,
)
from assay.results.marks import Mark
from assay.results.outcomes import OUTCOMES
from assay.results.query.fields import Schema
from assay.results.query.syntax import written
from assay.run_config import RunConfig
from assay.run_file import RunFile
from assay.viewer.index import Snapshot
from assay.viewer.overview import histogram
from assay.viewer.previews import LONG_LINE, LONGEST_SHOWN, SHOWN, cut_to, preview_of
from assay.viewer.query import Filters, Rows, in_journal_order, summary
from assay.viewer.query_rows import QueryRows
from assay.viewer.repeat import as_curl, run_only
from assay.viewer.run_view import RunView

LONG_TEXT = 100_000
"""Texts in a sample longer than this are cut unless everything is requested."""
LONG_INPUT = 4000


class TablePage(Struct, frozen=True, kw_only=True):
    """A page of the table: the order of all rows, which of them are on the page, and what is shown of each."""

    sort: str = "order"
    descending: bool = False
    offset: int = 0
    limit: int = 100
    fields: tuple[str, ...] = ()
    """Fields that became columns, by their names in queries."""
    lines: int = 1

    @property
    def rows(self) -> slice:
        return slice(self.offset, self.offset + self.limit)


PLAIN_TABLE = TablePage()


def page(run: RunView, filters: Filters, table: TablePage, others: list[RunView]) -> dict[str, Any]:
    """One page of rows, how many there are, and the numbers over all that match."""
    snapshot = run.snapshot()
    chosen = run.rows(filters, table.sort, table.descending, others)
    # the numbers over all samples are the same for all filters and orders that select them
    which = None if len(chosen) == int(snapshot.counts.sum()) else (filters, tuple(other.name for other in others))
    over = ("numbers", which, filters.value, len(chosen), snapshot.rows)
    body: dict[str, Any] = {
        "total": len(chosen),
        "offset": table.offset,
        "rows": table_rows(run, chosen[table.rows].tolist(), others, table),
        "where": where_of(filters),
        **run.remembered(over, lambda: numbers_over(run, chosen, filters.value)),
    }
    searched = run.search_state(filters)
    return body if searched is None else {**body, "search": searched}


def numbers_over(run: RunView, rows: Rows, value: str) -> dict[str, Any]:
    """The summary of all rows that match, whichever page of them is shown."""
    snapshot = run.snapshot()
    rows = in_journal_order(rows, snapshot.rows)
    return {
        "summary": summary(snapshot, rows, run.level),
        "histogram": histogram(run.numbers(value)[rows], run.range_of(value)),
    }


def where_of(filters: Filters) -> str:
    """All that was chosen, as one query for the command line."""
    query = filters.query()
    return "" if query is None else written(query)


def table_rows(
    run: RunView, rows: list[int], others: list[RunView], show: TablePage = PLAIN_TABLE
) -> list[dict[str, Any]]:
    snapshot = run.snapshot()
    longest = SHOWN if show.lines <= 2 else LONGEST_SHOWN
    previews = previews_of(run, snapshot, rows, longest)
    marks = run.marked_rows()
    table = [_row(snapshot, row, previews[row], marks.get(row)) for row in rows]
    if show.fields:
        wanted = [field for name in show.fields if (field := run.schema().find(name)) is not None]
        cells = QueryRows(snapshot, Schema(wanted), run.columns([]))
        for each, row in zip(table, rows, strict=True):
            each["fields"] = cells.row(row, run.line(row))
    for other in others:
        joined = run.joined(other)
        theirs = [int(joined.row[row]) for row in rows]
        there = [row for row in theirs if row >= 0]
        snap, their_marks = other.snapshot(), other.marked_rows()
        texts = previews_of(other, snap, there, longest)
        answers, their_answers = snapshot.column("answer"), snap.column("answer")
        for mine, here, row in zip(table, rows, theirs, strict=True):
            their_row = _row(snap, row, texts[row], their_marks.get(row)) if row >= 0 else None
            if their_row is not None:  # of the whole answers: previews may be cut before they differ
                their_row["same_answer"] = bool(answers[here] == their_answers[row])
            mine.setdefault("others", []).append(their_row)
    return table


def previews_of(run: RunView, snapshot: Snapshot, rows: list[int], longest: int = SHOWN) -> dict[int, dict[str, Any]]:
    """From the journal itself; only of very long lines a preview is kept in the index."""
    lengths = snapshot.column("length")
    stored = snapshot.previews([row for row in rows if lengths[row] > LONG_LINE])
    return {
        row: cut_to(stored[row], longest) if row in stored else preview_of(run.record(row), snapshot.shared, longest)
        for row in rows
    }


def _row(snapshot: Snapshot, row: int, preview: dict[str, Any], mark: Mark | None) -> dict[str, Any]:
    score, worth, share = (float(snapshot.column(name)[row]) for name in ("score", "worth", "share"))
    failure = int(snapshot.column("failure")[row])
    return {
        "key": f"{int(snapshot.column('key')[row]):016x}",
        "task": snapshot.tasks[int(snapshot.column("task")[row])],
        "attempt": int(snapshot.column("attempt")[row]),
        "outcome": OUTCOMES[int(snapshot.column("outcome")[row])],
        "score": None if np.isnan(score) else score,
        "worth": None if np.isnan(worth) else worth,
        "share": None if np.isnan(share) else share,
        "kind": snapshot.failures[failure] if failure >= 0 else None,
        "seconds": round(float(snapshot.column("seconds")[row]), 4),
        "tokens_in": int(snapshot.column("tokens_in")[row]),
        "tokens_out": int(snapshot.column("tokens_out")[row]),
        "mark": mark.verdict if mark is not None else None,
        **preview,
    }


def neighbours(
    run: RunView, key: str, filters: Filters, *, sort: str, descending: bool, others: list[RunView]
) -> dict[str, Any]:
    """Which samples come before and after this one in a table."""
    chosen, row = run.rows(filters, sort, descending, others), run.row_of(key)
    place = np.flatnonzero(chosen == row)
    if not len(place):
        first = _key(run, int(chosen[0])) if len(chosen) else None
        return {"position": None, "total": len(chosen), "previous": None, "next": first}
    at = int(place[0])
    return {
        "position": at,
        "total": len(chosen),
        "previous": _key(run, int(chosen[at - 1])) if at else None,
        "next": _key(run, int(chosen[at + 1])) if at + 1 < len(chosen) else None,
    }


def _key(run: RunView, row: int) -> str:
    return f"{int(run.snapshot().column('key')[row]):016x}"


def sample(run: RunView, key: str, *, whole: bool) -> dict[str, Any]:
    """One attempt: its record, its request, its mark, and the failed lines it replaced."""
    rows, snapshot = run.rows_of(key), run.snapshot()
    row = run.row_of(key)
    record = run.record(row)
    measure = snapshot.measure(str(record.get("task", "")))
    cut: list[dict[str, Any]] = []
    mark = run.marked_rows().get(row)
    request = request_of(run.run_file(), record)
    config, turns = run.run_file().config, turns_of(record)
    shown: list[Any] = msgspec.to_builtins(framed_turns(turns, config.system, config.prefill))
    before = len(framed_turns(turns, config.system, None)) - len(turns)
    return {
        **_row(snapshot, row, preview_of(record, snapshot.shared, SHOWN), mark),
        "record": record if whole else shortened(record, "", cut),
        "turns": shown if whole else shortened(shown, "turns", []),
        **_question_in(record, snapshot.shared, before),
        "expected": expected_in(record, measure.compared_with),
        "score_labels": measure.labels,
        "attempts": _attempts(snapshot, row),
        "cut": cut,
        "line": row + 1,
        "request": None if whole else shortened(request, "", []),
        "sent": None if whole else shortened(msgspec.to_builtins(sent_prompt(record, run.run_file().model)), "", []),
        "curl": None if whole else as_curl(run.run_file(), request),
        "command": run_only(run.run_file(), str(record.get("sample_id", ""))),
        "mark": msgspec.to_builtins(mark) if mark is not None else None,
        "marks": []
        if mark is None
        else msgspec.to_builtins([all_mark for all_mark in run.all_marks() if all_mark.key == mark.key]),
        "earlier": [shortened(run.record(old), "", []) for old in rows[:-1][-10:]],
    }


def _question_in(record: dict[str, Any], beginnings: dict[str, str], before: int) -> dict[str, Any]:
    """The sample's own question, and what to fold before it: the beginning that all samples of the task share.

    `before` is the number of turns before those of the record.
    """
    prompt = prompt_of(record)
    shared = shared_beginning(beginnings.get(str(record.get("task", "")), ""), prompt)
    inside = worked_examples(prompt[shared.turns][1], shared.characters) if shared.characters else 0
    turns = sum(role == "assistant" for role, _ in prompt[: shared.turns])
    folded = {"turns": before + shared.turns, "characters": shared.characters, "examples": turns + inside}
    return {"input": last_question(prompt, shared).strip()[:LONG_INPUT], "shared": folded}


def _attempts(snapshot: Snapshot, row: int) -> list[dict[str, Any]]:
    """Every attempt at the same sample, in order."""
    task, index = snapshot.column("task"), snapshot.column("index")
    rows = np.flatnonzero((index == index[row]) & (task == task[row]) & snapshot.counts)
    ordered = rows[np.argsort(snapshot.column("attempt")[rows], kind="stable")]
    return [
        {
            "key": f"{int(snapshot.column('key')[at]):016x}",
            "attempt": int(snapshot.column("attempt")[at]),
            "outcome": OUTCOMES[int(snapshot.column("outcome")[at])],
        }
        for at in ordered.tolist()
    ]


def same_elsewhere(run: RunView, key: str, others: list[RunView]) -> dict[str, str | None]:
    """The keys of the same sample and attempt in other runs, also when the question has changed."""
    row = run.row_of(key)
    keys = {}
    for other in others:
        there = int(run.joined(other).row[row])
        keys[other.name] = _key(other, there) if there >= 0 else None
    return keys


def request_of(run: RunFile, record: dict[str, Any]) -> dict[str, Any]:
    """The request that the model got, with its settings."""
    trace = record.get("trace") if isinstance(record.get("trace"), dict) else {}
    settings = {k: v for k, v in msgspec.to_builtins(run.config.settings()).items() if v is not None}
    settings.pop("attempt", None)
    request: dict[str, Any] = {"model": run.model.get("name"), **settings}
    if isinstance(record.get("last_request"), str):
        request["prompt"] = record["last_request"]
    if isinstance(trace, dict):
        for name in ("prompt", "messages"):
            if trace.get(name) is not None:
                request[name] = trace[name]
    if isinstance(request.get("messages"), list):
        request["messages"] = [_as_sent(message) for message in _last_request(request["messages"])]
    return _framed(request, run.config) if run.config.system or run.config.prefill else request


def _framed(request: dict[str, Any], config: RunConfig) -> dict[str, Any]:
    """The request with the run's system message and prefill around it, as it was sent."""
    try:
        unframed = msgspec.convert({name: request.get(name) for name in ("prompt", "messages")}, Request)
    except msgspec.ValidationError:  # a record of another tool: shown as it is
        return request
    sent = framed(unframed, config.system, config.prefill)
    rest = {name: value for name, value in request.items() if name != "prompt"}
    return {**rest, "messages": [message_body(message) for message in sent.messages or ()]}


def _last_request(messages: list[Any]) -> list[Any]:
    """The conversation up to the last answer: that is what the last request held."""
    last = messages[-1] if messages else None
    return messages[:-1] if isinstance(last, dict) and last.get("role") == "assistant" else messages


def _as_sent(message: Any) -> Any:
    """A recorded message without the names of the files that its parts were read from."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message
    parts = [
        {key: value for key, value in part.items() if key != FILE or not isinstance(value, str)}
        if isinstance(part, dict)
        else part
        for part in content
    ]
    return {**message, "content": parts}


def shortened(value: Any, path: str, cut: list[dict[str, Any]]) -> Any:
    """The same data with very long texts cut, and a note of each cut."""
    if isinstance(value, str) and len(value) > LONG_TEXT:
        cut.append({"path": path, "length": len(value)})
        return value[:LONG_TEXT]
    if isinstance(value, dict):
        return {name: shortened(inner, f"{path}.{name}" if path else name, cut) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(inner, f"{path}[{n}]", cut) for n, inner in enumerate(value)]
    return value
