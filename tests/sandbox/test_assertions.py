"""Reading tests: plain calls where possible, a verifier where not, and whose names are whose."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from assay.sandbox.assertions import Call, plan_expressions, plan_tests


def test_a_call_and_a_literal_become_data() -> None:
    plan = plan_expressions(["f(1, [2, {'a': None}], k=-3) == (1.5, {2})"], "")
    assert plan.calls == (Call(function="f", arguments=(1, [2, {"a": None}]), named={"k": -3}, expected=(1.5, {2})),)


@pytest.mark.parametrize(
    "target",
    [
        "f(1)",
        "f(1) > 2",
        "1 == f(1)",
        "f(g(1)) == 2",
        "f(1) == f(2)",
        "f(1) == x",
        "not f(1)",
        "f(*[1]) == 1",
        "a.f(1) == 1",
    ],
)
def test_everything_else_needs_a_verifier(target: str) -> None:
    assert plan_expressions([target], "").calls is None


def test_names_nobody_else_defined_are_the_candidates() -> None:
    tests = "import math\nhelper = 1\ndef g(a):\n    return [b for b in a]\nassert f(K) == g([helper])"
    assert plan_tests(tests, "", ()).names == ("f", "K")
    assert plan_tests("assert f(helper(1)) == 1", "def helper(x): return x", ()).names == ("f",)


def test_a_module_the_test_forgot_to_import_is_pythons_own() -> None:
    plan = plan_tests("assert math.isclose(f(1), 1)", "", ())
    assert plan.names == ("f",)
    assert "import math" in plan.setup


def test_a_function_named_like_a_builtin_is_the_candidates_when_nothing_else_is() -> None:
    assert plan_tests("assert sum(10, 15) == 6", "", ()).names == ("sum",)
    assert plan_tests("assert sum(f(10)) == 6", "", ()).names == ("f",)


def test_assertions_and_imports_are_separable_and_nothing_else_is() -> None:
    assert len(plan_tests("import math\nassert f(1) > 1\nassert f(2) > 1", "", ()).labels) == 2
    assert plan_tests("x = f(1)\nassert x == 1\nassert x", "", ()).labels == ("tests",)


def test_humaneval_checks_of_plain_calls_need_no_verifier() -> None:
    tests = "METADATA = {}\ndef check(c):\n    assert True\n    assert c(1) == 2, 'why'\n    assert c(2) == 3\n"
    plan = plan_tests(tests, "", ("f",))
    assert plan.calls is not None
    assert [call.function for call in plan.calls] == ["f", "f"]
    assert plan.whole
    loop = "def check(candidate):\n    for n in range(3):\n        assert candidate(n) == n\n"
    assert plan_tests(loop, "", ("f",)).calls is None
    assert "check(f)" in plan_tests(loop, "", ("f",)).sources[0]


def test_a_check_that_names_data_is_distinguished_from_one_that_calls() -> None:
    plan = plan_tests("assert K == 1\nassert f(2) > K\nassert f(3) > 1", "", ())
    assert [plan.mentions(check, {"K"}, called=False) for check in range(3)] == [True, True, False]
    assert [plan.mentions(check, {"f"}, called=False) for check in range(3)] == [False, False, False]
    assert [plan.mentions(check, {"f"}, called=True) for check in range(3)] == [False, True, True]


def test_tests_are_run_together_only_by_their_text_and_only_when_that_is_allowed() -> None:
    passes = plan_tests("assert f(lambda n: n) == 1", "", ())
    assert "function" in passes.unsplittable()
    assert not passes.run_together()
    assert replace(passes, may_run_together=True).run_together()
    assert replace(plan_tests("assert P(1) == P(1)", "", ()), may_run_together=True).run_together()
    assert not replace(plan_tests("assert f(1) == f(1)", "", ()), may_run_together=True).run_together()
