"""Gates: conditions that a result must meet, checked after a run or a comparison, one sentence for each that broke.

A gate on a score is met only when it holds whatever the failed attempts would have been: every one wrong, and every
one right. Where it holds at one end only it is not decided, says so, and is not met.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from assay.core.errors import UsageError
from assay.reports.board import Leaderboard
from assay.reports.diff_types import DiffEnds
from assay.reports.diff_words import drop_sentences
from assay.reports.gate_expression import COMPARISONS, Gate, Term, parse_gate, wrong
from assay.reports.gate_terms import OF_RUN, Ends, Reading, read, split

NO_DROP = "no-significant-drop"
RETRY = "rerun the same `assay run` command to retry them"
WHATEVER = "whatever the failed attempts would have been"


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
    drops: Callable[[], DiffEnds] | None = None,
) -> list[GateResult]:
    """Every gate against the result; `drops` compares it with the baseline sample by sample when a gate needs that."""
    check_names(gates, [row.task for row in board.tasks], baseline=baseline)
    return [
        _check_drops(gate, drops() if drops is not None else None)
        if isinstance(gate, str)
        else _check(gate, board, baseline)
        for gate in gates
    ]


def _check_drops(gate: str, found: DiffEnds | None) -> GateResult:
    if found is None:
        return GateResult(gate=gate, passed=False, sentences=["there is nothing to compare with"])
    failed = _failed(found.failed, found.failed_baseline)
    worst = drop_sentences(found.worst)
    if not worst and not found.unbounded:
        whatever = f", {WHATEVER} ({failed})" if failed else ""
        return GateResult(gate=gate, passed=True, sentences=[f"no significant drop{whatever}"])
    certain = drop_sentences(found.best)
    possible = [f"with the failed attempts against it {each} ({failed})" for each in worst if not certain]
    possible += [f"attempts of {task} failed, and its measure has no bounds" for task in found.unbounded]
    undecided = [f"{gate}: not decided: {each}; {RETRY}" for each in possible]
    return GateResult(gate=gate, passed=False, sentences=[*certain, *undecided])


class _Sum(Struct, frozen=True, kw_only=True):
    """One side of a comparison."""

    measured: float
    ends: Mapping[str, Ends]
    """Per result and task, what its failed attempts make of the sum; under "" what is certain."""
    failed: Mapping[tuple[bool, str], int]
    """Per result (whether it is the baseline) and task, the attempts that failed."""


class _Corner(NamedTuple):
    """Both sides of a comparison where the failed attempts make their difference least, or most."""

    left: float
    right: float
    outcomes: frozenset[str]
    """What the failed attempts are there: `wrong`, `right`, or of some tasks the one and of some the other."""


def _check(gate: Gate, board: Leaderboard, baseline: Leaderboard | None) -> GateResult:
    sums: list[_Sum] = []
    for side, other in ((gate.left, gate.right), (gate.right, gate.left)):
        found = _sum_of(side, next((term.name for term in other if term.name is not None), ""), board, baseline)
        if isinstance(found, str):
            return _broken(gate, found)
        sums.append(found)
    left, right = sums
    return _decide(gate, left, right, (_corner(left.ends, right.ends, min), _corner(left.ends, right.ends, max)))


def _sum_of(terms: Sequence[Term], opposite: str, board: Leaderboard, baseline: Leaderboard | None) -> _Sum | str:
    """The terms added up, or why they cannot be; a bare `baseline` stands for the name opposite."""
    measured = 0.0
    ends: dict[str, Ends] = {}
    failed: dict[tuple[bool, str], int] = {}
    for term in terms:
        where = "the baseline" if term.baseline else "the result"
        name = term.name or opposite
        if term.number is not None:
            found = Reading(value=term.number, ends={"": (term.number, term.number)})
        else:
            found = read(baseline if term.baseline else board, name)
        if found.value is None:
            return f"{where} has no value for `{name}`" + (f": {found.reason}" if found.reason else "")
        if found.ends is None:
            many = _attempts(sum(found.failed.values()))
            return f"not decided: {many} failed in {where}, and `{name}` has no bounds; {RETRY}"
        measured += term.sign * found.value
        failed |= {(term.baseline, task): count for task, count in found.failed.items()}
        for task, (low, high) in found.ends.items():
            owner = f"{where}/{task}" if task else ""
            before = ends.get(owner, (0.0, 0.0))
            ends[owner] = (before[0] + term.sign * low, before[1] + term.sign * high)
    return _Sum(measured=_rounded(measured), ends=ends, failed=failed)


def _corner(left: Mapping[str, Ends], right: Mapping[str, Ends], pick: Callable[[float, float], float]) -> _Corner:
    """Tasks fail apart from each other, so each is taken at the end that leaves least of the difference, or most."""
    sums, outcomes = (0.0, 0.0), set()
    for owner in {**left, **right}:
        ours, theirs = left.get(owner, (0.0, 0.0)), right.get(owner, (0.0, 0.0))
        differences = (ours[0] - theirs[0], ours[1] - theirs[1])
        end = differences.index(pick(*differences))
        sums = sums[0] + ours[end], sums[1] + theirs[end]
        if differences[0] != differences[1]:
            outcomes.add(("wrong", "right")[end])
    return _Corner(_rounded(sums[0]), _rounded(sums[1]), frozenset(outcomes))


def _rounded(total: float) -> float:
    # sums of shares such as 0.9 - 0.02 must not miss their mark by a rounding error
    return round(total, 12)


def _decide(gate: Gate, left: _Sum, right: _Sum, corners: tuple[_Corner, _Corner]) -> GateResult:
    least, most = (COMPARISONS[gate.comparison](corner.left, corner.right) for corner in corners)
    told = _compared(gate, left.measured, right.measured)
    counts = {**left.failed, **right.failed}
    failed = _failed(*(sum(n for (baseline, _), n in counts.items() if baseline is which) for which in (False, True)))
    between = corners[0].left < corners[0].right and corners[1].left > corners[1].right
    if least == most and not (between and gate.comparison == "=="):
        whatever = f", {WHATEVER} ({failed})" if failed and corners[0][:2] != corners[1][:2] else ""
        return GateResult(gate=gate.text, passed=least, sentences=[f"{gate.text}: {told}{whatever}"])
    against, favoured = (corners[1], corners[0]) if least else corners
    ends = [
        f"{_compared(gate, against.left, against.right)} {_if(against, 'with the failed attempts against it')}",
        f"{_compared(gate, favoured.left, favoured.right)} {_if(favoured, 'with them in its favour')}",
    ]
    return _broken(gate, f"not decided: {', '.join(ends)} ({failed}); {RETRY}")


def _compared(gate: Gate, left: float, right: float) -> str:
    verb = "is" if COMPARISONS[gate.comparison](left, right) else "is not"
    return f"{left:.4g} {verb} {gate.comparison} {right:.4g}"


def _if(corner: _Corner, otherwise: str) -> str:
    if len(corner.outcomes) > 1:
        return otherwise
    return f"if every failed attempt had been {next(iter(corner.outcomes))}"


def _failed(result: int, baseline: int) -> str:
    parts = [f"{_attempts(result)} failed"] if result else []
    parts += [f"{_attempts(baseline)} failed in the baseline"] if baseline else []
    return ", ".join(parts)


def _attempts(count: int) -> str:
    return f"{count:,} attempt{'s' if count != 1 else ''}"


def _broken(gate: Gate, detail: str) -> GateResult:
    return GateResult(gate=gate.text, passed=False, sentences=[f"{gate.text}: {detail}"])


def _check_name(gate: Gate, term: Term, tasks: list[str]) -> None:
    name = term.name or ""
    if name in tasks or name in OF_RUN or split(name, tasks)[0] is not None:
        return
    if "-" in name and name.split("-", maxsplit=1)[0] in {*tasks, *OF_RUN, "baseline"}:
        spaced = name.replace("-", " - ", 1)
        raise wrong(gate.text, term.position, f"no task is called `{name}`; for a difference write `{spaced}`")
    near = difflib.get_close_matches(name, [*tasks, *OF_RUN], n=1)
    hint = f"Did you mean `{near[0]}`?" if near else f"Known: {', '.join([*tasks, *OF_RUN])}"
    raise wrong(gate.text, term.position, f"no task or number of the run is called `{name}`. {hint}")
