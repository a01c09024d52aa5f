"""The names a gate may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.board.scripted_boards import board_of
from tests.results.runs import Adder, run_into, write_sums

from assay.core.errors import UsageError
from assay.core.types import Score
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.results.gates.names import check_names, numbers_of_board
from assay.results.gates.result import GateResult


@pytest.mark.parametrize(
    ("gate", "sentence"),
    [
        ("sumz >= 0.5", "Did you mean `sums`?"),
        ("sums-0.1 >= 0.5", "for a difference write `sums - 0.1`"),
        ("baseline.other >= sums", "no task or number of the run is called `other`"),
    ],
)
def test_an_unknown_name_is_refused_before_the_run(
    gate: str, sentence: str, boards: tuple[Leaderboard, Leaderboard]
) -> None:
    with pytest.raises(UsageError) as caught:
        check_names(parse_gates([gate]), numbers_of_board(boards[1]), baseline=boards[0])
    assert sentence in str(caught.value)


def test_repetitions_and_cost_have_names_too(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 4)
    board = build_leaderboard(run_into(tmp_path / "run", tasks, Adder([1]), repeat=2))
    results = check_gates(parse_gates(["sums.pass@2 >= 0.75", "sums.consistency == 1", "cost <= 5"]), board)
    assert [result.met for result in results] == [True, True, False]
    assert "the result has no value for `cost`: no price is known for `adder`" in results[2].sentences[0]


def check(gate: str, board: Leaderboard, baseline: Leaderboard | None = None) -> GateResult:
    [result] = check_gates(parse_gates([gate]), board, baseline=baseline)
    return result


def test_weak_passes_have_a_name_in_gates(tmp_path: Path) -> None:
    weak = Score(name="code", values={"score": 1.0, "outcome": "pass"}, metadata={"grade": "weak"})
    board = board_of(tmp_path, {"sums": [[1.0]], "code": [[weak], [weak]]})
    assert check("code.weak <= 2", board).met
    assert check("weak == 2", board).met
    assert check("code.weak <= 1", board).sentences == ["code.weak <= 1: 2 is not <= 1"]
    missing = check("sums.weak == 0", board)
    assert not missing.met
    assert missing.sentences == ["sums.weak == 0: the result has no value for `sums.weak`: no outcome of it was graded"]
