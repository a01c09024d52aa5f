"""Programs run to their end in a sandbox."""

from __future__ import annotations

import asyncio

from assay.sandbox import Limits, Outcome, Program, Sandbox

FAST = Limits(cpu_seconds=0.5, wall_seconds=3)


def run(sandbox: Sandbox, program: Program, limits: Limits = FAST) -> Outcome:
    return asyncio.run(sandbox.run(program, limits))


def outcomes(outcome: Outcome) -> list[str]:
    return [check.outcome for check in outcome.checks]
