"""Gates: conditions that a result must meet, checked after a run or a comparison, with a sentence for each.

A gate on a score is met only if it holds with every attempt wrong that failed, remains or was left out by `--limit`,
and with every one right. Where it holds in one case only, the gate reports that it cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from assay.core.errors import UsageError
from assay.results.board.board_types import Leaderboard
from assay.results.diff.differences import DiffEnds, TaskDiff
from assay.results.diff.sentences import ONE_SIDED, other_samples_sentence
from assay.results.gates.drops import attempts_words, check_drop, failed_words, not_made_sentences
from assay.results.gates.expression import COMPARISONS, DropGate, Gate, Term
from assay.results.gates.names import name_of
from assay.results.gates.result import GateResult
from assay.results.gates.terms import Ends, Meaning, TermValue, meanings, read
from assay.results.gates.unknown import Unknown
from assay.stats.margins import GateOutcome
from assay.stats.paired_evidence import basis_of_number

Pairs = Callable[[], DiffEnds]
"""Compares the result with the baseline sample by sample, called only if a gate needs it."""


def check_gates(
    gates: Sequence[Gate | DropGate],
    board: Leaderboard,
    *,
    baseline: Leaderboard | None = None,
    pairs: Pairs | None = None,
    allow_unequal: bool = False,
    left_out_ignored: bool = False,
) -> list[GateResult]:
    """Check every gate; one that cannot be checked does not affect the others.

    `allow_unequal`: both boards are over the samples that compare, and the user chose to leave the others out.
    `left_out_ignored`: the gates are about the samples that were run, not about those that --limit or --only left out.
    """
    ignored = sum(row.left_out for row in board.tasks) if left_out_ignored else 0
    if left_out_ignored:
        board, baseline = _without_left_out(board), None if baseline is None else _without_left_out(baseline)
    cached_pairs = None if pairs is None else cache(pairs)
    results = [
        _check_drop(gate, board, cached_pairs, allow_unequal=allow_unequal)
        if isinstance(gate, DropGate)
        else _check(gate, board, baseline, None if allow_unequal else cached_pairs)
        for gate in gates
    ]
    return [replace(result, ignored=attempts_words(ignored)) for result in results] if ignored else results


def _without_left_out(board: Leaderboard) -> Leaderboard:
    return replace(board, tasks=[replace(row, left_out=0) for row in board.tasks])


def _check_drop(gate: DropGate, board: Leaderboard, pairs: Pairs | None, *, allow_unequal: bool) -> GateResult:
    if pairs is None:
        return _cannot_tell(gate, "there is nothing to compare with")
    try:
        return check_drop(gate, pairs(), not_made_sentences(gate, board), allow_unequal=allow_unequal)
    except UsageError as error:
        return _cannot_tell(gate, str(error))


class _Sum(Struct, frozen=True, kw_only=True):
    """One side of a comparison."""

    measured: float
    ends: Mapping[str, Ends]
    """Per result and task, what its failed attempts contribute to the sum; under "" what is certain."""
    failed: Mapping[tuple[bool, str], int]
    """Per result (whether it is the baseline) and task, the attempts that have no score."""
    unknown: Unknown = Unknown()
    """Which of these there are."""
    so_far: bool = False
    """Whether it grows with what is not yet made."""


class _Corner(NamedTuple):
    """Both sides of a comparison where the failed attempts make their difference smallest, or largest."""

    left: float
    right: float
    outcomes: frozenset[str]
    """How the failed attempts are counted: `wrong`, `right`, or both, depending on the task."""


def _check(gate: Gate, board: Leaderboard, baseline: Leaderboard | None, pairs: Pairs | None) -> GateResult:
    sums: list[_Sum] = []
    for side, opposite in ((gate.left, gate.right), (gate.right, gate.left)):
        terms = [(term, name_of(term, opposite)) for term in side]
        if (why := _incomparable(terms, baseline, pairs)) is not None:
            return _cannot_tell(gate, why)
        total = _sum_of(terms, board, baseline)
        if isinstance(total, str):
            return _cannot_tell(gate, total)
        sums.append(total)
    left, right = sums
    result = _decide(gate, left, right, (_corner(left.ends, right.ends, min), _corner(left.ends, right.ends, max)))
    change = "scores in place of the attempts without one" if result.outcome == "cannot tell" else "another measurement"
    return replace(result, basis=basis_of_number(board.level, change))


def _incomparable(terms: Sequence[tuple[Term, Term]], baseline: Leaderboard | None, pairs: Pairs | None) -> str | None:
    """Why the baseline's scores do not compare with the result's: other samples, or another answer key."""
    if pairs is None or baseline is None:
        return None
    tasks = [row.task for row in baseline.tasks]
    named = [meanings(name.name or "", tasks, quoted=name.quoted)[-1:] for term, name in terms if term.baseline]
    scores = [meaning for [meaning] in filter(None, named) if meaning.is_score]
    try:
        compared = pairs().worst.tasks if scores else []
    except UsageError as error:
        return str(error)
    used = [task for task in compared if any(_is_in(task, score) for score in scores)]
    sentences = [sentence for task in used if (sentence := other_samples_sentence(task)) is not None]
    return f"{'; '.join(sentences)}, so the scores do not compare" if sentences else None


def _is_in(task: TaskDiff, score: Meaning) -> bool:
    if score.task is None:
        return task.in_overall
    # comparing two different tasks is the user's choice, even if only one result has the task
    return task.task == score.task and task.content not in ONE_SIDED


def _sum_of(terms: Sequence[tuple[Term, Term]], board: Leaderboard, baseline: Leaderboard | None) -> _Sum | str:
    """The sum of the terms, each paired with the one that names it; or why there is none."""
    measured = 0.0
    ends: dict[str, Ends] = {}
    failed: dict[tuple[bool, str], int] = {}
    unknown, so_far = Unknown(), False
    for term, named in terms:
        where = "the baseline" if term.baseline else "the result"
        name = named.name or ""
        if term.number is not None:
            value = TermValue(value=term.number, ends={"": (term.number, term.number)})
        else:
            value = read(baseline if term.baseline else board, name, quoted=named.quoted)
        if value.value is None:
            return f"{where} has no value for `{name}`" + (f": {value.reason}" if value.reason else "")
        if value.ends is None:
            open_count = attempts_words(sum(value.failed.values()))
            of = value.unknown
            return f"{open_count} {of.happened} in {where}, and `{name}` has no bounds; {of.remedy}"
        measured += term.sign * value.value
        unknown, so_far = unknown.or_of(value.unknown), so_far or value.so_far
        failed |= {(term.baseline, task): count for task, count in value.failed.items()}
        for task, (low, high) in value.ends.items():
            owner = f"{where}/{task}" if task else ""
            before = ends.get(owner, (0.0, 0.0))
            ends[owner] = (before[0] + term.sign * low, before[1] + term.sign * high)
    return _Sum(measured=_rounded(measured), ends=ends, failed=failed, unknown=unknown, so_far=so_far)


def _corner(left: Mapping[str, Ends], right: Mapping[str, Ends], pick: Callable[[float, float], float]) -> _Corner:
    """Tasks fail independently, so each is taken at the end that makes the difference smallest, or largest."""
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
    comparison = _compared(gate, left.measured, right.measured)
    counts = {**left.failed, **right.failed}
    unknown = left.unknown.or_of(right.unknown)
    failed = failed_words(
        *(sum(n for (baseline, _), n in counts.items() if baseline is which) for which in (False, True)),
        happened=unknown.happened,
    )
    kind = unknown.kind
    between = corners[0].left < corners[0].right and corners[1].left > corners[1].right
    if least == most and not (between and gate.comparison == "=="):
        uncertain = failed and corners[0][:2] != corners[1][:2]
        whatever = f", whatever the {kind} attempts would have been ({failed})" if uncertain else ""
        outcome: GateOutcome = "met" if least else "not met"
        return GateResult(gate=gate.text, outcome=outcome, sentences=[f"{gate.text}: {comparison}{whatever}"])
    if left.so_far or right.so_far:
        return _cannot_tell(gate, f"{comparison} so far, but {failed}; {unknown.remedy}")
    against, favoured = (corners[1], corners[0]) if least else corners
    ends = [
        f"{_compared(gate, against.left, against.right)} {_if(against, kind, f'with the {kind} attempts against it')}",
        f"{_compared(gate, favoured.left, favoured.right)} {_if(favoured, kind, 'with them in its favour')}",
    ]
    return _cannot_tell(gate, f"{', '.join(ends)} ({failed}); {unknown.remedy}")


def _compared(gate: Gate, left: float, right: float) -> str:
    verb = "is" if COMPARISONS[gate.comparison](left, right) else "is not"
    return f"{left:.4g} {verb} {gate.comparison} {right:.4g}"


def _if(corner: _Corner, kind: str, otherwise: str) -> str:
    if len(corner.outcomes) > 1:
        return otherwise
    return f"if every {kind} attempt had been {next(iter(corner.outcomes))}"


def _cannot_tell(gate: Gate | DropGate, detail: str) -> GateResult:
    return GateResult(gate=gate.text, outcome="cannot tell", sentences=[f"{gate.text}: {detail}"])
