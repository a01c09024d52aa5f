"""What differs between two runs apart from their answers, in words."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from assay.core.run_file import RunFile
from assay.reports.board.types import Leaderboard
from assay.reports.diff.words import repeats_name
from assay.wording import shortened

HASH = re.compile(r"[0-9a-f]{32,}")


def changes_between(before: RunFile, after: RunFile, boards: tuple[Leaderboard, Leaderboard]) -> list[str]:
    """Model, prompt, questions, scoring, settings and versions, each as one short text."""
    found = [_named("model", before.model["name"], after.model["name"])]
    found += _tasks(*boards)
    models = (before.model, after.model)
    for was, now in (models, (before.settings, after.settings)):
        keys = sorted(key for key in {*was, *now} if key != "name" and not repeats_name(key, *models))
        found += [_named(key, was.get(key), now.get(key)) for key in keys]
    found += [
        _named(f"{name} version", before.versions.get(name), after.versions.get(name))
        for name in sorted({*before.versions, *after.versions})
    ]
    return [each for each in found if each]


def _tasks(before: Leaderboard, after: Leaderboard) -> list[str]:
    rows = {row.task: row for row in before.tasks}
    found = []
    for row in after.tasks:
        was = rows.get(row.task)
        if was is None:
            continue  # runs of other tasks are not part of this history
        parts = (("prompt", was.asking, row.asking), ("questions", was.sha256, row.sha256))
        changed = [what for what, one, other in (*parts, ("scoring", was.scoring, row.scoring)) if one != other]
        if changed:
            found.append(f"{row.task}: other {' and '.join(changed)}")
    return found


def _named(what: str, was: Any, now: Any) -> str:
    return "" if was == now else f"{what} {_shown(was)} → {_shown(now)}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text[:8] if HASH.fullmatch(text) else shortened(text, 60)
