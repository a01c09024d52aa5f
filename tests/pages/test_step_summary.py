"""The step summary is appended where the environment says so, and holds no markup that a model wrote."""

from __future__ import annotations

from pathlib import Path

from tests.results.runs import Adder, run_into, write_sums

from assay.pages.step_summary import LARGEST, run_summary, write_step_summary
from assay.results.board.leaderboard import build_leaderboard
from assay.results.gates.result import GateResult


def test_it_is_appended_where_the_environment_says_so(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    assert write_step_summary({"GITHUB_STEP_SUMMARY": str(path)}, lambda: "after")
    assert path.read_text() == "before\nafter\n"
    assert not write_step_summary({}, lambda: "nowhere")
    assert not write_step_summary({"GITHUB_STEP_SUMMARY": ""}, lambda: "nowhere")


def test_a_summary_that_would_be_dropped_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    write_step_summary({"GITHUB_STEP_SUMMARY": str(path)}, lambda: "line\n" * LARGEST)
    assert path.stat().st_size < 1024 * 1024
    assert "(cut: the summary would be too long)" in path.read_text()


def test_it_shows_scores_and_gates_without_anybody_elses_markup(tmp_path: Path) -> None:
    board = build_leaderboard(run_into(tmp_path / "run", write_sums(tmp_path, "sums", 4), Adder([1], name="<b>x")))
    gates = [
        GateResult(gate="g", outcome="not met", sentences=["<script> @everyone is not met"]),
        GateResult(gate="h", outcome="cannot tell", sentences=["too few pairs"]),
    ]
    text = run_summary(board, gates)
    assert "| sums" in text
    assert "❌ not met: &lt;script> &#64;everyone is not met" in text
    assert "❔ cannot tell: too few pairs" in text
    assert "<b>" not in text
