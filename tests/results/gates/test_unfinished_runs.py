"""Attempts that remain bound a score as failed ones do: a part of a run meets no gate that the whole could fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main
from assay.results.board.leaderboard import read_leaderboard
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """Ten easy ones of sixty: all right so far, and a third in the end."""
    tasks = write_sums(tmp_path, "sums", 60)
    run_into(tmp_path / "base", tasks, Adder())
    run_into(tmp_path / "part", tasks, Adder(range(20, 60)))
    journal = tmp_path / "part" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    first = sorted(lines, key=lambda line: int(json.loads(line)["index"]))[:10]
    journal.write_text("".join(line for line in lines if line in first))
    return tmp_path / "part"


@pytest.mark.parametrize(
    ("gate", "outcome"),
    [
        ("overall >= 0.9", "cannot tell"),
        ("sums >= 0.9", "cannot tell"),
        ("sums >= 0.1", "met"),
        ("overall < 0.1", "not met"),
        ("failed == 0", "cannot tell"),
        ("failed <= 50", "met"),
        ("sums.failed == 0", "cannot tell"),
        ("timeouts == 0", "cannot tell"),
        ("tokens <= 5", "cannot tell"),
        ("tokens < 0", "not met"),
        ("sums.p95 < 60000", "cannot tell"),
        ("no-significant-drop", "cannot tell"),
        ("no-drop-beyond 0.9", "cannot tell"),
    ],
)
def test_a_gate_holds_only_if_it_does_whatever_remains(
    interrupted: Path, gate: str, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["diff", str(interrupted.parent / "base"), str(interrupted), "--allow-unequal", "--gate", gate])
    said = capsys.readouterr()
    assert code == (0 if outcome == "met" else 1), said
    if outcome == "cannot tell":
        assert re.search(r"50 attempts( of sums are| failed or are) not yet made", said.out + said.err)


def test_the_bounds_are_those_of_every_way_it_may_end(interrupted: Path) -> None:
    board = read_leaderboard(interrupted)
    assert board.overall_bounds is not None
    assert (board.overall_score, board.overall_bounds.low, board.overall_bounds.high) == (
        1.0,
        pytest.approx(1 / 6),
        1.0,
    )
    [row] = board.tasks
    assert row.bounds is not None
    assert row.bounds.low_interval is not None
    assert row.bounds.low_interval[0] < 1 / 6 < row.bounds.low_interval[1]


def test_what_remains_of_repeated_samples_bounds_their_statistics(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 10)
    run_into(tmp_path / "run", tasks, Adder(), repeat=3)
    journal = tmp_path / "run" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if json.loads(line).get("attempt", 1) < 3))
    [row] = read_leaderboard(tmp_path / "run").tasks
    bounds = {each.name: each.bounds for each in row.repetitions}
    assert row.bounds is not None
    assert (row.bounds.low, row.bounds.high) == (pytest.approx(20 / 30), 1.0)
    both = bounds["pass^2"]
    assert both is not None
    assert (both.low, both.high) == (pytest.approx(1 / 3), 1.0), "of the samples with two right attempts of three"


def test_rescoring_turns_no_failure_into_a_met_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Failed attempts have no answer to score; they are the failures of the rescored run too."""
    tasks = write_sums(tmp_path, "sums", 10)

    class Breaks(Adder):
        def generate(self, prompts: list[str]) -> list[str]:
            if any("7 + 1" in prompt or "8 + 1" in prompt for prompt in prompts):
                raise RuntimeError("down")
            return super().generate(prompts)

    run_into(tmp_path / "base", tasks, Adder())
    run_into(tmp_path / "broken", tasks, Breaks(), retries=0, batch_size=1)
    assert main(["rescore", str(tmp_path / "broken")]) in (0, 3)
    capsys.readouterr()
    [then], [now] = (read_leaderboard(tmp_path / run).tasks for run in ("broken", "broken.rescored"))
    assert then.failed > 0
    for field in ("score", "failed", "remaining", "failures", "bounds", "coverage"):
        assert getattr(now, field) == getattr(then, field)
    for run in ("broken", "broken.rescored"):
        for gate in ("overall >= 0.9", "failed == 0"):
            command = ["diff", str(tmp_path / "base"), str(tmp_path / run), "--allow-unequal", "--gate", gate]
            assert main(command) == 1, (run, gate)


@pytest.fixture
def limited(tmp_path: Path) -> Path:
    """The first ten of sixty, all right: the whole run ends at a third."""
    tasks = write_sums(tmp_path, "sums", 60)
    run_into(tmp_path / "base", tasks, Adder())
    run_into(tmp_path / "part", tasks, Adder(range(20, 60)), limit=10)
    return tmp_path / "part"


