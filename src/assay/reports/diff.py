"""What changed between two results: which tasks moved, which answers changed, whether the questions are the same."""

from __future__ import annotations

from pathlib import Path

from msgspec import UNSET, Struct

from assay.core.errors import UsageError
from assay.reports.leaderboard import Leaderboard, PerExample, TaskRow, build_leaderboard, read_leaderboard


class ChangedPrediction(Struct, frozen=True, kw_only=True):
    """One attempt that came out differently."""

    id: str
    attempt: int
    score_a: float | None
    score_b: float | None
    prediction_a: str | None
    prediction_b: str | None
    same_prompt: bool


class TaskDiff(Struct, frozen=True, kw_only=True):
    """One task in both results, or in one of them."""

    task: str
    score_a: float | None
    score_b: float | None
    moved: float | None
    """b − a; None when one of them has no score."""
    content: str
    """`same`, `changed`, `only in A` or `only in B`."""
    scoring: str
    """`same` or `changed`: how predictions are scored."""
    compared: int
    """Attempts that both results have, with per-example records."""
    wins: int
    """Attempts that B scores higher."""
    losses: int
    changed: list[ChangedPrediction]
    coverage_a: float | None
    coverage_b: float | None


class BoardDiff(Struct, frozen=True, kw_only=True):
    """Two results side by side."""

    a: str
    b: str
    overall_a: float | None
    overall_b: float | None
    overall_moved: float | None
    same_result: bool
    """Both carry the same fingerprint: same questions, settings, answers and scores."""
    settings_changed: list[str]
    tasks: list[TaskDiff]
    per_example: bool
    """Whether both carry per-example records; without them only scores can be compared."""


def diff(a: Path | str, b: Path | str) -> BoardDiff:
    """Compare two leaderboard files or run folders."""
    first, second = _load(a), _load(b)
    rows_a = {row.task: row for row in first.tasks}
    rows_b = {row.task: row for row in second.tasks}
    names = [*rows_a, *(name for name in rows_b if name not in rows_a)]
    return BoardDiff(
        a=str(a),
        b=str(b),
        overall_a=first.overall_score,
        overall_b=second.overall_score,
        overall_moved=_moved(first.overall_score, second.overall_score),
        same_result=first.fingerprint == second.fingerprint,
        settings_changed=_settings_changed(first, second),
        tasks=[_task(name, rows_a.get(name), rows_b.get(name)) for name in names],
        per_example=all(row.per_example is not UNSET for row in [*first.tasks, *second.tasks]),
    )


def _load(path: Path | str) -> Leaderboard:
    path = Path(path)
    if path.is_dir():
        return build_leaderboard(path, include_per_example=True)
    if not path.exists():
        raise UsageError(f"{path}: no such leaderboard file or run folder")
    return read_leaderboard(path)


def _task(name: str, a: TaskRow | None, b: TaskRow | None) -> TaskDiff:
    changed, compared, wins, losses = _predictions(a, b)
    return TaskDiff(
        task=name,
        score_a=a.score if a else None,
        score_b=b.score if b else None,
        moved=_moved(a.score if a else None, b.score if b else None),
        content=_content(a, b),
        scoring="same" if a is None or b is None or a.signature == b.signature else "changed",
        compared=compared,
        wins=wins,
        losses=losses,
        changed=changed,
        coverage_a=a.coverage if a else None,
        coverage_b=b.coverage if b else None,
    )


def _content(a: TaskRow | None, b: TaskRow | None) -> str:
    if a is None:
        return "only in B"
    if b is None:
        return "only in A"
    return "same" if a.sha256 == b.sha256 else "changed"


def _predictions(a: TaskRow | None, b: TaskRow | None) -> tuple[list[ChangedPrediction], int, int, int]:
    if a is None or b is None or a.per_example is UNSET or b.per_example is UNSET:
        return [], 0, 0, 0
    earlier = {(example.id, example.attempt): example for example in a.per_example}
    pairs = [(earlier[key], now) for now in b.per_example if (key := (now.id, now.attempt)) in earlier]
    changed = [_changed(then, now) for then, now in pairs if _differs(then, now)]
    both = [(then.score, now.score) for then, now in pairs if then.score is not None and now.score is not None]
    return changed, len(pairs), sum(now > then for then, now in both), sum(now < then for then, now in both)


def _differs(then: PerExample, now: PerExample) -> bool:
    return then.prediction != now.prediction or then.score != now.score


def _changed(then: PerExample, now: PerExample) -> ChangedPrediction:
    return ChangedPrediction(
        id=now.id,
        attempt=now.attempt,
        score_a=then.score,
        score_b=now.score,
        prediction_a=then.prediction if then.failure is None else then.failure,
        prediction_b=now.prediction if now.failure is None else now.failure,
        same_prompt=then.prompt == now.prompt,
    )


def _moved(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else b - a


def _settings_changed(a: Leaderboard, b: Leaderboard) -> list[str]:
    said = []
    for what, before, after in (("model", a.model, b.model), ("setting", a.settings, b.settings)):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                said.append(f"{what} {key}: {before.get(key)!r} → {after.get(key)!r}")
    return said
