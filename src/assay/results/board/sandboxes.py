"""What confined model-written code on each machine that worked on a run: one small file per machine in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from assay.catalog import LOCAL_SANDBOX
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.run_file import RunFile

FOLDER = "sandboxes"


def sandbox_of(folder: Path, run_file: RunFile) -> dict[str, Any] | None:
    """The weakest protection that any machine had, with the tier of each under `machines` where there were several."""
    reports = _recorded(folder)
    if run_file.sandbox is not None and run_file.sandbox not in reports.values():
        reports = {"first": run_file.sandbox, **reports}
    if not reports:
        return None
    weakest = max(reports.values(), key=lambda report: _weakness(report.get("tier")))
    if len(reports) == 1:
        return weakest
    return {**weakest, "machines": {name: report.get("tier") for name, report in reports.items()}}


def sandbox_notices(sandbox: dict[str, Any] | None) -> list[str]:
    """Notices of a sandbox that is not assay's own, and where machines had different tiers."""
    said = sandbox or {}
    tiers, notices = said.get("machines", {}), []
    if (name := said.get("sandbox", LOCAL_SANDBOX)) != LOCAL_SANDBOX:
        notices.append(
            f"model-written code ran in the sandbox `{name}`, which is not assay's own and gave the verdicts: "
            f"tier {said.get('tier')} ({said.get('description')})"
        )
    if len(set(tiers.values())) > 1:
        listed = ", ".join(f"{machine} {tier}" for machine, tier in tiers.items())
        notices.append(f"model-written code ran in sandboxes of several tiers: {listed}")
    return notices


def _recorded(folder: Path) -> dict[str, dict[str, Any]]:
    reports: dict[str, dict[str, Any]] = {}
    for path in sorted((folder / FOLDER).glob("*.json")):
        try:
            reports[path.stem] = msgspec.json.decode(read_regular(path), type=dict[str, Any])
        except (OSError, UsageError, msgspec.MsgspecError, UnicodeDecodeError):
            continue  # not worth failing a report for
    return reports


def _weakness(tier: object) -> int:
    from assay.sandbox.tiers import STRONGEST_FIRST  # most runs have nothing to confine

    return STRONGEST_FIRST.index(tier) if tier in STRONGEST_FIRST else len(STRONGEST_FIRST)
