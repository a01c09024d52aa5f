"""The prompts of a run file against each other: every pair of them, for each model, over the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay.results.diff.comparison import paired_diff
from assay.results.diff.differences import BoardDiff, OverallDiff
from assay.results.diff.paired_columns import Side, read_side
from assay.results.report_settings import View
from assay.stats.families import correct_known
from assay.stats.paired import PairedComparison


class PromptPair(Struct, frozen=True, kw_only=True):
    """Two prompts with one model: B's score minus A's, over the samples that both were scored on."""

    model: str
    a: str
    b: str
    run_a: str
    run_b: str
    difference: float | None = None
    """None where nothing compares; `reason` says why."""
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    """Holm's, over all pairs of prompts."""
    significant: bool = False
    reason: str | None = None


def compare_prompts(runs: Sequence[Path], view: View) -> list[PromptPair]:
    """Every pair of runs of one model with two prompts that share a task, in the order of the runs."""
    sides = [side for run in runs if (side := read_side(run, view)).board.settings.get("prompt")]
    pairs = [
        _pair(a, b, view)
        for a, b in combinations(sides, 2)
        if _model(a) == _model(b) and _prompt(a) != _prompt(b) and _tasks(a) & _tasks(b)
    ]
    family = correct_known([pair.p_value for pair in pairs], view.level)
    return [
        pair if corrected is None else replace(pair, adjusted_p=corrected.adjusted_p, significant=corrected.significant)
        for pair, corrected in zip(pairs, family, strict=True)
    ]


def _pair(a: Side, b: Side, view: View) -> PromptPair:
    pair = PromptPair(model=a.board.model_label, a=_prompt(a), b=_prompt(b), run_a=str(a.source), run_b=str(b.source))
    diff = paired_diff(a, b, view, samples=0)
    compared = _overall(diff)
    if compared is None:
        return replace(pair, reason="; ".join(diff.unequal) or "no sample was scored with both")
    return replace(
        pair,
        difference=compared.difference,
        low=compared.interval.low,
        high=compared.interval.high,
        p_value=compared.p_value,
        reason="; ".join(diff.unequal) or None,
    )


def _overall(diff: BoardDiff) -> OverallDiff | PairedComparison | None:
    """The comparison over all tasks, or that of a single task."""
    if diff.overall is not None:
        return diff.overall
    compared = [task.comparison for task in diff.tasks if task.comparison is not None]
    return compared[0] if len(compared) == 1 else None


def _model(side: Side) -> tuple[str, str]:
    return side.board.model_label, side.board.adapter


def _prompt(side: Side) -> str:
    return str(side.board.settings["prompt"])


def _tasks(side: Side) -> set[str]:
    return {row.task for row in side.board.tasks}