@pytest.mark.parametrize(
    ("gate", "outcome"),
    [
        ("overall >= 0.9", "cannot tell"),
        ("sums >= 0.9", "cannot tell"),
        ("sums.low >= 0.1", "cannot tell"),
        ("sums.score_mean >= 0.1", "cannot tell"),
        ("overall >= 0.1", "met"),
        ("overall < 0.1", "not met"),
        ("failed == 0", "cannot tell"),
        ("coverage >= 1", "cannot tell"),
        ("coverage >= 0.1", "met"),
        ("sums.coverage >= 1", "cannot tell"),
        ("no-significant-drop", "cannot tell"),
        ("no-drop-beyond 0.9", "cannot tell"),
    ],
)
def test_what_a_limit_left_out_meets_no_gate_that_the_whole_run_could_fail(
    limited: Path, gate: str, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["diff", str(limited.parent / "base"), str(limited), "--allow-unequal", "--gate", gate]
    code = main(command)
    said = capsys.readouterr().err
    assert code == (0 if outcome == "met" else 1), said
    assert ("gate cannot tell" in said) is (outcome == "cannot tell")
    assert ("--gate-left-out ignore" in said) is (outcome == "cannot tell")
    if outcome == "cannot tell":
        assert main([*command, "--gate-left-out", "ignore"]) == 0
        assert "1 of 1 gates met; 50 attempts that were left out ignored" in capsys.readouterr().err


def test_where_lower_is_better_what_was_left_out_could_raise_the_score(tmp_path: Path) -> None:
    row = msgspec.structs.replace(
        read_leaderboard(_limited_sums(tmp_path)).tasks[0], lower_is_better=True, score=0.0, whole_bounds=(0.0, 0.8)
    )
    board = msgspec.structs.replace(read_leaderboard(tmp_path / "part"), tasks=[row])
    [gate] = check_gates(parse_gates(["sums <= 0.5"]), board)
    assert gate.outcome == "cannot tell"
    assert "0.8 is not <= 0.5 if every failed or left-out attempt had been wrong" in gate.sentences[0]


def _limited_sums(folder: Path) -> Path:
    run_into(folder / "part", write_sums(folder, "sums", 60), Adder(), limit=10)
    return folder / "part"


def test_failures_remain_open_beside_what_was_left_out(tmp_path: Path) -> None:
    """Of 20 planned and 20 left out, 2 failed: 18 of 40 are known to be right."""

    class Breaks(Adder):
        def generate(self, prompts: list[str]) -> list[str]:
            if any("7 + 1" in prompt or "8 + 1" in prompt for prompt in prompts):
                raise RuntimeError("down")
            return super().generate(prompts)

    tasks = write_sums(tmp_path, "sums", 40)
    run_into(tmp_path / "part", tasks, Breaks(), limit=20, retries=0, batch_size=1)
    [row] = read_leaderboard(tmp_path / "part").tasks
    assert row.left_out == 20
    assert row.failed > 0
    assert row.whole_bounds == (pytest.approx(row.scored / 40), 1.0)


def test_to_ignore_what_was_left_out_needs_something_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tasks = str(write_sums(tmp_path, "sums", 3))
    command = ["run", tasks, "--model", "toy", "--gate", "failed == 0", "--gate-left-out", "ignore"]
    assert main(command) == 2
    assert "--gate-left-out ignore: this run leaves nothing out" in capsys.readouterr().err
    assert main([*command, "--limit", "2"]) == 0
    assert main(["run", tasks, "--model", "toy", "--gate-left-out", "ignore", "--limit", "2"]) == 2
    assert "--gate-left-out is for gates, and there is none" in capsys.readouterr().err


def test_a_task_that_counts_more_opens_more_of_the_overall_score(tmp_path: Path) -> None:
    """Of one half with weight 3, left out half, and one whole with weight 1: from 1 - 3/4 * 1/2 on."""
    run_into(tmp_path / "part", write_sums(tmp_path, "sums", 60), Adder(), limit=30)
    board = read_leaderboard(tmp_path / "part")
    [row] = board.tasks
    whole = msgspec.structs.replace(row, task="whole", left_out=0, whole_bounds=None)
    weighted = msgspec.structs.replace(board, tasks=[msgspec.structs.replace(row, weight=3.0), whole])
    outcomes = {
        text: check_gates(parse_gates([text]), weighted)[0].outcome for text in ("overall >= 0.62", "overall >= 0.63")
    }
    assert outcomes == {"overall >= 0.62": "met", "overall >= 0.63": "cannot tell"}
