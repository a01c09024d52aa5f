"""Whether a test can be kept apart from the candidate is read from its text, before the candidate says anything."""

from __future__ import annotations

import ast

import pytest

from assay.sandbox.splitting import TraitsOfTest, looks_inside, read


def reading(tests: str, *names: str, prelude: str = "") -> TraitsOfTest:
    return read(ast.walk(ast.parse(tests)), ast.walk(ast.parse(prelude)), names or ("f",))


@pytest.mark.parametrize(
    "tests",
    [
        "assert f(lambda n: n, 1) == 1",
        "assert f(1, key=lambda n: n) == 1",
        "assert f([1, (lambda: 2)]) == 1",
        "assert f(n for n in [1]) == 1",
        "assert f(map(int, '12')) == 1",
        "assert f(len, [1]) == 1",
        "assert f(ValueError) == 1",
        "def helper(): pass\nassert f(helper) == 1",
        "class Node: pass\nassert f(Node()) == 1",
        "class Node: pass\nassert f({'a': Node()}) == 1",
        "def check(candidate):\n    assert candidate(lambda n: n) == 1\ncheck(f)",
        "def check(c):\n    assert c(1) == 1\n    assert c(lambda n: n) == 1\ncheck(c=f)",
        "g = f\nassert g(lambda n: n) == 1",
        "for g in (f, None):\n    assert g(lambda n: n) == 1",
        "tree = f()\ntree.visit(lambda n: n)\nassert tree.count == 1",
        "with f() as tree:\n    tree.visit(lambda n: n)",
        "assert f().visit(lambda n: n) == 1",
        "assert f(1)(lambda n: n) == 1",
        "assert f.each(lambda n: n) == 1",
    ],
)
def test_code_handed_to_the_candidate_is_seen_in_the_text(tests: str) -> None:
    assert reading(tests).passes_code


@pytest.mark.parametrize(
    "tests",
    [
        "assert sorted(f(1), key=lambda n: n) == [1]",
        "assert list(map(lambda n: f(n), [1])) == [1]",
        "r = f(1)\nr.sort(key=lambda n: n)\nassert r == [1]",
        "assert f(list(map(int, '12'))) == 1",
        "assert f(len([1])) == 1",
        "assert f(int) == 1",
        "def helper(n): return n\nassert f(helper(1)) == 1",
        "helper = 1\nassert f(helper) == 1",
        "assert f([n for n in [1]]) == 1",
    ],
)
def test_code_that_stays_with_the_test_is_no_hindrance(tests: str) -> None:
    assert not reading(tests).passes_code


def test_a_method_named_like_a_lists_belongs_to_the_class_that_the_test_made() -> None:
    assert reading("s = Stack()\ns.append(lambda n: n)", "Stack").passes_code
    assert not reading("s = stack()\ns.append(lambda n: n)", "stack").passes_code


def test_code_of_the_prelude_is_the_tests_own() -> None:
    assert reading("assert f(helper) == 1", prelude="def helper(): pass").passes_code
    assert reading("assert f(Node(1)) == 1", prelude="class Node:\n    pass").passes_code
    assert not reading("assert f(Pair(1)) == 1", prelude="class Pair(tuple):\n    pass").passes_code


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ("assert P(1) + P(2) == P(3)", True),
        ("a = P(1)\nb = P(1)\nassert a == b", True),
        ("a = P(1) + P(2)\nassert a == f(3)", True),
        ("assert P(1) in [P(1)]", True),
        ("assert -P(1) == f(1)", True),
        ("assert P(1) == 1", False),
        ("assert P(1) is P(1)", False),
        ("assert f(1) == f(2)", False),
        ("assert f(P(1)) == 3", False),
        ("assert [P(1)] * 2 == 3", False),
        ("assert '%s' % P(1) == '1'", False),
    ],
)
def test_operators_on_objects_of_the_candidates_classes_are_known_by_the_capital(tests: str, expected: bool) -> None:
    assert reading(tests, "f", "P").own_objects is expected


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ("try:\n    f(1)\nexcept E:\n    pass", ("E",)),
        ("try:\n    f(1)\nexcept (E, f):\n    pass", ("f", "E")),
        ("with assertRaises(E):\n    f(1)", ("E",)),
        ("raise E(f(1))", ("E",)),
        ("assert f(E) == 1", ("E",)),
        ("assert f(1) == E(2)", ()),
        ("assert isinstance(f(1), E) and E(2)", ("E",)),
    ],
)
def test_a_name_that_is_called_is_no_exception_class_unless_it_is_caught(tests: str, expected: tuple[str, ...]) -> None:
    assert reading(tests, "f", "E").exceptions == expected


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ("assert f().same(42)", True),
        ("assert not f().same(42)", True),
        ("ok = f().same(42)\nassert ok", True),
        ("assert all(f().has(n) for n in [1])", True),
        ("assert bool(f()['has'](1))", True),
        ("r = f()\nif r.same(42):\n    pass", True),
        ("assert f(42)", False),
        ("assert f().same(42) == 1", False),
        ("assert f().ready()", False),
        ("assert 'abc'.startswith('a') and f(1) == 1", False),
    ],
)
def test_asking_an_object_about_an_argument_is_seen(tests: str, expected: bool) -> None:
    assert reading(tests).asks_objects is expected


