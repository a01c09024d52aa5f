"""A sandbox is whatever runs programs: what scores them knows no more of it."""

from __future__ import annotations

import asyncio

import pytest

from assay.core.types import Sample, Trace
from assay.sandbox import Limits, Outcome, Program, Rehearsal, SandboxReport
from assay.sandbox.rehearsal import SOUND
from assay.scorers import code_exec as module
from assay.scorers.code_exec import code_exec


class Elsewhere:
    """Another sandbox, such as one on another machine: every second check of a program holds there."""

    report = SandboxReport(tier="E", description="elsewhere", layers={})
    limits: Limits | None = None
    closed = False

    def start_here(self) -> None: ...

    async def run(self, program: Program, limits: Limits) -> Outcome:
        self.limits = limits
        return Outcome(outcome="pass", checks=(), share=0.5, tier="E")

    async def rehearse(self, program: Program, limits: Limits) -> Rehearsal:
        return SOUND

    async def aclose(self) -> None:
        self.closed = True


def test_programs_run_in_whatever_keeps_the_seam_of_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = Elsewhere()
    monkeypatch.setattr(module, "_shared", module._Shared(lambda min_tier: elsewhere))
    assert code_exec("started").start_here() == Elsewhere.report
    scorer = code_exec("scores", cpu_seconds=2.0)
    sample = Sample(id="1", extras={"io_pairs": [[1, 1], [2, 3]]})
    found = asyncio.run(scorer(sample, Trace(prediction="def f(x): return x")))
    assert found.values["score"] == 0.5
    assert elsewhere.limits is not None
    assert elsewhere.limits.cpu_seconds == 2.0
