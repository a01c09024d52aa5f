"""What confined model-written code on each machine that worked on a run: one small file per machine in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.run_file import RunFile

FOLDER = "sandboxes"


def sandbox_of(folder: Path, run_file: RunFile) -> dict[str, Any] | None:
    """The weakest protection that any machine had; `machines` says what each had, where there were several."""
    found = _recorded(folder)
    if run_file.sandbox is not None and run_file.sandbox not in found.values():
        found = {"first": run_file.sandbox, **found}
    if not found:
        return None
    weakest = max(found.values(), key=lambda report: _weakness(report.get("tier")))
    if len(found) == 1:
        return weakest
    return {**weakest, "machines": {name: report.get("tier") for name, report in found.items()}}


def told_of(sandbox: dict[str, Any] | None) -> list[str]:
    """A sentence where machines differ in what they stopped."""
    tiers = (sandbox or {}).get("machines", {})
    if len(set(tiers.values())) < 2:
        return []
    return ["model-written code ran in sandboxes of several tiers: " + ", ".join(f"{k} {v}" for k, v in tiers.items())]


def _recorded(folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((folder / FOLDER).glob("*.json")):
        try:
            found[path.stem] = msgspec.json.decode(read_regular(path), type=dict[str, Any])
        except (OSError, UsageError, msgspec.MsgspecError, UnicodeDecodeError):
            continue  # about a finished run; not worth failing a report for
    return found


def _weakness(tier: object) -> int:
    from assay.sandbox.tiers import STRONGEST_FIRST  # most runs have nothing to confine

    return STRONGEST_FIRST.index(tier) if tier in STRONGEST_FIRST else len(STRONGEST_FIRST)
