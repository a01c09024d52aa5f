"""The judge: shares, exceptions, whole tests, and tests that cannot be used."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.sandbox.running import outcomes, run

from assay.core.errors import FailureError
from assay.sandbox import Expressions, IoPairs, Sandbox, Stdout, TestProgram

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def test_the_share_is_that_of_the_checks_that_hold(sandbox: Sandbox) -> None:
    outcome = run(sandbox, IoPairs(code="def f(x): return x * 2", pairs=((1, 2), (2, 5), (3, 6), (4, 9))))
    assert (outcome.share, outcome.outcome, outcome.grade) == (0.5, "wrong", "strong")
    assert outcomes(outcome) == ["pass", "wrong", "pass", "wrong"]
    assert outcome.checks[1].detail == "expected 5, got 4"
    assert outcome.checks[1].label == "f(2)"


def test_an_exception_in_one_call_leaves_the_others_alone(sandbox: Sandbox) -> None:
    outcome = run(sandbox, IoPairs(code="def f(x): return 1 // x", pairs=((1, 1), (0, 0), (-1, -1))))
    assert outcomes(outcome) == ["pass", "runtime_error", "pass"]
    assert "ZeroDivisionError" in outcome.checks[1].detail
    assert "line 1" in outcome.checks[1].detail


def test_plain_calls_need_no_second_process(sandbox: Sandbox) -> None:
    cheap = run(sandbox, Expressions(code="def f(x): return x", targets=("f(1) == 1", "f(x=2) == 2")))
    assert outcomes(cheap) == ["pass", "pass"]


def test_other_tests_are_all_or_nothing(sandbox: Sandbox) -> None:
    tests = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 3\n"
    wrong = TestProgram(code="def f(x): return 2", tests=tests, entry_points=("f",))
    right = TestProgram(code="def f(x): return x + 1", tests=tests, entry_points=("f",))
    assert run(sandbox, wrong).share == 0.0
    assert "expected 3, got 2" in run(sandbox, wrong).checks[0].detail
    assert run(sandbox, right).share == 1.0


UNUSABLE = [
    (TestProgram(code="", tests="assert 1 == 1"), "never use"),
    (TestProgram(code="", tests="assert f(1 =="), "not Python"),
    (TestProgram(code="", tests="x = 1", entry_points=("f",)), "never use"),
    (TestProgram(code="def f(): 1", prelude="import nowhere", tests="x = f()\nassert x"), "prelude does not run"),
    (Expressions(code="", targets=()), "nothing to check"),
    (Expressions(code="", targets=("f(",)), "not Python"),
    (IoPairs(code="", pairs=()), "no pair"),
    (IoPairs(code="", pairs=((1, 2),), star=True), "list of arguments"),
    (Stdout(code="", expected=()), "no expected output"),
    (Stdout(code="", stdin=("a", "b"), expected=("a",)), "2 inputs but 1"),
]


@pytest.mark.parametrize(("program", "words"), UNUSABLE, ids=range(len(UNUSABLE)))
def test_an_unusable_test_is_a_failure_not_a_score(sandbox: Sandbox, program: Any, words: str) -> None:
    with pytest.raises(FailureError, match=words) as caught:
        run(sandbox, program)
    assert caught.value.failure.kind in ("broken_test", "unsupported")


def test_the_same_program_gives_the_same_answer(sandbox: Sandbox) -> None:
    code = "import random\ndef f(x): return [random.random(), hash('a'), list({'x', 'y', 'z'})]"
    told = {run(sandbox, IoPairs(code=code, pairs=((1, 0),))).checks[0].detail for _ in range(3)}
    assert len(told) == 1
