"""The sandboxes of a process: one for each that is asked for, assay's own or the one that the user has named.

Whoever judges programs decides scores, so another sandbox is the user's choice alone: no task file names one. It is
refused where it is weaker than asked for, and its report is recorded under the name that the user gave.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from assay import catalog
from assay.core.errors import FailureError, UsageError
from assay.core.types import Failure
from assay.sandbox import Limits, Outcome, Program, Rehearsal, SandboxRefusedError, SandboxReport
from assay.sandbox.seam import RunsPrograms
from assay.sandbox.tiers import DEFAULT_MIN_TIER, refuse_unallowed, strictest, unmet
from assay.text.tracebacks import describe_exception

Said = TypeVar("Said")


class WantedSandbox(NamedTuple):
    """Which sandbox is asked for."""

    sandbox: str | None
    """A name of the catalog, or `module:name`; None: assay's own."""
    min_tier: str | None
    """The weakest tier that may run the programs; None: none is asked for of a sandbox that is not assay's own."""


def wanted_sandbox(sandbox: str | None, *tiers: str | None) -> WantedSandbox:
    """Of the tiers that task and user ask for the strictest; of assay's own sandbox the default one, if they do not."""
    return WantedSandbox(sandbox, strictest(*tiers) or (DEFAULT_MIN_TIER if sandbox is None else None))


class NamedSandbox:
    """A sandbox that the user has named: started before its first program, and believed only what it can say."""

    def __init__(self, wanted: WantedSandbox, sandbox: RunsPrograms) -> None:
        self._name, self._min_tier = wanted.sandbox or "", wanted.min_tier
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._report: SandboxReport | None = None

    @property
    def report(self) -> SandboxReport:
        if self._report is None:
            raise RuntimeError("the sandbox has not been started")
        return self._report

    def start_here(self) -> None:
        with self._lock:
            if self._report is not None:
                return
            refuse_unallowed(self._min_tier)
            try:
                self._sandbox.start_here()
                report = self._checked(self._sandbox.report, SandboxReport)
            except UsageError as error:
                raise SandboxRefusedError(f"the sandbox `{self._name}`: {error}") from error
            except Exception as error:
                raise SandboxRefusedError(
                    f"the sandbox `{self._name}` cannot be started: {describe_exception(error)}"
                ) from error
            if problem := unmet(report.tier, self._min_tier):
                raise SandboxRefusedError(f"the sandbox `{self._name}` is {problem}")
            self._report = replace(report, sandbox=self._name)

    async def run(self, program: Program, limits: Limits) -> Outcome:
        await asyncio.to_thread(self.start_here)
        outcome = self._checked(await self._sandbox.run(program, limits), Outcome)
        if not 0.0 <= outcome.share <= 1.0:
            raise self._failure(f"gave a share of {outcome.share} of the checks, which is none between 0 and 1")
        return outcome

    async def rehearse(self, program: Program, limits: Limits) -> Rehearsal:
        await asyncio.to_thread(self.start_here)
        return self._checked(await self._sandbox.rehearse(program, limits), Rehearsal)

    async def aclose(self) -> None:
        await self._sandbox.aclose()

    def _checked(self, said: Said, kind: type[Said]) -> Said:
        if not isinstance(said, kind):
            raise self._failure(f"gave {type(said).__name__}, not {kind.__name__}")
        return said

    def _failure(self, problem: str) -> FailureError:
        message = f"the sandbox `{self._name}` {problem}"
        return FailureError(Failure(stage="sandbox", kind="sandbox_broken", part="code_exec", message=message))


def make_sandbox(wanted: WantedSandbox) -> RunsPrograms:
    """The sandbox behind a name of the catalog, not started. It is made with a `min_tier` where one is asked for."""
    make = catalog.resolve("sandbox", wanted.sandbox or catalog.LOCAL_SANDBOX, own_code=True)
    made: RunsPrograms = make() if wanted.min_tier is None else make(min_tier=wanted.min_tier)
    return made if wanted.sandbox is None else NamedSandbox(wanted, made)


class SharedSandboxes:
    """One sandbox per process and what is asked for, made when first needed, closed when nothing uses it."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._sandboxes: dict[WantedSandbox, RunsPrograms] = {}
        self._holders: dict[WantedSandbox, int] = {}

    def hold(self, wanted: WantedSandbox) -> None:
        if self._pid != os.getpid():  # a forked process has none of the parent's threads
            self.__init__()  # type: ignore[misc]  # start over, as a new process should
        self._holders[wanted] = self._holders.get(wanted, 0) + 1

    def sandbox(self, wanted: WantedSandbox) -> RunsPrograms:
        if wanted not in self._sandboxes:
            self._sandboxes[wanted] = make_sandbox(wanted)
        return self._sandboxes[wanted]

    async def release(self, wanted: WantedSandbox) -> None:
        self._holders[wanted] -= 1
        if self._holders[wanted] == 0 and wanted in self._sandboxes:
            await self._sandboxes.pop(wanted).aclose()


SHARED = SharedSandboxes()
