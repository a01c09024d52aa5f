"""Repetitions on the leaderboard: what several attempts say, with k as many as were made."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.board.scripted_boards import BROKEN, board_of
from tests.results.runs import Adder, number, run_into, write_sums

from assay.core.types import Completion, Request
from assay.pages.documents.more_tables import repetition_table
from assay.pages.html.report_page import report_page
from assay.pages.markdown import markdown
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View


class EverySecond:
    """Right in its odd attempts, and always for numbers below five."""

    name = "every-second"

    async def generate(self, request: Request) -> Completion:
        n = number(request.text())
        assert request.draw is not None
        return Completion(text=str(n + 1) if n < 5 or request.draw.repetition % 2 else "no")


def test_pass_worst_majority_and_consistency(tmp_path: Path) -> None:
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 20), EverySecond(), repeat=3)
    board = build_leaderboard(tmp_path / "run")
    found = {each.name: each for each in board.tasks[0].repetitions}
    assert found["mean"].value == pytest.approx((5 * 3 + 15 * 2) / 60)
    assert found["pass@1"].value == pytest.approx(0.75)
    assert found["pass@2"].value == 1.0
    assert found["pass^3"].value == 0.25
    assert found["majority@3"].value == 1.0
    assert found["worst@3"].value == 0.25
    assert found["consistency"].value == 0.25
    assert all(each.low is not None for each in found.values() if each.value not in (0.0, 1.0))
    table = markdown(repetition_table(board)) or ""
    assert "pass@3" in table
    assert "worst@3" in table


def test_numbers_of_k_attempts_say_over_how_many_samples_they_are(tmp_path: Path) -> None:
    """Five steady samples, five that lost an attempt each: one of their others is wrong, so their pass^4 is 0."""
    unsteady = [1.0, 1.0, 0.0, BROKEN]
    board = board_of(tmp_path, {"sums": [[1.0] * 4] * 5 + [unsteady] * 5})
    found = {each.name: each for each in board.tasks[0].repetitions}
    for name in ("pass^4", "worst@4"):
        assert (found[name].value, found[name].scored, found[name].unscored) == (0.5, 10, 0)
    assert (found["majority@4"].value, found["majority@4"].scored, found["majority@4"].unscored) == (1.0, 5, 5)
    bounds = found["pass^4"].bounds
    assert bounds is not None
    assert (bounds.low, bounds.high) == (0.5, 0.5)
    table = markdown(repetition_table(board)) or ""
    assert "0.500 (0.237 – 0.763) |" in table, "what is known for every sample needs no bounds"
    assert "1.000 (0.566 – 1.000) over 5 of 10 samples, 0.750 – 1.000 with the failed" in table
    assert "over 5 of 10 samples" in report_page([tmp_path], View())


def test_one_attempt_has_no_repetitions(tmp_path: Path) -> None:
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 5), Adder())
    board = build_leaderboard(tmp_path / "run")
    assert board.tasks[0].repetitions == []
    assert repetition_table(board) is None


def test_groups_widen_the_interval(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 100, metadata=lambda n: {"group": n // 20, "own": n})
    run_into(tmp_path / "run", tasks, Adder(range(40)))
    grouped, alone = (
        build_leaderboard(tmp_path / "run", View(group_by=key)).tasks[0].interval for key in ("group", "own")
    )
    assert grouped is not None
    assert alone is not None
    assert grouped.method == "clustered-wilson"
    assert alone.method == "wilson"
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)
