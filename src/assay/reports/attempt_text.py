"""One attempt as text for a terminal: what was asked, what was answered, what it scored and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from assay.core.config import RunConfig
from assay.core.types import Failure, Record
from assay.printable import one_line, printable
from assay.reports.board.weak_passes import is_weak_pass
from assay.reports.conversation import Part, ends_kept, expected_in, framed_turns, question_in, turns_of
from assay.reports.documents.leaderboard import number
from assay.reports.measure import Measure
from assay.reports.per_example import per_example


def attempt_text(
    record: Record,
    measures: Mapping[str, Measure],
    *,
    longest: int | None,
    beginnings: Mapping[str, str] = MappingProxyType({}),
    config: RunConfig | None = None,
) -> str:
    """One attempt for a terminal, turn by turn; with `longest`, one line for the question and one for the answer.

    `beginnings` is what the questions of each task begin with: that is left out of the line. `config` is that of the
    run, whose system message and prefill stand around what was asked.
    """
    seen = per_example(record, measures.get(record.task, Measure()))
    verdict = "failed" if seen.failure is not None else f"score {number(seen.score)}"
    if any(is_weak_pass(score.values, score.metadata) for score in record.scores):
        verdict += ", a weak pass"
    lines = [
        _plain(f"{record.task} / {seen.id}   attempt {seen.attempt}   {verdict}   {seen.latency_ms:,.0f} ms", None)
    ]
    said = [
        *(
            _conversation(record, config or RunConfig())
            if longest is None
            else _in_one_line(record, seen.prediction, longest, beginnings)
        ),
        ("read as", seen.answer),
        ("targets", " / ".join(seen.targets) or None),
        ("expected", None if seen.targets else expected_in(msgspec.to_builtins(record))),
        *(line for failure in record.failures for line in _failure_lines(failure, longest)),
        *((score.name, _values(score.values)) for score in record.scores),
        *((f"{score.name}, why", score.reason) for score in record.scores),
        ("left out by", ", ".join(record.excluded) or None),
    ]
    lines += [f"  {name + ':':<10} {_plain(text, longest)}" for name, text in said if text is not None]
    return "\n".join(lines)


def _in_one_line(
    record: Record, prediction: str | None, longest: int, beginnings: Mapping[str, str]
) -> Iterator[tuple[str, str | None]]:
    question = question_in(msgspec.to_builtins(record), beginnings)
    yield "asked", ends_kept(" ".join(question.split()), longest - 40) or None
    yield "answered", prediction


def _conversation(record: Record, config: RunConfig) -> Iterator[tuple[str, str]]:
    for turn in framed_turns(turns_of(msgspec.to_builtins(record)), config.system, config.prefill):
        name = {"user": "asked", "assistant": "answered"}.get(turn.role, turn.role)
        for part in turn.parts or (Part(kind="text"),):
            yield from _part_lines(name, part)


def _part_lines(name: str, part: Part) -> Iterator[tuple[str, str]]:
    """A part in words; of a picture or a sound only that it is there."""
    if part.kind == "call":
        arguments = part.value if isinstance(part.value, str) else json.dumps(part.value, ensure_ascii=False)
        yield "called", f"{part.name}({arguments})"
        for inner in part.result or ():
            yield from _part_lines("result", inner)
    elif part.kind in ("image", "audio"):
        yield name, f"({part.kind}, {len(part.text):,} characters: {part.text[:60]}…)"
    elif part.kind == "data":
        yield name, json.dumps(part.value, ensure_ascii=False)
    else:
        yield name if part.kind == "text" else part.kind, part.text


def _failure_lines(failure: Failure, longest: int | None) -> Iterator[tuple[str, str]]:
    yield "failed", f"{failure.stage}, {failure.kind}: {failure.message}"
    if failure.traceback and longest is None:
        yield "raised", failure.traceback


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} {value:z.3f}" if type(value) is float else f"{name} {value}" for name, value in values.items()
    )


def _plain(text: str, longest: int | None) -> str:
    """Text that cannot move the cursor or colour the terminal; whole, and indented, unless it must be one line."""
    if longest is not None:
        return one_line(text, longest)
    return printable(text).replace("\n", "\n             ")
