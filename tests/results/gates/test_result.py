"""Which gates break a build: those not met, and those that cannot tell unless that is said to pass."""

from __future__ import annotations

import pytest

from assay.results.gates.result import GateResult, broken_gates

RESULTS = [
    GateResult(gate=outcome, outcome=outcome, sentences=[])  # type: ignore[arg-type]
    for outcome in ("met", "not met", "cannot tell")
]


@pytest.mark.parametrize(("cannot_tell_passes", "broken"), [(False, ["not met", "cannot tell"]), (True, ["not met"])])
def test_doubt_is_no_pass_unless_it_was_said_to_be(cannot_tell_passes: bool, broken: list[str]) -> None:
    assert [each.gate for each in broken_gates(RESULTS, cannot_tell_passes=cannot_tell_passes)] == broken
    assert [each.met for each in RESULTS] == [True, False, False]
