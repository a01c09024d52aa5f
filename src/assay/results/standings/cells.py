"""The cells of a matrix against each other: every pair that differs in one axis only, over the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.results.diff.comparison import paired_diff
from assay.results.diff.differences import BoardDiff, OverallDiff
from assay.results.diff.paired_columns import Side, read_side
from assay.results.report_settings import View
from assay.results.side_labels import model_and_cell
from assay.stats.families import correct_known
from assay.stats.paired import PairedComparison


class CellPair(Struct, frozen=True, kw_only=True):
    """Two cells that differ in one axis: B's score minus A's, over the samples that both were scored on."""

    axis: str
    """`prompt`, `model`, `judge`, `dataset`, `config.KEY` or `settings.KEY`."""
    model: str
    others: str
    """What both have in common: the model, unless it is the axis, and their place on the other axes."""
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
    """Holm's, over all pairs along the axis."""
    significant: bool = False
    reason: str | None = None


def compare_cells(runs: Sequence[Path], view: View) -> list[CellPair]:
    """Every pair of cells that share a task and differ in one axis: axis by axis, in the order of the runs."""
    sides = [side for run in runs if _cell(side := read_side(run, view))]
    axes = dict.fromkeys(axis for side in sides for axis in _cell(side))
    return [pair for axis in axes for pair in _along(axis, sides, view)]


def _along(axis: str, sides: Sequence[Side], view: View) -> list[CellPair]:
    pairs = [
        _pair(axis, a, b, view)
        for a, b in combinations(sides, 2)
        if _differ_in(axis, a, b) and {row.task for row in a.board.tasks} & {row.task for row in b.board.tasks}
    ]
    family = correct_known([pair.p_value for pair in pairs], view.level)
    return [
        pair if corrected is None else replace(pair, adjusted_p=corrected.adjusted_p, significant=corrected.significant)
        for pair, corrected in zip(pairs, family, strict=True)
    ]


def _differ_in(axis: str, a: Side, b: Side) -> bool:
    one, other = _cell(a), _cell(b)
    differing = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    same_model = (a.board.model_label, a.board.adapter) == (b.board.model_label, b.board.adapter)
    return differing == [axis] and axis in one and axis in other and (same_model or axis == "model")


def _pair(axis: str, a: Side, b: Side, view: View) -> CellPair:
    pair = CellPair(
        axis=axis,
        model=a.board.model_label if axis != "model" else "",
        others=model_and_cell("" if axis == "model" else a.board.model_label, a.board.settings, without=axis),
        a=_cell(a)[axis],
        b=_cell(b)[axis],
        run_a=str(a.source),
        run_b=str(b.source),
    )
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


def _cell(side: Side) -> dict[str, str]:
    """The place of a run on each axis of its matrix; empty for a run that is in none."""
    settings: Mapping[str, Any] = side.board.settings
    prompt = settings.get("prompt")
    return {**({"prompt": str(prompt)} if prompt else {}), **settings.get("cell", {})}
