"""Gates: conditions that a result must meet, checked after a run or a comparison, one sentence for each that broke."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from assay.core.errors import UsageError
from assay.reports.board import Cost, Leaderboard, TaskRow
from assay.reports.diff_types import BoardDiff
from assay.reports.diff_words import drop_sentences
from assay.reports.gate_expression import COMPARISONS, Gate, Term, parse_gate, wrong
from assay.reports.spending import total_cost

NO_DROP = "no-significant-drop"

_BOARD: dict[str, Callable[[Leaderboard], float | None]] = {
    "overall": lambda board: board.overall_score,
    "overall.low": lambda board: board.overall_interval.low if board.overall_interval else None,
    "overall.high": lambda board: board.overall_interval.high if board.overall_interval else None,
    "failed": lambda board: board.failed + board.timeouts,
    "timeouts": lambda board: board.timeouts,
    "owed": lambda board: sum(row.owed for row in board.tasks),
    "coverage": lambda board: min((row.coverage for row in board.tasks), default=None),
    "tokens": lambda board: sum(row.tokens_in + row.tokens_out for row in board.tasks),
    "cost": lambda board: board.cost.amount if board.cost else None,
    "judge_cost": lambda board: board.judge_cost.amount if board.judge_cost else 0.0,
    "total_cost": lambda board: _sum([board.cost, board.judge_cost]),
}

_TASK: dict[str, Callable[[TaskRow], float | None]] = {
    "low": lambda row: row.interval.low if row.interval else None,
    "high": lambda row: row.interval.high if row.interval else None,
    "coverage": lambda row: row.coverage,
    "failed": lambda row: row.failed + row.timeouts,
    "timeouts": lambda row: row.timeouts,
    "tokens": lambda row: row.tokens_in + row.tokens_out,
    "cost": lambda row: row.cost.amount if row.cost else None,
    "judge_cost": lambda row: row.judge_cost.amount if row.judge_cost else 0.0,
    "ece": lambda row: row.calibration.expected_error.value if row.calibration else None,
    "p50": lambda row: row.latency.p50 if row.latency else None,
    "p95": lambda row: row.latency.p95 if row.latency else None,
}


def _sum(costs: Sequence[Cost | None]) -> float | None:
    total = total_cost([cost for cost in costs if cost is not None])
    return None if total is None else total.amount


class GateResult(Struct, frozen=True, kw_only=True):
    """One gate, checked."""

    gate: str
    passed: bool
    sentences: list[str]
    """What the gate found: why it broke, or what it compared."""


def parse_gates(texts: Iterable[str]) -> list[Gate | str]:
    """Every gate, read before anything runs; `no-significant-drop` stands for itself."""
    return [NO_DROP if text.strip() == NO_DROP else parse_gate(text) for text in texts]


def check_names(gates: Sequence[Gate | str], tasks: Sequence[str], *, baseline: Leaderboard | None) -> None:
    """Refuse a gate that could never be checked, before any model is asked."""
    for gate in gates:
        if baseline is None and needs_baseline(gate):
            text = gate if isinstance(gate, str) else gate.text
            raise UsageError(f"--gate {text!r} compares with a baseline: give one with --baseline FILE or RUN")
        if isinstance(gate, str):
            continue
        for term in gate.terms:
            if term.name is not None:
                known = [row.task for row in baseline.tasks] if term.baseline and baseline is not None else list(tasks)
                _check_name(gate, term, known)


def needs_baseline(gate: Gate | str) -> bool:
    return isinstance(gate, str) or any(term.baseline for term in gate.terms)


def check_gates(
    gates: Sequence[Gate | str],
    board: Leaderboard,
    *,
    baseline: Leaderboard | None = None,
    drops: Callable[[], BoardDiff] | None = None,
) -> list[GateResult]:
    """Every gate against the result; `drops` compares it with the baseline sample by sample when a gate needs that."""
    check_names(gates, [row.task for row in board.tasks], baseline=baseline)
    results = []
    for gate in gates:
        if isinstance(gate, str):
            broken = drop_sentences(drops()) if drops is not None else ["there is nothing to compare with"]
            results.append(GateResult(gate=gate, passed=not broken, sentences=broken or ["no significant drop"]))
        else:
            results.append(_check(gate, board, baseline))
    return results


def _check(gate: Gate, board: Leaderboard, baseline: Leaderboard | None) -> GateResult:
    sums = []
    for side, other in ((gate.left, gate.right), (gate.right, gate.left)):
        total = 0.0
        for term in side:
            name = term.name or next((each.name for each in other if each.name is not None), "")
            source = baseline if term.baseline else board
            value = term.number if term.number is not None else _lookup(source, name)
            if value is None:
                where = "the baseline" if term.baseline else "the result"
                sentence = f"{gate.text}: {where} has no value for `{name}`{_why(source, name)}"
                return GateResult(gate=gate.text, passed=False, sentences=[sentence])
            total += term.sign * value
        # sums of shares such as 0.9 - 0.02 must not miss their mark by a rounding error
        sums.append(round(total, 12))
    passed = COMPARISONS[gate.comparison](*sums)
    verb = "is" if passed else "is not"
    sentence = f"{gate.text}: {sums[0]:.4g} {verb} {gate.comparison} {sums[1]:.4g}"
    return GateResult(gate=gate.text, passed=passed, sentences=[sentence])


def _lookup(board: Leaderboard | None, name: str) -> float | None:
    if board is None:
        return None
    rows = {row.task: row for row in board.tasks}
    if name in rows:
        return rows[name].score
    if name in _BOARD:
        return _BOARD[name](board)
    task, aspect = _split(name, rows)
    if task is None:
        return None
    if aspect in _TASK:
        return _TASK[aspect](rows[task])
    known = [*rows[task].aggregates, *rows[task].repetitions]
    return next((each.value for each in known if each.name == aspect), None)


def _why(board: Leaderboard | None, name: str) -> str:
    if board is None:
        return ""
    reason = board.overall_reason if name.startswith("overall") else None
    if name in ("cost", "total_cost") and board.cost is not None:
        reason = board.cost.reason
    if name in ("judge_cost", "total_cost") and board.judge_cost is not None:
        reason = board.judge_cost.reason or reason
    reason = reason or next((row.refused or row.reason for row in board.tasks if row.task == name), None)
    return f": {reason}" if reason else ""


def _split(name: str, tasks: Iterable[str]) -> tuple[str | None, str]:
    """`task.aspect`, where task names may have dots themselves."""
    fitting = [task for task in tasks if name.startswith(task + ".")]
    task = max(fitting, key=len, default=None)
    return task, name[len(task) + 1 :] if task is not None else ""


def _check_name(gate: Gate, term: Term, tasks: list[str]) -> None:
    name = term.name or ""
    if name in tasks or name in _BOARD or _split(name, tasks)[0] is not None:
        return
    if "-" in name and name.split("-", maxsplit=1)[0] in {*tasks, *_BOARD, "baseline"}:
        spaced = name.replace("-", " - ", 1)
        raise wrong(gate.text, term.position, f"no task is called `{name}`; for a difference write `{spaced}`")
    near = difflib.get_close_matches(name, [*tasks, *_BOARD], n=1)
    hint = f"Did you mean `{near[0]}`?" if near else f"Known: {', '.join([*tasks, *_BOARD])}"
    raise wrong(gate.text, term.position, f"no task or number of the run is called `{name}`. {hint}")
