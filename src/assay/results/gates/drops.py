"""Gates on the pairs with a baseline: no significant drop, and no drop beyond a margin.

Both are checked at both extremes of what the failed attempts could have scored. What could not be compared, and what no
test could have found, is reported as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from assay.results.board.board_types import Leaderboard
from assay.results.diff.comparison import paired_diff
from assay.results.diff.differences import BoardDiff, DiffEnds, TaskDiff
from assay.results.diff.paired_columns import Side
from assay.results.diff.sentences import ONE_SIDED, blind_sentences, drop_sentences, hidden_sentence
from assay.results.gates.expression import DropGate, Gate
from assay.results.gates.result import GateResult
from assay.results.gates.unknown import RETRY, RUN_ALL
from assay.results.report_settings import View
from assay.stats.intervals import Interval
from assay.stats.margins import GateOutcome, non_inferiority, out_of_reach
from assay.stats.paired import PairedComparison
from assay.stats.paired_evidence import JACKKNIFE, Basis, PairedEvidence, basis_of_drops
from assay.stats.replicate_pairs import REPLICATES
from assay.text.numbers import level_text, signed
from assay.text.wording import count_of


def check_drop(
    gate: DropGate, ends: DiffEnds, not_made: Sequence[str] = (), *, allow_unequal: bool = False
) -> GateResult:
    """`not_made`: what else could hide a drop; `allow_unequal`: the user chose to leave out what could not be
    compared.
    """
    hidden = [*_hidden(gate, ends, allow_unequal=allow_unequal), *not_made]
    result = _significant(gate, ends, hidden) if gate.margin is None else _beyond(gate, gate.margin, ends, hidden)
    return replace(result, basis=_basis(gate, ends))


def _basis(gate: DropGate, ends: DiffEnds) -> Basis:
    worst = ends.worst
    compared = [task.comparison for task in worst.tasks if task.comparison is not None and gate.looks_at(task.task)]
    tested: list[PairedEvidence | None] = [comparison.evidence for comparison in compared]
    if worst.overall is not None and (gate.name is None or gate.overall_only):
        tested.append(worst.overall.evidence)
    return basis_of_drops(
        [evidence for evidence in tested if evidence is not None],
        worst.level,
        correction="holm" if gate.margin is None else "every one must pass",
        would_change="more samples in both, or scores in place of failed attempts",
    )


def not_made_sentences(gate: DropGate, board: Leaderboard) -> list[str]:
    """What is not yet made, or was left out, of the tasks that a gate looks at: it could hide a drop."""
    sentences = []
    for row in board.tasks:
        if gate.looks_at(row.task):
            sentences += [f"{attempts_words(row.remaining)} of {row.task} are not yet made"] * (row.remaining > 0)
            left_out = f"{attempts_words(row.left_out)} of {row.task} were left out ({RUN_ALL})"
            sentences += [left_out] * (row.left_out > 0)
    return sentences


def gates_on_margins(gates: Sequence[Gate | DropGate]) -> list[DropGate]:
    return [gate for gate in gates if isinstance(gate, DropGate) and gate.margin is not None]


def margins_out_of_reach(gates: Sequence[DropGate], baseline: Side, view: View) -> list[str]:
    """The gates whose margin the baseline's samples cannot reach even if no score changes, with the one they can."""
    unchanged = paired_diff(baseline, baseline, view, samples=0)
    units = {task.task: _units(task.comparison) for task in unchanged.tasks if task.comparison is not None}
    sentences = []
    for gate in gates:
        for difference in _differences(gate, unchanged):
            if difference.interval.method in {JACKKNIFE, REPLICATES}:
                continue  # two equal runs have no interval, so what it can reach is not known before
            low = difference.interval.low
            samples = units.get(difference.name, "the samples of all tasks")
            why = out_of_reach(gate.margin or 0.0, None if low is None else -low, samples)
            sentences += [] if why is None else [f"gate `{gate.text}`: {difference.name}: {why}"]
    return sentences


def _units(comparison: PairedComparison) -> str:
    return f"{comparison.n:,} samples" if comparison.clusters is None else f"{comparison.clusters:,} groups"


def failed_words(result: int, baseline: int, *, happened: str = "failed") -> str:
    parts = [f"{attempts_words(result)} {happened}"] if result else []
    parts += [f"{attempts_words(baseline)} {happened} in the baseline"] if baseline else []
    return ", ".join(parts)


def attempts_words(count: int) -> str:
    return f"{count:,} attempt{'s' if count != 1 else ''}"


