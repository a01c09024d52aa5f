"""The result of a gate: met, not met, or cannot tell, and why."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.stats.margins import GateOutcome
from assay.stats.paired_evidence import Basis


class GateResult(Struct, frozen=True, kw_only=True):
    """One gate, checked."""

    gate: str
    outcome: GateOutcome
    """`cannot tell`: the evidence is missing, or too weak, to say either."""
    sentences: list[str]
    """The detail: why it is not met, why it cannot tell, or what it compared."""
    basis: Basis | None = None
    """What the outcome rests on; null where the gate could not be checked."""
    ignored: str = ""
    """How many attempts were left out of the run, and ignored because the user said so."""

    @property
    def met(self) -> bool:
        return self.outcome == "met"


def broken_gates(results: Sequence[GateResult], *, cannot_tell_passes: bool = False) -> list[GateResult]:
    """Those that make the exit code 1."""
    fine = ("met", "cannot tell") if cannot_tell_passes else ("met",)
    return [result for result in results if result.outcome not in fine]
