"""Between a verifier and a candidate: what a test passes and what comes back."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from tests.sandbox.running import run

from assay.core.errors import FailureError
from assay.sandbox import IoPairs, Limits, Sandbox, TestProgram, session, trial

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def test_a_test_that_passes_a_function_is_refused_or_weak(sandbox: Sandbox) -> None:
    tests = "result = apply(lambda n: n + 1, 2)\nassert result == 3"
    code = "def apply(g, x): return g(x)"
    with pytest.raises(FailureError, match="function"):
        run(sandbox, TestProgram(code=code, tests=tests))
    weak = run(sandbox, TestProgram(code=code, tests=tests, unsplittable="weak"))
    assert (weak.outcome, weak.grade) == ("pass", "weak")


def test_a_test_that_turns_out_to_pass_code_is_refused_before_an_answer_and_wrong_after(sandbox: Sandbox) -> None:
    code = "def f(x): return [1]"
    with pytest.raises(FailureError, match="partial"):
        run(sandbox, TestProgram(code=code, tests="import functools\nassert f(functools.partial(len)) == [1]"))
    outcome = run(sandbox, TestProgram(code=code, tests="r = f(1)\nassert f(r.pop) == [1]"))
    assert outcome.outcome == "wrong"
    assert "cannot be split" in outcome.checks[0].detail


COSTLY = {
    "fractions": ["F", [7, 3]],
    "decimals": ["D", 0, "3", -1000],
    "dates": ["da", [1, 1, 1]],
    "empty lists": ["l", []],
    "bytes": ["b", ""],
}


FLOOD = """
import sys
F = sys.modules['_assay_inside.frames']
send, tree = F.send, ['l', [{leaf}] * (1_000_000 // (len(repr({leaf})) + 2))]
F.send = lambda m: send({{**m, 'value': tree}} if 'value' in m else m)
def f(x): return 1
"""


@pytest.mark.parametrize("leaf", COSTLY.values(), ids=COSTLY.keys())
def test_reading_what_a_candidate_sends_has_a_bound(
    sandbox: Sandbox, leaf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the harness's own CPU time: each reply is as large and as slow to read as it may be.

    A quarter of what a candidate may send and make us work, in a quarter of the time.
    """
    monkeypatch.setattr(session, "MAX_REPLIES", session.MAX_REPLIES // 4)
    monkeypatch.setattr(trial, "MAX_WORK", trial.MAX_WORK // 4)
    expected = [0.5] * (1_000_000 // (len(repr(leaf)) + 2))
    program = IoPairs(code=FLOOD.format(leaf=leaf), pairs=tuple((n, expected) for n in range(100)))
    before = time.process_time()
    outcome = run(sandbox, program, Limits(cpu_seconds=60))
    assert outcome.outcome == "output_limit"
    assert time.process_time() - before < 2.5


def test_an_object_in_place_of_a_value_is_wrong_and_not_a_failure(sandbox: Sandbox) -> None:
    code = "class T:\n    def __lt__(s, o): return True\n    def __eq__(s, o): return True\ndef f(x): return T()"
    for tests in ("x = f(1)\nassert x < 5", "x = f(1)\nassert x + 1 == 2", "x = f(1)\nassert x == f(2)"):
        assert run(sandbox, TestProgram(code=code, tests=tests)).outcome == "wrong"