def _hidden(gate: DropGate, ends: DiffEnds, *, allow_unequal: bool) -> list[str]:
    """Sentences on what could hide a drop."""
    sentences = [
        f"attempts of {task} failed ({RETRY}) and its measure has no bounds"
        for task in ends.unbounded
        if gate.looks_at(task)
    ]
    tasks = [task for task in ends.worst.tasks if gate.looks_at(task.task)]
    for task in tasks:
        recorded = task.comparison is not None or task.content in ONE_SIDED
        if (sentence := hidden_sentence(task)) and not (allow_unequal and recorded):
            sentences.append(sentence)
    return sentences or ([] if any(map(_seen, tasks)) else ["nothing could be compared sample by sample"])


def _seen(task: TaskDiff) -> bool:
    return task.comparison is not None and task.comparison.n > 0


def _significant(gate: DropGate, ends: DiffEnds, hidden: list[str]) -> GateResult:
    failed = failed_words(ends.failed, ends.failed_baseline)
    certain = drop_sentences(ends.best)
    if certain:
        return _result(gate, "not met", certain)
    possible = [
        f"with the failed attempts against it {sentence} ({failed}); {RETRY}" for sentence in drop_sentences(ends.worst)
    ]
    unseen = [] if possible else blind_sentences(ends.worst)
    doubts = [*possible, *(f"{item}, so a drop cannot be ruled out" for item in [*hidden, *unseen])]
    if doubts:
        return _result(gate, "cannot tell", doubts)
    whatever = f", whatever the failed attempts would have been ({failed})" if failed else ""
    return _result(gate, "met", [f"no significant drop{whatever}{_unchanged(gate, ends)}"])


def _unchanged(gate: DropGate, ends: DiffEnds) -> str:
    """What needed no test, because it was taken from the baseline."""
    tasks = [task for task in ends.worst.tasks if task.unchanged and gate.looks_at(task.task)]
    return f"; {count_of(len(tasks), 'task')} unchanged, taken from the baseline" if tasks else ""


class _Difference(NamedTuple):
    name: str
    difference: float
    interval: Interval


def _beyond(gate: DropGate, margin: float, ends: DiffEnds, hidden: list[str]) -> GateResult:
    """Non-inferiority: met when the lower end of every difference lies within the margin.

    Since every one must pass, no correction for their number is needed: one beyond the margin passes with a chance of
    at most (1 − level)/2 (Berger 1982, intersection–union tests).
    """
    worst, best = (list(_differences(gate, diff)) for diff in (ends.worst, ends.best))
    failed = failed_words(ends.failed, ends.failed_baseline)
    beyond = [item for item in best if non_inferiority(item.interval, margin).outcome == "not met"]
    if beyond:
        return _result(gate, "not met", [f"{_with_interval(item)} lies beyond a drop of {margin:g}" for item in beyond])
    unsure = [item for item in worst if non_inferiority(item.interval, margin).outcome != "met"]
    against = f" with the failed attempts against it ({failed})" if failed else ""
    doubts = [f"{_with_interval(item)} does not rule out a drop beyond {margin:g}{against}" for item in unsure]
    doubts += [f"{item}, so a drop beyond {margin:g} cannot be ruled out" for item in hidden]
    if doubts:
        return _result(gate, "cannot tell", doubts)
    whatever = f", whatever the failed attempts would have been ({failed})" if failed else ""
    within = [f"{_with_interval(item)} lies within a drop of {margin:g}{whatever}" for item in worst]
    unchanged = _unchanged(gate, ends).removeprefix("; ")
    return _result(gate, "met", [*within, *([unchanged] if unchanged else [])])


def _differences(gate: DropGate, diff: BoardDiff) -> Iterable[_Difference]:
    compared = {task.task: task.comparison for task in diff.tasks if task.comparison is not None and _seen(task)}
    unchanged = {task.task for task in diff.tasks if task.unchanged}
    for name, comparison in compared.items():
        if name in unchanged:
            continue
        # the overall difference of one task is that task's
        if gate.looks_at(name) and (not gate.overall_only or len(compared) == 1):
            yield _Difference(name, comparison.difference or 0.0, comparison.margin_interval)
    if diff.overall is not None and (gate.name is None or gate.overall_only):
        yield _Difference("overall", diff.overall.difference, diff.overall.margin_interval)


def _with_interval(difference: _Difference) -> str:
    interval = difference.interval
    if interval.low is None or interval.high is None:
        return f"{difference.name}: {signed(difference.difference)} without an interval ({interval.reason})"
    ends = f"at worst {signed(interval.low)}, at best {signed(interval.high)}"
    return f"{difference.name}: {signed(difference.difference)} ({ends}, {level_text(interval.level)} level)"


def _result(gate: DropGate, outcome: GateOutcome, sentences: list[str]) -> GateResult:
    return GateResult(gate=gate.text, outcome=outcome, sentences=[f"{gate.text}: {sentence}" for sentence in sentences])
