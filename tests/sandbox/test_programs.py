"""The four shapes of program, and what their outcomes say."""

from __future__ import annotations

import sys

import pytest
from tests.sandbox.running import outcomes, run

from assay.core.errors import FailureError
from assay.sandbox import Expressions, IoPairs, Sandbox, TestProgram

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def test_pairs_from_json_match_tuples_unless_strict(sandbox: Sandbox) -> None:
    code = "def f(x): return (x, (x,))"
    assert run(sandbox, IoPairs(code=code, pairs=((1, [1, [1]]),))).outcome == "pass"
    assert run(sandbox, IoPairs(code=code, pairs=((1, [1, [1]]),), strict=True)).outcome == "wrong"


def test_expressions_are_true_or_not_each_by_itself(sandbox: Sandbox) -> None:
    targets = ("f(2) == 4", "f(3) > 100", "g(1)", "f('a') == 'aa'", "sorted(f([2, 1])) == [1, 1, 2, 2]")
    outcome = run(sandbox, Expressions(code="def f(x): return x * 2", targets=targets))
    assert outcomes(outcome) == ["pass", "wrong", "wrong", "pass", "pass"]
    assert "NameError" in outcome.checks[2].detail


def test_separable_assertions_count_each(sandbox: Sandbox) -> None:
    tests = "import math\nassert f(4) == 2\nassert math.isclose(f(2), 1.41421, rel_tol=1e-3)\nassert f(9) == 4"
    outcome = run(sandbox, TestProgram(code="def f(x): return x ** 0.5", tests=tests))
    assert outcomes(outcome) == ["pass", "pass", "wrong"]


def test_a_bare_continuation_of_the_prelude_runs(sandbox: Sandbox) -> None:
    prelude = 'from typing import List\n\ndef total(xs: List[int]) -> int:\n    """Sum."""\n'
    for code in ("    return sum(xs)\n", "def total(xs: List[int]):\n    return sum(xs)\n"):
        program = TestProgram(code=code, prelude=prelude, tests="assert total([1, 2]) == 3", entry_points=("total",))
        assert run(sandbox, program).outcome == "pass"


def test_a_test_that_looks_inside_is_refused_or_weak(sandbox: Sandbox) -> None:
    tests = "import inspect\nassert 'while' not in inspect.getsource(f)\nassert f(1) == 1"
    with pytest.raises(FailureError, match="inspect"):
        run(sandbox, TestProgram(code="def f(x): return x", tests=tests))
    weak = run(sandbox, TestProgram(code="def f(x): return x", tests=tests, unsplittable="weak"))
    assert (weak.outcome, weak.grade) == ("pass", "weak")


def test_whether_a_test_can_be_split_does_not_depend_on_the_answers(sandbox: Sandbox) -> None:
    tests = "def check(c):\n    assert c(1, 2) == 3\n    assert c(lambda n: n, 2) == 2\n"
    for code in ("def f(g, x): return 0", "def f(g, x): return x", "f = 1", "1 / 0"):
        with pytest.raises(FailureError, match="function"):
            run(sandbox, TestProgram(code=code, tests=tests, entry_points=("f",)))
