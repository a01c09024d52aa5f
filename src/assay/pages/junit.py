"""JUnit XML, which CI systems display: one test case per gate, one per task."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from assay.results.board.board_types import Leaderboard, TaskRow, missing_words
from assay.results.board.weak_passes import weak_sentence
from assay.results.gates.result import GateResult
from assay.run_file import write_whole
from assay.text.numbers import number
from assay.text.printable import printable


def write_junit(
    path: Path, board: Leaderboard, gates: Sequence[GateResult], *, cannot_tell_passes: bool = False
) -> None:
    write_whole(path, junit_xml(board, gates, cannot_tell_passes=cannot_tell_passes))


def junit_xml(board: Leaderboard, gates: Sequence[GateResult], *, cannot_tell_passes: bool = False) -> bytes:
    """A gate that is not met is a failure; one that cannot tell is an error of type `cannot tell`, or skipped where
    that may pass. A task that was refused, or has failed or missing attempts, is an error: its score is incomplete.
    """
    root = ET.Element("testsuites", name=printable(f"assay: {board.model_label}"))
    if gates:
        _suite(root, "gates", [_gate(gate, cannot_tell_passes=cannot_tell_passes) for gate in gates])
    _suite(root, "tasks", [_task(row) for row in board.tasks])
    ET.indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode").encode() + b"\n"


def _suite(root: ET.Element, name: str, cases: list[ET.Element]) -> None:
    counts = {word: sum(case.find(word) is not None for case in cases) for word in ("failure", "error", "skipped")}
    suite = ET.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
    )
    suite.extend(cases)


def _gate(gate: GateResult, *, cannot_tell_passes: bool) -> ET.Element:
    case = ET.Element("testcase", classname="gates", name=printable(gate.gate))
    sentences = printable("\n".join(gate.sentences))
    if gate.met:
        ET.SubElement(case, "system-out").text = sentences
        return case
    unsure = "skipped" if cannot_tell_passes else "error"
    word = "failure" if gate.outcome == "not met" else unsure
    message = printable(f"{gate.outcome}: {gate.sentences[0]}")
    ET.SubElement(case, word, type=gate.outcome, message=message).text = sentences
    return case


def _task(row: TaskRow) -> ET.Element:
    seconds = (row.latency_ms * (row.total - row.remaining)) / 1000
    case = ET.Element("testcase", classname="tasks", name=printable(row.task), time=f"{seconds:.3f}")
    broken = row.failed + row.timeouts
    if row.refused is not None:
        ET.SubElement(case, "error", message=printable(f"could not be run on this machine: {row.refused}"))
    elif broken or row.remaining:
        parts = [f"{broken} attempts failed{missing_words(row)}"] if broken else []
        parts += [f"{row.remaining} attempts not yet run"] if row.remaining else []
        examples = "\n".join(f"{kind}: {text}" for kind, text in row.failure_examples.items())
        ET.SubElement(case, "error", message=printable(", ".join(parts))).text = printable(examples)
    ET.SubElement(case, "system-out").text = printable(_scored(row))
    return case


def _scored(row: TaskRow) -> str:
    if row.score is None:
        return f"no score: {row.reason or row.refused or 'nothing was scored'}"
    between = f" ({number(row.interval.low, 4)} to {number(row.interval.high, 4)})" if row.interval else ""
    weak = f"; {weak_sentence(row.weak_passes, row.scored)}" if row.weak_passes else ""
    return f"{row.metric_definition} = {number(row.score, 4)}{between} over {row.scored} attempts{weak}"