def test_an_expression_asks_for_its_own_truth() -> None:
    tree = ast.parse("f().same(42)", mode="eval")
    assert read(ast.walk(tree), [], ["f"]).asks_objects


def test_identity_is_asked_for_only_between_two_things() -> None:
    assert reading("assert f() is f()").identities
    assert reading("assert f(1) == 1", prelude="def g(a, b):\n    return a is not b").identities
    assert not reading("assert f() is None and f() is not True").identities


@pytest.mark.parametrize("word", ["eval('f')", "exec('f')", "inspect.getsource(f)", "globals()['f']"])
def test_looking_inside_is_seen(word: str) -> None:
    assert looks_inside(ast.walk(ast.parse(f"import inspect\nassert {word}")))


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ("async def main():\n    assert await f(1) == 2", "await"),
        ("import asyncio\nassert asyncio.run(f(1)) == 2", "await"),
        ("import asyncio\nasync def main():\n    assert await asyncio.gather(*[f(n) for n in [1]]) == [2]", "await"),
        ("async def main():\n    async for n in f(1):\n        assert n", "await"),
        ("async def main():\n    async with f(1) as n:\n        assert n", "await"),
        ("class B(f):\n    pass\nassert B().v() == 1", "derive a class"),
        ("assert issubclass(f, Exception)", "issubclass"),
        ("with redirect_stdout(b):\n    f(1)\nassert b.getvalue() == ''", ""),
        ("from contextlib import redirect_stdout\nwith redirect_stdout(b):\n    f(1)\nb.getvalue()", "redirect_stdout"),
        ("import sys\nsys.stdout = b\nf(1)\nassert b.getvalue() == '2'", "sys.stdout = ..."),
        ("import sys\nsys.stdin = b\nassert f() == 2", "sys.stdin = ..."),
        ("import builtins\nbuiltins.input = lambda: '3'\nassert f() == 2", "builtins.input = ..."),
        ("from unittest.mock import patch\nwith patch('builtins.input'):\n    assert f() == 3", "patch"),
        ("from unittest import mock\nwith mock.patch('time.time'):\n    assert f() == 3", "patch"),
        ("import sys\nsys.setrecursionlimit(9999)\nassert f(1) == 2", "setrecursionlimit"),
        ("import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    r = f(1)\nassert r == 2", ""),
        ("import asyncio\nasync def g():\n    return f(1)\nassert asyncio.run(g()) == 2", ""),
        ("class B(ValueError):\n    pass\nassert f(1) == 2", ""),
        ("assert f.patch(1) == 2", ""),
        ("r = f(1)\nr.x = 2\nassert r.x == 2", ""),
        ("assert isinstance(f(1), int) and issubclass(bool, int)", ""),
    ],
)
def test_what_has_no_effect_on_the_candidates_process_is_seen(tests: str, expected: str) -> None:
    found = reading(tests).out_of_reach
    assert expected in found
    assert bool(expected) is bool(found)
