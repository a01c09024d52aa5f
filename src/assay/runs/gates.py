"""The gates of a run: read, and refused if they cannot be checked, before anything runs; checked when it has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.costs.prices import find_prices
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import read_leaderboard
from assay.results.board.overall import overall_bounds, overall_interval, overall_score
from assay.results.diff.ends import diff_ends
from assay.results.diff.paired_columns import read_side
from assay.results.gates.drops import gates_on_margins, margins_out_of_reach
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.results.gates.names import TaskNumbers, check_names, number_of_parts, numbers_of_definition
from assay.results.gates.result import GateResult, broken_gates
from assay.results.report_settings import View
from assay.run_config import RunConfig
from assay.task_records import Policy
from assay.tasks.descriptions import with_aggregates_described
from assay.text.wording import hint


class PolicyError(UsageError):
    """Rules of policies that no task can meet; code that knows the file can add their locations."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("\n".join(f"policy rule `{rule}`: {problem}" for rule, problem in problems.items()))
        self.problems = problems
        """By rule."""


class Gates:
    """What must hold of one run, alone or compared with a baseline: a leaderboard file or a run folder."""

    def __init__(
        self,
        expressions: Sequence[str],
        definitions: Sequence[TaskDefinition],
        config: RunConfig,
        baseline: Path | str | None = None,
        members: Sequence[MemberGates] = (),
    ) -> None:
        # no code of the author's is needed to know the names of numbers
        definitions = [with_aggregates_described(definition, own_code=False) for definition in definitions]
        tasks = {
            definition.name: numbers_of_definition(definition, config.repeat_of(definition.name))
            for definition in definitions
        }
        self.gates = parse_gates([*expressions, *_of_policies(definitions, tasks)])
        self._view = View.of(config, prices=find_prices(Path(config.prices)) if config.prices else None)
        self._source = baseline
        self._baseline = read_leaderboard(baseline, self._view) if baseline is not None else None
        if self.gates:
            check_names(self.gates, tasks, baseline=self._baseline)
        self._members = [(member, parse_gates(member.gates)) for member in members]
        for member, gates in self._members:
            check_names(gates, {name: tasks[name] for name in member.weights if name in tasks}, baseline=self._baseline)

    def out_of_reach(self) -> list[str]:
        """The gates on a margin that the baseline's samples cannot reach, with the margin that they can."""
        asked = gates_on_margins(self.gates)
        if self._source is None or not asked:
            return []
        return margins_out_of_reach(asked, read_side(self._source, self._view), self._view)

    def check(
        self, folder: Path, board: Leaderboard, *, cannot_tell_passes: bool = False, left_out_ignored: bool = False
    ) -> tuple[tuple[GateResult, ...], bool]:
        """The result of every gate, and whether all are met."""
        pairs = None if self._source is None else partial(diff_ends, self._source, folder, self._view)
        results = check_gates(
            self.gates, board, baseline=self._baseline, pairs=pairs, left_out_ignored=left_out_ignored
        )
        for member, gates in self._members:
            theirs = None if self._baseline is None else board_of_member(self._baseline, member.weights)
            own = board_of_member(board, member.weights)
            found = check_gates(gates, own, baseline=theirs, pairs=pairs, left_out_ignored=left_out_ignored)
            results += [_of_member(result, member.suite) for result in found]
        return tuple(results), not broken_gates(results, cannot_tell_passes=cannot_tell_passes)


def _of_member(result: GateResult, suite: str) -> GateResult:
    sentences = [f"@{suite}: {sentence}" for sentence in result.sentences]
    return msgspec.structs.replace(result, gate=f"@{suite}: {result.gate}", sentences=sentences)


class MemberGates(NamedTuple):
    """The gates of a suite inside another one: they are about its own tasks, with its own weights."""

    suite: str
    gates: tuple[str, ...]
    weights: Mapping[str, float]


def board_of_member(board: Leaderboard, weights: Mapping[str, float]) -> Leaderboard:
    """The leaderboard of the tasks of a suite alone."""
    rows = [msgspec.structs.replace(row, weight=weights[row.task]) for row in board.tasks if row.task in weights]
    overall, reason = overall_score(rows)
    return msgspec.structs.replace(
        board,
        tasks=rows,
        overall_score=overall,
        overall_reason=reason,
        overall_interval=overall_interval(rows, overall, board.level),
        overall_bounds=overall_bounds(rows, board.level) if overall is not None else None,
    )


def _of_policies(definitions: Sequence[TaskDefinition], tasks: Mapping[str, TaskNumbers]) -> list[str]:
    """The rules of a run file's policies as gates, one for each task that has the number; each rule needs one."""
    gates: list[str] = []
    problems: dict[str, str] = {}
    by_name = {definition.name: definition for definition in definitions}
    rules = [(definition.name, rule) for definition in definitions for rule in definition.plan.policies]
    for key in dict.fromkeys(rule.rule for _, rule in rules):
        of_rule = [
            _policy_gate(f"{task}.{name}", rule)
            for task, rule in rules
            if rule.rule == key and (name := _number_of(rule, by_name[task], tasks[task])) is not None
        ]
        if not of_rule:
            metric = next(rule.metric for _, rule in rules if rule.rule == key)
            known = sorted({name for task, _ in rules for name in tasks[task].names})
            problems[key] = f"no task in its scope has a number `{metric}`. {hint(metric, known)}"
        gates.extend(of_rule)
    if problems:
        raise PolicyError(problems)
    return list(dict.fromkeys(gates))


def _policy_gate(number: str, rule: Policy) -> str:
    """A threshold, or that the number is there at all: it then equals itself."""
    return f"{number} == {number}" if rule.operator is None else f"{number} {rule.operator} {rule.threshold}"


def _number_of(rule: Policy, definition: TaskDefinition, numbers: TaskNumbers) -> str | None:
    """The number itself, or the mean of the score value of that name; of the scorers and metrics in its scope."""
    names = (rule.metric, f"{rule.metric}_mean")
    scorers, metrics = rule.scorer_keys, rule.metric_keys
    if scorers is None and metrics is None:
        known = next((name for name in names if numbers.has(name)), None)
        if known is not None:
            return known
    return number_of_parts(definition, names, scorers, metrics, numbers.repeated)
