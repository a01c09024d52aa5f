"""The seam between a sandbox and what has programs judged in it: a part of the catalog, of the kind `sandbox`.

Another way to confine programs needs these methods, is made without arguments or with a `min_tier`, and is chosen by
the user alone (`--sandbox`). `assay.testing.check_sandbox` tries it.
"""

from __future__ import annotations

from typing import Protocol

from assay.sandbox.programs import Limits, Outcome, Program
from assay.sandbox.rehearsal import Rehearsal
from assay.sandbox.tiers import SandboxReport


class RunsPrograms(Protocol):
    """Runs untrusted programs, each apart from all others and from this process; `sandbox/pool.py` has assay's own."""

    def start_here(self) -> None:
        """Start it, blocking. `SandboxRefusedError` where this machine cannot confine programs as strictly as asked."""
        ...

    @property
    def report(self) -> SandboxReport:
        """What confines programs, once it has been started."""
        ...

    async def run(self, program: Program, limits: Limits) -> Outcome:
        """The outcome of a program, whatever it does. `FailureError` when nothing can be said about it."""
        ...

    async def rehearse(self, program: Program, limits: Limits) -> Rehearsal:
        """Whether the test of a program can judge anything; `program` has no code of a model."""
        ...

    async def aclose(self) -> None:
        """End everything that runs in it."""
        ...
