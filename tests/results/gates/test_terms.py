"""What a name in a gate stands for when attempts failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.results.board.scripted_boards import BROKEN, board_of
from tests.results.runs import Broken, run_into, write_sums
from tests.results.yaml_runs import EQUALS, only, python_scorer, run_task, write_task

from assay.core.errors import UsageError
from assay.core.types import PartSpec
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.results.gates.names import check_names, numbers_of_board
from assay.results.gates.result import GateResult


def test_a_missing_score_never_passes(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 3)
    board = build_leaderboard(run_into(tmp_path / "run", tasks, Broken(range(3))))
    for gate in ("sums >= 0", "overall >= 0", "sums < 1"):
        [result] = check_gates(parse_gates([gate]), board)
        assert not result.met
        assert "has no value for" in result.sentences[0]
        assert "nothing was scored" in result.sentences[0] or "no sample was scored" in result.sentences[0]


def check(gate: str, board: Leaderboard, baseline: Leaderboard | None = None) -> GateResult:
    [result] = check_gates(parse_gates([gate]), board, baseline=baseline)
    return result


@pytest.mark.parametrize("gate", ["sums.failed == 1", "sums.coverage >= 0.8", "sums.p95 < 60000", "tokens == 0"])
def test_what_was_measured_is_compared_as_it_is(gate: str, tmp_path: Path) -> None:
    board = board_of(tmp_path, {"sums": [[1.0], [1.0], [1.0], [0.0], [BROKEN]]})
    assert check(gate, board).met
    assert "whatever" not in check(gate, board).sentences[0]


def test_a_gate_on_a_number_without_bounds_is_not_decided_when_attempts_failed(tmp_path: Path) -> None:
    spread = {"sums": PartSpec(key="spread", use="std_dev", options={"field": "score"})}
    board = board_of(tmp_path, {"sums": [[1.0], [0.0], [BROKEN]]}, spread)
    result = check("sums <= 5", board)
    assert not result.met
    assert "1 attempt failed in the result, and `" in result.sentences[0]
    assert "has no bounds" in result.sentences[0]
    assert "neither a higher nor a lower score is better" in check("overall <= 5", board).sentences[0]
    whole = board_of(tmp_path, {"sums": [[1.0], [0.0]]}, spread)
    assert check("sums <= 5", whole).met


def test_a_gate_on_repetitions_is_decided_at_both_ends_too(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"sums": [[1.0, 0.0], [0.0, BROKEN], [1.0, 1.0]]})
    assert check("sums.pass@2 >= 0.6", board).met
    assert "0.6667 is not >= 0.7" in check("sums.pass@2 >= 0.7", board).sentences[0]
    assert "`sums.consistency` has no bounds" in check("sums.consistency >= 0", board).sentences[0]


def test_coverage_is_that_of_the_scorer_that_lacks_the_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    breaks = python_scorer('{"v": 1} if sample["q"] == "a" else 1 / 0', metrics=[{"type": "mean", "field": "v"}])
    path = write_task(tmp_path, [{"q": each, "a": "a"} for each in "aabb"], [EQUALS, breaks])
    board = run_task(path)
    other, own = (each.name for each in only(board).aggregates)
    names = numbers_of_board(board)
    for name, share in {"coverage": 0.5, "t.coverage": 0.5, f"t.{own}.coverage": 0.5, f"t.{other}.coverage": 1}.items():
        gate = f"{name} == {share}"
        check_names(parse_gates([gate]), names, baseline=None)
        assert check(gate, board).met, gate
    with pytest.raises(UsageError, match=r"no number called `nothing\.coverage`"):
        check_names(parse_gates(["t.nothing.coverage == 1"]), names, baseline=None)


def test_verdicts_without_an_aggregate_are_part_of_coverage(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"sums": [[1.0], [1.0], [1.0], [0.0]]})
    lacking = replace(board, tasks=[replace(board.tasks[0], missing_scores={"judge": 1})])
    assert check("coverage == 1", board).met
    assert check("coverage == 0.75", lacking).met
