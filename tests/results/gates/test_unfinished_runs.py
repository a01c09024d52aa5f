"""Attempts that remain bound a score as failed ones do: a part of a run meets no gate that the whole could fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main
from assay.results.board.leaderboard import read_leaderboard


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
    ],
)
def test_a_gate_holds_only_if_it_does_whatever_remains(
    interrupted: Path, gate: str, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["diff", str(interrupted.parent / "base"), str(interrupted), "--allow-unequal", "--gate", gate])
    said = capsys.readouterr()
    assert code == (0 if outcome == "met" else 1), said
    if outcome == "cannot tell":
        assert "50 attempts failed or are not yet made" in said.out + said.err


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
    """Failed attempts have no answer to score; they remain in the rescored run, and count as such."""
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
    for run in ("broken", "broken.rescored"):
        for gate in ("overall >= 0.9", "failed == 0"):
            command = ["diff", str(tmp_path / "base"), str(tmp_path / run), "--allow-unequal", "--gate", gate]
            assert main(command) == 1, (run, gate)
