"""The policies of a run file: which of their rules apply to which task, and scopes that match nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from assay.formats.declarative.run_records import PolicyEntry, PolicyRule, PolicyScope, ThresholdRule
from assay.formats.declarative.yaml_reader import Document, FieldPath, PlacedError, all_of, hint_here
from assay.task_records import Policy

_TASK_KEYS = "task_specification_keys"


def check_scopes(document: Document, policies: Sequence[PolicyEntry], evaluation: str, names: Sequence[str]) -> None:
    """Refuse keys of tasks that this evaluation does not have; warn about a rule that applies to none of them."""
    unknown: list[PlacedError] = []
    for where, rule, scope in _scoped(policies):
        here = scope.evaluation_keys is None or evaluation in scope.evaluation_keys
        only_here = scope.evaluation_keys is None or scope.evaluation_keys == [evaluation]
        for at, key in enumerate(scope.task_specification_keys or ()):
            if only_here and key not in names:
                sentence = f"this run has no task `{key}`. {hint_here(key, names)}"
                unknown.append(document.error((*where, _TASK_KEYS, at), sentence))
        if not here or (not only_here and not any(scope.holds(evaluation, name) for name in names)):
            document.warn(
                where,
                f"0 gates apply: the policy rule `{rule}` is about no task of this run (evaluation `{evaluation}`)",
            )
    if unknown:
        raise all_of(unknown)


def _scoped(policies: Sequence[PolicyEntry]) -> Iterator[tuple[FieldPath, str, PolicyScope]]:
    for at, policy in enumerate(policies):
        for number, rule in enumerate(policy.rules):
            if rule.scope != "all_latest":
                yield ("policies", at, "rules", number, "scope"), _name(policy, rule), rule.scope


def _name(policy: PolicyEntry, rule: PolicyRule) -> str:
    return f"{policy.key}.{rule.key}"


def policy_rules(policies: Sequence[PolicyEntry], evaluation: str, name: str) -> list[Policy]:
    """The rules of policies that are about this task, as its gates are made of them (see `runs/gates.py`)."""
    gates: list[Policy] = []
    for policy in policies:
        for rule in policy.rules:
            scope = PolicyScope() if rule.scope == "all_latest" else rule.scope
            if not scope.holds(evaluation, name):
                continue
            gate = Policy(
                rule=_name(policy, rule),
                metric=rule.definition.metric,
                scorer_keys=None if scope.scorer_keys is None else tuple(scope.scorer_keys),
                metric_keys=None if scope.metric_keys is None else tuple(scope.metric_keys),
            )
            if isinstance(rule.definition, ThresholdRule):
                operator = "==" if rule.definition.operator == "=" else rule.definition.operator
                gate = msgspec.structs.replace(gate, operator=operator, threshold=rule.definition.threshold)
            gates.append(gate)
    return gates
