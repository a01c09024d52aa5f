"""The candidate's objects as the tests see them: they do not compare themselves and never answer for themselves."""

from __future__ import annotations

import sys

import pytest
from tests.sandbox.running import run

from assay.sandbox import Sandbox, TestProgram

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def test_an_object_that_certifies_itself_is_weak(sandbox: Sandbox) -> None:
    code = "class P:\n    def same(self, other): return True\n    def __bool__(self): return True\ndef f(): return P()"
    assert run(sandbox, TestProgram(code=code, tests="assert f().same(42)")).grade == "weak"
    assert run(sandbox, TestProgram(code=code, tests="x = f()\nassert x")).grade == "weak"


def test_objects_of_the_candidates_own_classes_do_not_compare_themselves(sandbox: Sandbox) -> None:
    honest = "class P:\n    def __init__(s, x): s.x = x\n    def __eq__(s, o): return s.x == o.x\n"
    honest += "    def __add__(s, o): return P(s.x + o.x)\n"
    tests = "a = P(1) + P(2)\nassert a == P(3)"
    strict = run(sandbox, TestProgram(code=honest, tests=tests))
    assert strict.outcome == "wrong"
    assert "unsplittable: weak" in strict.checks[0].detail
    weak = run(sandbox, TestProgram(code=honest, tests=tests, unsplittable="weak"))
    assert (weak.outcome, weak.grade) == ("pass", "weak")


def test_objects_that_the_text_does_not_compare_never_answer(sandbox: Sandbox) -> None:
    code = "class Yes:\n    def __eq__(s, o): return True\ndef f(x): return Yes()"
    for unsplittable in ("refuse", "weak"):
        outcome = run(sandbox, TestProgram(code=code, tests="r = f(1)\nassert r == f(2)", unsplittable=unsplittable))
        assert outcome.outcome == "wrong"
        assert "objects of the candidate's own classes" in outcome.checks[0].detail


def test_identity_is_answered_where_the_test_asks_for_it(sandbox: Sandbox) -> None:
    single = (
        "class S:\n    it = None\n    def __new__(c):\n        c.it = c.it or object.__new__(c)\n        return c.it"
    )
    fresh = "class S: pass"
    for code, same in ((single, True), (fresh, False)):
        for tests, expected in (("assert S() is S()", same), ("assert S() is not S()", not same)):
            outcome = run(sandbox, TestProgram(code=code, tests=tests))
            assert (outcome.outcome == "pass", outcome.grade) == (expected, "strong")
