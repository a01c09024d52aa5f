"""What differs between two results next to how much: settings, versions, other numbers, answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from assay.results.board.board_types import Leaderboard, TaskRow
from assay.results.board.stretches import canary_agreement, last_canary, served_changes
from assay.results.diff.differences import AggregateDiff, Flip, TaskDiff
from assay.results.diff.sentences import repeats_name
from assay.results.per_example import PerExample
from assay.text.wording import setting_in_words


def shared_answers(a: Leaderboard, b: Leaderboard, tasks: list[TaskDiff]) -> int:
    """Equal answers, as many as one side had from an earlier run: of the same model and settings, as the cache asks."""
    if (a.model, a.settings.get("generation")) != (b.model, b.settings.get("generation")):
        return 0
    earlier = {task.task: 0 for task in tasks}
    for row in (*a.tasks, *b.tasks):
        earlier[row.task] = max(earlier[row.task], row.from_earlier_runs)
    same = {task.task: task.changes.same + task.changes.score_only for task in tasks if task.changes is not None}
    return sum(min(earlier[name], count) for name, count in same.items())


def content(a: TaskRow | None, b: TaskRow | None) -> str:
    if a is None:
        return "only in B"
    if b is None:
        return "only in A"
    return "same" if a.sha256 == b.sha256 else "changed"


def same(a: TaskRow | None, b: TaskRow | None, part: Callable[[TaskRow], str]) -> str:
    return "same" if a is None or b is None or part(a) == part(b) else "changed"


def other_numbers(a: TaskRow | None, b: TaskRow | None) -> list[AggregateDiff]:
    """The aggregates that are not the score; the first one is, unless the task has no score."""
    if a is None or b is None:
        return []
    before, after = (
        {aggregate.name: aggregate.value for aggregate in row.aggregates[int(row.has_score) :]} for row in (a, b)
    )
    return [
        AggregateDiff(name=name, value_a=before.get(name), value_b=after.get(name))
        for name in {**before, **after}
        if not _equal(before.get(name), after.get(name))
    ]


def _equal(a: float | None, b: float | None) -> bool:
    return a == b if a is None or b is None else math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


def declared_changes(first: TaskRow | None, second: TaskRow | None) -> list[str]:
    """What the files of both declare and what only one does, wherever it stands in them."""
    if first is None or second is None or not (first.declared and second.declared):
        return []
    one, other = ({(each.kind, each.name): each.became for each in row.declared} for row in (first, second))
    return [
        f"{kind} {name}: {one.get((kind, name), 'not declared')} → {other.get((kind, name), 'not declared')}"
        for kind, name in dict.fromkeys([*one, *other])
        if kind != "file" and one.get((kind, name)) != other.get((kind, name))
    ]


def change(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else b - a


def settings_changed(a: Leaderboard, b: Leaderboard) -> list[str]:
    changes = []
    for kind, before, after in (
        ("model", a.model, b.model),
        ("setting", _flat(a.settings), _flat(b.settings)),
        ("version of", a.versions, b.versions),
    ):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key) and not (kind == "model" and repeats_name(key, before, after)):
                then, now = setting_in_words(before.get(key)), setting_in_words(after.get(key))
                changes.append(f"{kind} {key}: {then} → {now}")
    return changes + served_changes(a.stretches, b.stretches)


def canary(a: Leaderboard, b: Leaderboard) -> str:
    before, after = last_canary(a.stretches), last_canary(b.stretches)
    if not before or not after:
        return ""
    same, compared = canary_agreement(before, after)
    if not compared:
        return "canary: no prompt was answered in both"
    return f"canary: {same} of {compared} answers agree"


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """Nested settings one by one, so that a change names the one that changed."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat.update(value if isinstance(value, dict) else {key: value})
    return flat


def flip(before: PerExample, after: PerExample, *, better: bool) -> Flip:
    return Flip(
        id=after.id,
        attempt=after.attempt,
        score_a=before.score,
        score_b=after.score,
        prediction_a=_answer_or_failure(before),
        prediction_b=_answer_or_failure(after),
        targets=after.targets,
        prompt_a=before.prompt,
        prompt_b=after.prompt,
        same_prompt=before.prompt == after.prompt,
        same_targets=before.targets == after.targets,
        better=better,
        answer_a=before.answer if before.failure is None else None,
        answer_b=after.answer if after.failure is None else None,
    )


def _answer_or_failure(example: PerExample) -> str | None:
    return example.prediction if example.failure is None else example.failure
