"""JUnit XML that any reader takes: a broken gate fails, a task with failed attempts errs, odd characters do no harm."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
from tests.results.runs import Broken, run_into, write_sums

from assay.pages.junit import junit_xml
from assay.results.board.leaderboard import build_leaderboard
from assay.results.gates.result import GateResult


def test_gates_and_tasks_are_test_cases(tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "good", 3)
    write_sums(tmp_path / "tasks", "torn", 9)
    board = build_leaderboard(run_into(tmp_path / "run", tmp_path / "tasks", Broken([7])))
    gates = [
        GateResult(gate="overall >= 0.5", outcome="met", sentences=["fine"]),
        GateResult(gate="good < 0", outcome="not met", sentences=["good < 0: 1 is not < 0", "and more"]),
        GateResult(gate="torn >= 0.9", outcome="cannot tell", sentences=["one attempt failed"]),
    ]
    root = ET.fromstring(junit_xml(board, gates))
    suites = {suite.get("name"): suite for suite in root}
    assert [suites["gates"].get(word) for word in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "0"]
    unsure = root.find(".//testcase[@name='torn >= 0.9']/error[@type='cannot tell']")
    assert unsure is not None
    assert unsure.get("message") == "cannot tell: one attempt failed"
    passing = ET.fromstring(junit_xml(board, gates, cannot_tell_passes=True))
    assert passing.find(".//testcase[@name='torn >= 0.9']/skipped[@type='cannot tell']") is not None
    assert passing.find(".//testcase[@name='good < 0']/failure[@type='not met']") is not None
    assert (suites["tasks"].get("tests"), suites["tasks"].get("errors")) == ("2", "1")
    failure = root.find(".//testcase[@name='good < 0']/failure")
    assert failure is not None
    assert failure.get("message") == "not met: good < 0: 1 is not < 0"
    error = root.find(".//testcase[@name='torn']/error")
    assert error is not None
    assert error.get("message") == "1 attempts failed"
    assert "the line is down" in (error.text or "")


def test_characters_that_xml_has_no_place_for_are_escaped(tmp_path: Path) -> None:
    board = build_leaderboard(run_into(tmp_path / "run", write_sums(tmp_path, "sums", 2), Broken([1])))
    row = msgspec.structs.replace(board.tasks[0], failure_examples={"model/x": "\x00\x1b[31m]]> & <é\U0001f600"})
    data = junit_xml(msgspec.structs.replace(board, tasks=[row]), [])
    error = ET.fromstring(data).find(".//error")
    assert error is not None
    assert error.text == "model/x: \\u0000\\u001b[31m]]> & <é\U0001f600"
