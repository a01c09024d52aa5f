"""What differs between two runs apart from their answers, in words."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from assay.results.board.board_types import Leaderboard
from assay.results.board.stretches import served_changes
from assay.results.diff.sentences import repeats_name
from assay.run_file import RunFile
from assay.text.wording import shortened

HASH = re.compile(r"[0-9a-f]{32,}")


def changes_between(before: RunFile, after: RunFile, boards: tuple[Leaderboard, Leaderboard]) -> list[str]:
    """Model, prompt, questions, scoring, settings and versions, each as one short text."""
    changes = [_named("model", before.model["name"], after.model["name"])]
    changes += _tasks(*boards)
    models = (before.model, after.model)
    for was, now in (models, (before.settings, after.settings)):
        keys = sorted(key for key in {*was, *now} if key != "name" and not repeats_name(key, *models))
        changes += [_named(key, was.get(key), now.get(key)) for key in keys]
    changes += [
        _named(f"{name} version", boards[0].versions.get(name), boards[1].versions.get(name))
        for name in sorted({*boards[0].versions, *boards[1].versions})
    ]
    changes += served_changes(boards[0].stretches, boards[1].stretches)
    return [change for change in changes if change]


def _tasks(before: Leaderboard, after: Leaderboard) -> list[str]:
    rows = {row.task: row for row in before.tasks}
    changes = []
    for row in after.tasks:
        was = rows.get(row.task)
        if was is None:
            continue  # not part of this history
        fields = {"prompt": "asking", "questions": "sha256", "scoring": "scoring", "judging": "judging"}
        changed = [name for name, field in fields.items() if getattr(was, field) != getattr(row, field)]
        if changed:
            changes.append(f"{row.task}: other {' and '.join(changed)}")
    return changes


def _named(what: str, was: Any, now: Any) -> str:
    return "" if was == now else f"{what} {_shown(was)} → {_shown(now)}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text[:8] if HASH.fullmatch(text) else shortened(text, 60)
