"""Checks that the names in a gate exist, before any model call."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from assay.core.describe import Mean, Shares, Whole
from assay.core.errors import UsageError
from assay.core.types import PartSpec, TaskDefinition
from assay.results.board.board_types import Leaderboard, TaskRow
from assay.results.board.journal_table import empty_table
from assay.results.board.leaderboard import attempts_counted
from assay.results.board.summaries import summaries_by_part, summaries_of
from assay.results.gates.expression import DropGate, Gate, Term, wrong
from assay.results.gates.terms import (
    CALIBRATION,
    INTERVALS,
    MEASURED_OF_TASK,
    OF_AGGREGATE,
    OF_RUN,
    OF_THE_RUN,
    Meaning,
    meanings,
)
from assay.results.measure import runs_code
from assay.stats.repetitions import repetitions
from assay.stats.score_table import ScoreTable
from assay.text.wording import hint, nearest

OF_ANY_TASK = (*INTERVALS, CALIBRATION, *MEASURED_OF_TASK)


class TaskNumbers(Struct, frozen=True, kw_only=True):
    """The names of a task's numbers."""

    names: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    """Patterns of names that depend on answers or on the author's code: `*_precision`."""
    repeated: tuple[str, ...] = ()
    """The names that are about several attempts at each sample: `pass@3`."""

    def has(self, aspect: str) -> bool:
        known = {aspect, aspect.removesuffix(OF_AGGREGATE)} & {*self.names} or aspect in OF_ANY_TASK
        return bool(known) or any(fnmatchcase(aspect, pattern) for pattern in self.patterns)


def numbers_of_definition(definition: TaskDefinition, repeat: int) -> TaskNumbers:
    """The names that a run's numbers will have, from aggregates over an empty table."""
    table = empty_table(definition)
    names = [item.name for item in summaries_of(definition, table, 0.95, {})]
    repeated: list[str] = []
    if repeat > 1 and table.measure.field is not None:
        repeated = [repetition.name for repetition in repetitions(ScoreTable(), k=attempts_counted(repeat))]
    patterns = [pattern for part in definition.aggregates for pattern in _patterns(part)]
    return TaskNumbers(names=(*names, *repeated), patterns=tuple(patterns), repeated=tuple(repeated))


def number_of_parts(
    definition: TaskDefinition,
    names: Sequence[str],
    scorers: Collection[str] | None,
    metrics: Collection[str] | None,
    repeated: Collection[str] = (),
) -> str | None:
    """The task's name for the first of `names` that an aggregate of these scorers and metric keys reports.

    A mean is also known by the score value that it averages; `repeated` are the names of statistics of repetitions.
    """
    table = empty_table(definition)
    summaries = summaries_by_part(definition, table, 0.95, {})
    unique = [item.name for item in summaries_of(definition, table, 0.95, {})]

    def holds(part: PartSpec) -> bool:
        of_scorer = scorers is None or part.options.get("scorer") in scorers
        return of_scorer and (metrics is None or part.key.rpartition(".")[2] in metrics)

    selected = [(part, summary, name) for (part, summary), name in zip(summaries, unique, strict=True) if holds(part)]
    name_in_task = {
        str(part.options.get("field")): name for part, _, name in reversed(selected) if _is_plain_mean(part)
    }
    name_in_task |= {summary.name: name for _, summary, name in selected}
    name_in_task |= {name: name for _, _, name in selected}
    if any(holds(part) for part in definition.aggregates[:1]):  # repetitions are of the task's score
        name_in_task |= {name: name for name in repeated if name not in name_in_task}
    patterns = [pattern for part in definition.aggregates if holds(part) for pattern in _patterns(part)]
    unknown = (name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns))
    return next((name_in_task[name] for name in names if name in name_in_task), next(unknown, None))


def numbers_of_row(row: TaskRow) -> TaskNumbers:
    return TaskNumbers(names=tuple(aggregate.name for aggregate in [*row.aggregates, *row.repetitions]))


def numbers_of_board(board: Leaderboard) -> dict[str, TaskNumbers]:
    return {row.task: numbers_of_row(row) for row in board.tasks}


def check_names(
    gates: Sequence[Gate | DropGate], tasks: Mapping[str, TaskNumbers], *, baseline: Leaderboard | None
) -> None:
    """Refuse a gate that could never be checked."""
    for gate in gates:
        if baseline is None and needs_baseline(gate):
            raise UsageError(f"--gate {gate.text!r} compares with a baseline: give one with --baseline FILE or RUN")
        if isinstance(gate, DropGate):
            if gate.name is not None:
                meaning = _one_meaning(gate, gate.position, gate.name, tasks, quoted=gate.quoted)
                if meaning not in ((gate.name, ""), (None, "overall")):
                    raise wrong(gate.text, gate.position, f"`{gate.name}` is neither a task nor `overall`")
            continue
        theirs = numbers_of_board(baseline) if baseline is not None else {}
        for side, opposite in ((gate.left, gate.right), (gate.right, gate.left)):
            for term in side:
                _check_term(gate, term, opposite, theirs if term.baseline else tasks)


def needs_baseline(gate: Gate | DropGate) -> bool:
    return isinstance(gate, DropGate) or any(term.baseline for term in gate.terms)


def name_of(term: Term, opposite: Sequence[Term]) -> Term:
    """The term whose name counts: a bare `baseline` stands for the name on the other side."""
    if term.name is not None or not term.baseline:
        return term
    return next((each for each in opposite if each.name is not None), term)


def _check_term(gate: Gate, term: Term, opposite: Sequence[Term], tasks: Mapping[str, TaskNumbers]) -> None:
    named = name_of(term, opposite)
    if named.name is None:
        return
    where = " in the baseline" if term.baseline else ""
    task, aspect = _one_meaning(gate, term.position, named.name, tasks, quoted=named.quoted, where=where)
    if task is not None and aspect and not tasks[task].has(aspect):
        known = [*OF_ANY_TASK, *tasks[task].names]
        near = nearest(aspect, known)
        meant = f"Did you mean `{task}.{near}`?" if near else f"Known: {', '.join(known)}"
        raise wrong(gate.text, term.position, f"task `{task}` has no number called `{aspect}`{where}. {meant}")


def _one_meaning(
    gate: Gate | DropGate, position: int, name: str, tasks: Mapping[str, TaskNumbers], *, quoted: bool, where: str = ""
) -> Meaning:
    matches = meanings(name, tasks, quoted=quoted)
    if not matches:
        raise wrong(gate.text, position, _unknown(name, tasks, where))
    if len(matches) > 1:
        raise wrong(
            gate.text,
            position,
            f"`{name}` is both a task's and a number of the whole run{where}: put it in backticks for the task, "
            f"or write {OF_THE_RUN}{name} for the run",
        )
    return matches[0]


def _unknown(name: str, tasks: Mapping[str, TaskNumbers], where: str) -> str:
    if "-" in name and name.split("-", maxsplit=1)[0] in {*tasks, *OF_RUN, "baseline"}:
        return f"no task is called `{name}`{where}; for a difference write `{name.replace('-', ' - ', 1)}`"
    return f"no task or number of the run is called `{name}`{where}. {hint(name, [*tasks, *OF_RUN])}"


def _is_plain_mean(part: PartSpec) -> bool:
    """Whether it is the mean of a value under the name of the value."""
    return isinstance(part.about, Mean) and part.about.weights is None and part.about.same_as is None


def _patterns(part: PartSpec) -> list[str]:
    if runs_code(part):
        return ["*"]
    return list(part.about.numbers) if isinstance(part.about, Mean | Whole | Shares) else []
