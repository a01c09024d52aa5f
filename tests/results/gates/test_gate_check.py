"""A gate breaks with one sentence, is refused up front when it could never be checked, and an unknown never passes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.results.board.scripted_boards import BROKEN, REFUSED, Came, board_of, write_run

from assay.core.errors import UsageError
from assay.core.types import PartSpec, Score
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.ends import diff_ends
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.results.gates.names import TaskNumbers, check_names
from assay.results.gates.result import GateResult
from assay.results.report_settings import View


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
    assert result.met is passed
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
            pairs=lambda: diff_ends(runs / a, runs / b, View()),
        )
        assert result.met is not any("dropped" in sentence for sentence in result.sentences)
        return result.sentences

    dropped = [sentence.split(": ")[1].split(" dropped")[0] for sentence in check("a", "b")]
    assert dropped == ["more-sums", "sums", "overall"]
    assert check("b", "a") == ["no-significant-drop: no significant drop"]
    assert check("a", "a") == ["no-significant-drop: no significant drop"]


@pytest.mark.parametrize("gate", ["sums >= baseline", "no-significant-drop"])
def test_a_gate_that_needs_a_baseline_is_refused_without_one(gate: str) -> None:
    with pytest.raises(UsageError, match="--baseline"):
        check_names(parse_gates([gate]), {"sums": TaskNumbers(names=())}, baseline=None)


def check(gate: str, board: Leaderboard, baseline: Leaderboard | None = None) -> GateResult:
    [result] = check_gates(parse_gates([gate]), board, baseline=baseline)
    return result


@pytest.mark.parametrize(
    ("gate", "outcome", "sentence"),
    [
        ("sums >= 0.4", "met", "0.75 is >= 0.4, whatever the failed attempts would have been (1 attempt failed)"),
        (
            "sums >= 0.9",
            "not met",
            "0.75 is not >= 0.9, whatever the failed attempts would have been (1 attempt failed)",
        ),
        (
            "sums >= 0.7",
            "cannot tell",
            "0.6 is not >= 0.7 if every failed attempt had been wrong, 0.8 is >= 0.7 if every failed "
            "attempt had been right (1 attempt failed); rerun the same `assay run` command to retry them",
        ),
        ("sums <= 0.7", "cannot tell", "0.8 is not <= 0.7 if every failed attempt had been right"),
        ("sums.score_mean >= 0.7", "cannot tell", "0.6 is not >= 0.7"),
        ("overall >= 0.7", "cannot tell", "0.6 is not >= 0.7"),
        ("1 - sums <= 0.3", "cannot tell", "0.4 is not <= 0.3"),
        ("sums == 0.75", "cannot tell", "0.6 is not == 0.75"),
        ("sums == 0.9", "not met", "0.75 is not == 0.9, whatever"),
        ("sums.low >= 0.25", "cannot tell", "0.2307 is not >= 0.25"),
        ("sums.low >= 0.2", "met", "whatever the failed attempts would have been"),
        ("overall.high <= 0.9", "cannot tell", "0.9638 is not <= 0.9"),
        ("sums.high - sums.low <= 0.7", "met", "whatever the failed attempts would have been"),
        ("sums - sums >= 0", "met", "0 is >= 0"),
        ("overall >= sums", "met", "0.75 is >= 0.75"),
    ],
)
def test_a_gate_on_a_score_is_met_only_when_it_holds_at_both_ends_of_the_failed_attempts(
    gate: str, outcome: str, sentence: str, tmp_path: Path
) -> None:
    result = check(gate, board_of(tmp_path, {"sums": [[1.0], [1.0], [1.0], [0.0], [BROKEN]]}))
    assert result.outcome == outcome
    assert result.sentences[0].startswith(f"{gate}: ")
    assert sentence in result.sentences[0]


def test_failures_of_the_baseline_count_against_the_gate_too(tmp_path: Path) -> None:
    now = board_of(tmp_path / "now", {"sums": [[1.0], [1.0], [1.0], [0.0], [BROKEN]]})
    then = board_of(tmp_path / "then", {"sums": [[1.0], [1.0], [0.0], [BROKEN], [BROKEN]]})
    assert check("sums >= baseline - 0.3", now, then).met
    result = check("sums >= baseline", now, then)
    assert result.outcome == "cannot tell"
    assert result.sentences == [
        "sums >= baseline: 0.6 is not >= 0.8 with the failed attempts against it, 0.8 is >= 0.4 with them "
        "in its favour (1 attempt failed, 2 attempts failed in the baseline); "
        "rerun the same `assay run` command to retry them"
    ]


def test_a_refused_task_keeps_a_gate_on_the_overall_score_from_being_decided(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"sums": [[1.0], [1.0]], "code": [[REFUSED], [REFUSED]]})
    assert not check("overall >= 0.9", board).met
    assert "0.5 is not >= 0.9" in check("overall >= 0.9", board).sentences[0]
    assert check("overall >= 0.5", board).met
    assert check("sums >= 0.9", board).met
    assert "the result has no value for `code`: the line is down" in check("code >= 0", board).sentences[0]


ATTEMPT = st.sampled_from([0.0, 1.0, BROKEN])
TASKS = st.fixed_dictionaries(
    {"a": st.lists(ATTEMPT, min_size=1, max_size=3), "b": st.lists(ATTEMPT, min_size=1, max_size=2)}
)
LINEAR = (
    "overall >= 0.5",
    "a > 0.4",
    "b <= 0.5",
    "a == 1",
    "a - b >= -0.5",
    "overall > b",
    "overall + a >= 1",
    "a >= baseline - 0.4",
    "overall - baseline.overall >= -0.3",
    "baseline.b <= a",
)


@settings(max_examples=20)
@given(now=TASKS, then=TASKS)
def test_a_gate_is_met_exactly_when_it_holds_for_every_outcome_of_the_failed_attempts(
    now: dict[str, list[Came]], then: dict[str, list[Came]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(sum(rows.count(BROKEN) for board in (now, then) for rows in board.values()) <= 5)
    folder = tmp_path_factory.mktemp("gates")

    def made(tasks: dict[str, list[Came]]) -> Leaderboard:
        return board_of(folder, {name: [[came] for came in rows] for name, rows in tasks.items()})

    boards, baselines = [made(each) for each in outcomes(now)], [made(each) for each in outcomes(then)]
    board, baseline = made(now), made(then)
    assume(board.overall_score is not None and baseline.overall_score is not None)
    for gate in LINEAR:
        held = [check(gate, each, other).met for each in boards for other in baselines]
        assert check(gate, board, baseline).met is all(held), gate


def outcomes(tasks: dict[str, list[Came]]) -> Iterator[dict[str, list[Came]]]:
    """The tasks with all failed attempts of a task wrong, or all of them right."""
    choices = [[0.0, 1.0] if BROKEN in rows else [0.0] for rows in tasks.values()]
    for outcome in itertools.product(*choices):
        yield {
            name: [score if came == BROKEN else came for came in rows]
            for (name, rows), score in zip(tasks.items(), outcome, strict=True)
        }


def test_no_significant_drop_is_decided_at_both_ends_of_the_failed_attempts(tmp_path: Path) -> None:
    def drop(then: list[Came], now: list[Came]) -> GateResult:
        for name, came in (("a", then), ("b", now)):
            write_run(tmp_path / name, {"sums": [[each] for each in came]})
        [result] = check_gates(
            parse_gates(["no-significant-drop"]),
            build_leaderboard(tmp_path / "b"),
            baseline=build_leaderboard(tmp_path / "a"),
            pairs=lambda: diff_ends(tmp_path / "a", tmp_path / "b", View()),
        )
        return result

    few = drop([1.0] * 20, [1.0] * 18 + [BROKEN] * 2)
    assert few.met
    assert few.sentences == [
        "no-significant-drop: no significant drop, whatever the failed attempts would have been (2 attempts failed)",
    ]
    many = drop([1.0] * 20, [1.0] * 10 + [BROKEN] * 10)
    assert many.outcome == "cannot tell"
    assert "with the failed attempts against it sums dropped significantly" in many.sentences[0]
    assert "(10 attempts failed)" in many.sentences[0]
    both = drop([1.0] * 10 + [BROKEN] * 10, [1.0] * 10 + [BROKEN] * 10)
    assert both.outcome == "cannot tell"
    assert "(10 attempts failed, 10 attempts failed in the baseline)" in both.sentences[0]
    certain = drop([1.0] * 20, [0.0] * 15 + [1.0] * 4 + [BROKEN])
    assert certain.outcome == "not met"
    assert certain.sentences[0].startswith("no-significant-drop: sums dropped significantly")


def test_a_drop_of_a_measure_without_bounds_cannot_be_ruled_out_when_attempts_failed(tmp_path: Path) -> None:
    seconds = {"sums": PartSpec(key="seconds", use="mean", options={"field": "seconds"})}
    whole = [[Score(name="match", values={"seconds": 3.0})] for _ in range(5)]
    write_run(tmp_path / "a", {"sums": whole}, seconds)
    write_run(tmp_path / "b", {"sums": [*whole[:4], [BROKEN]]}, seconds)
    found = diff_ends(tmp_path / "a", tmp_path / "b", View())
    [result] = check_gates(
        parse_gates(["no-significant-drop"]),
        build_leaderboard(tmp_path / "b"),
        baseline=build_leaderboard(tmp_path / "a"),
        pairs=lambda: found,
    )
    assert found.unbounded == ["sums"]
    assert result.outcome == "cannot tell"
    doubt = (
        "attempts of sums failed (rerun the same `assay run` command to retry them) and its measure has no bounds, so "
        "a drop cannot be ruled out"
    )
    assert result.sentences == [f"no-significant-drop: {doubt}"]


@pytest.mark.parametrize(
    ("gate", "correction", "method"),
    [
        ("no-significant-drop", "holm", "on the side of a drop"),
        ("no-drop-beyond 0.5", "every one must pass", "on the side of a drop"),
        ("overall >= 0.5", "none", "the number as measured"),
    ],
)
def test_every_outcome_carries_what_it_rests_on(
    runs: Path, boards: tuple[Leaderboard, Leaderboard], gate: str, correction: str, method: str
) -> None:
    pairs = diff_ends(runs / "a", runs / "b", View())
    [result] = check_gates(parse_gates([gate]), boards[1], baseline=boards[0], pairs=lambda: pairs)
    basis = result.basis
    assert basis is not None
    assert (basis.level, basis.correction) == (0.95, correction)
    assert basis.comparisons == (1 if correction == "none" else 3)
    assert method in basis.method
    assert basis.assumes
    assert basis.would_change
