"""A gate breaks with one sentence, is refused up front when it could never be checked, and an unknown never passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reports.runs import Adder, Broken, run_into, write_sums

from assay.core.errors import UsageError
from assay.reports.board import Leaderboard
from assay.reports.diff_ends import diff_ends
from assay.reports.gates import check_gates, check_names, parse_gates
from assay.reports.leaderboard import build_leaderboard
from assay.reports.view import View


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gates")
    write_sums(folder / "tasks", "sums", 100)
    write_sums(folder / "tasks", "more-sums", 50)
    run_into(folder / "a", folder / "tasks", Adder(range(10)))
    run_into(folder / "b", folder / "tasks", Adder(range(20)))
    return folder


@pytest.fixture(scope="module")
def boards(runs: Path) -> tuple[Leaderboard, Leaderboard]:
    return build_leaderboard(runs / "a"), build_leaderboard(runs / "b")


@pytest.mark.parametrize(
    ("gate", "passed"),
    [
        ("overall >= 0.7", True),
        ("overall >= 0.71", False),
        ("sums >= baseline - 0.1", True),
        ("sums >= baseline - 0.09", False),
        ("more-sums == 0.6", True),
        ("sums.low >= 0.71", True),
        ("sums.low >= 0.72", False),
        ("sums.high <= 0.9", True),
        ("sums >= baseline.more-sums", True),
        ("failed == 0", True),
        ("coverage >= 100%", True),
        ("sums.score_mean > 0.5", True),
        ("sums.p95 < 60000", True),
        ("tokens <= 0", True),
    ],
)
def test_gates_on_a_finished_run(gate: str, passed: bool, boards: tuple[Leaderboard, Leaderboard]) -> None:
    [result] = check_gates(parse_gates([gate]), boards[1], baseline=boards[0])
    assert result.passed is passed
    assert len(result.sentences) == 1
    assert gate in result.sentences[0]


def test_a_broken_gate_says_what_was_found(boards: tuple[Leaderboard, Leaderboard]) -> None:
    [result] = check_gates(parse_gates(["sums >= baseline - 0.02"]), boards[1], baseline=boards[0])
    assert result.sentences == ["sums >= baseline - 0.02: 0.8 is not >= 0.88"]


def test_no_significant_drop_names_every_task_that_dropped(runs: Path, boards: tuple[Leaderboard, Leaderboard]) -> None:
    def check(a: str, b: str) -> list[str]:
        [result] = check_gates(
            parse_gates(["no-significant-drop"]),
            build_leaderboard(runs / b),
            baseline=build_leaderboard(runs / a),
            drops=lambda: diff_ends(runs / a, runs / b, View()),
        )
        assert result.passed is not any("dropped" in sentence for sentence in result.sentences)
        return result.sentences

    assert [sentence.split(" dropped")[0] for sentence in check("a", "b")] == ["more-sums", "sums", "overall"]
    assert check("b", "a") == ["no significant drop"]
    assert check("a", "a") == ["no significant drop"]


@pytest.mark.parametrize(
    ("gate", "sentence"),
    [
        ("sumz >= 0.5", "Did you mean `sums`?"),
        ("sums-0.1 >= 0.5", "for a difference write `sums - 0.1`"),
        ("baseline.other >= sums", "no task or number of the run is called `other`"),
    ],
)
def test_a_name_nobody_knows_is_refused_before_the_run(
    gate: str, sentence: str, boards: tuple[Leaderboard, Leaderboard]
) -> None:
    with pytest.raises(UsageError) as caught:
        check_names(parse_gates([gate]), ["sums", "more-sums"], baseline=boards[0])
    assert sentence in str(caught.value)


@pytest.mark.parametrize("gate", ["sums >= baseline", "no-significant-drop"])
def test_a_gate_that_needs_a_baseline_is_refused_without_one(gate: str) -> None:
    with pytest.raises(UsageError, match="--baseline"):
        check_names(parse_gates([gate]), ["sums"], baseline=None)


def test_repetitions_and_cost_have_names_too(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 4)
    board = build_leaderboard(run_into(tmp_path / "run", tasks, Adder([1]), repeat=2))
    results = check_gates(parse_gates(["sums.pass@2 >= 0.75", "sums.consistency == 1", "cost <= 5"]), board)
    assert [result.passed for result in results] == [True, True, False]
    assert "the result has no value for `cost`: no price is known for `adder`" in results[2].sentences[0]


def test_a_missing_score_never_passes(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 3)
    board = build_leaderboard(run_into(tmp_path / "run", tasks, Broken(range(3))))
    for gate in ("sums >= 0", "overall >= 0", "sums < 1"):
        [result] = check_gates(parse_gates([gate]), board)
        assert not result.passed
        assert "has no value for" in result.sentences[0]
        assert "nothing was scored" in result.sentences[0] or "no sample was scored" in result.sentences[0]
