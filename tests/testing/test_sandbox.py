"""The contract of a sandbox: kept by assay's own, and every clause broken by one that confines nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.testing.broken import broken_by, clauses, leave_open

from assay.sandbox import IoPairs, Limits, Outcome, Program, Rehearsal, Sandbox, SandboxReport
from assay.sandbox.rehearsal import SOUND
from assay.sandbox.tiers import unmet
from assay.testing import check_sandbox
from assay.testing import sandbox as contract


class InThisProcess:
    """No sandbox at all: programs run here, with all that is here. The classes below break one clause each."""

    tier = "E"

    def __init__(self, min_tier: str | None = None) -> None:
        self.min_tier = min_tier

    def start_here(self) -> None:
        if unmet(self.tier, self.min_tier):
            raise contract.SandboxRefusedError("only tier E here")

    @property
    def report(self) -> SandboxReport:
        return SandboxReport(tier=self.tier, description="this process", layers={})

    async def run(self, program: Program, limits: Limits) -> Outcome:
        assert isinstance(program, IoPairs)
        if "while True" in program.code or "_exit" in program.code:
            return outcome_of(0.0)
        space: dict[str, Any] = {}
        try:
            exec(program.code, space)
            held = [space["f"](value) == expected for value, expected in program.pairs]
        except (Exception, MemoryError):
            return outcome_of(0.0)
        return outcome_of(sum(held) / len(held))

    async def rehearse(self, program: Program, limits: Limits) -> Rehearsal:
        return Rehearsal(problem="broken_test") if "undefined_name" in str(program) else SOUND

    async def aclose(self) -> None: ...


def outcome_of(share: float) -> Outcome:
    return Outcome(outcome="pass" if share == 1.0 else "wrong", checks=(), share=share, tier="E")


class Nameless(InThisProcess):
    tier = ""


class Boastful(InThisProcess):
    def start_here(self) -> None: ...


class Generous(InThisProcess):
    async def run(self, program: Program, limits: Limits) -> Outcome:
        return outcome_of(1.0)


class Fragile(InThisProcess):
    async def run(self, program: Program, limits: Limits) -> Outcome:
        if "while True" in str(program):
            raise TimeoutError
        return await super().run(program, limits)


class Closed(InThisProcess):
    """Confines by reading the program, which is good enough to get to the clause it is to break."""

    shut: tuple[str, ...] = ()

    async def run(self, program: Program, limits: Limits) -> Outcome:
        shut = any(word in str(program) for word in self.shut)
        return outcome_of(0.0) if shut else await super().run(program, limits)


class OpenPort(Closed):
    shut = ("open(",)


class Shared(Closed):
    shut = ("open(", "socket")


class Apart(Closed):
    shut = ("open(", "socket")

    async def run(self, program: Program, limits: Limits) -> Outcome:
        return outcome_of(1.0) if "hasattr" in str(program) else await super().run(program, limits)


class Credulous(Apart):
    async def rehearse(self, program: Program, limits: Limits) -> Rehearsal:
        return SOUND


class Leaking(Apart):
    async def run(self, program: Program, limits: Limits) -> Outcome:
        leave_open()
        return await super().run(program, limits)


BROKEN: dict[str, type[InThisProcess]] = {
    "says what confines programs": Nameless,
    "refuses a tier that it does not have": Boastful,
    "passes a right program and no wrong one": Generous,
    "ends a program at its limits with an outcome": Fragile,
    "lets no program read or write a file of the host": InThisProcess,
    "lets no program reach a port of the host": OpenPort,
    "keeps programs apart": Shared,
    "finds tests that cannot judge": Credulous,
    "leaves nothing open": Leaking,
}


def test_the_sandbox_of_assay_keeps_the_contract() -> None:
    """Eight sandboxes are started, which takes over a second: the contract is what strangers are held to."""
    check_sandbox(lambda **asked: Sandbox(workers=1, **asked))


@pytest.mark.parametrize("clause", BROKEN)
def test_a_sandbox_that_breaks_a_clause_is_told_which(clause: str) -> None:
    broken = broken_by(lambda: check_sandbox(BROKEN[clause]))
    assert broken.clause == clause


def test_every_clause_is_shown_to_be_able_to_fail() -> None:
    assert set(BROKEN) == clauses(contract.CLAUSES)
