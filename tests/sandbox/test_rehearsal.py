"""Tests tried on made-up programs: which cannot run, which prove nothing, and which are left to judge."""

from __future__ import annotations

import asyncio
import sys

import pytest
from msgspec.structs import replace

from assay.sandbox import Expressions, IoPairs, Limits, Program, Rehearsal, Sandbox, Stdout, TestProgram
from assay.sandbox.rehearsal import ACCEPTS_NONE, IDLE_CHECK, PROVES_NOTHING

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def rehearse(sandbox: Sandbox, program: Program) -> Rehearsal:
    return asyncio.run(sandbox.rehearse(program))


def asserts(tests: str, prelude: str = "") -> TestProgram:
    return TestProgram(code="", tests=tests, prelude=prelude)


def check(*body: str, before: str = "", prelude: str = "") -> TestProgram:
    lines = "".join(f"    {line}\n" for line in body)
    return TestProgram(code="", tests=f"{before}def check(candidate):\n{lines}", prelude=prelude, entry_points=("f",))


BROKEN = {
    "an import": (check("assert np.isclose(candidate(1), 2)", before="import numpy as np\n"), "line 1: import numpy"),
    "an import after an answer": (
        check("assert candidate(1) == 2", "import numpy", "assert numpy.isclose(candidate(1), 2)"),
        "line 3: import numpy: ModuleNotFoundError",
    ),
    "a name of a module": (check("x = y", before="from math import cosinus as y\n"), "line 1: from math import"),
    "a misspelt name": (check("assert candidate(1) == expectd"), "line 2: the name `expectd`"),
    "a misspelt name after an answer": (
        check("assert candidate(1) == 2", "assert candidate(expectd) == 2"),
        "line 3: the name `expectd`",
    ),
    "a misspelt name in a loop": (check("for x in [1, 2]:", "    assert candidate(x) == y"), "line 3: the name `y`"),
    "a file": (check("assert candidate(open('data.txt').read()) == 2"), "line 2: the file 'data.txt'"),
    "a file whose name is computed": (
        check("name = 'data' + '.txt'", "x = open(name)"),
        "line 3: x = open(name): File",
    ),
    "a division by zero": (check("x = 1 / 0", "assert candidate(1) == x"), "line 2: x = 1 / 0: ZeroDivisionError"),
    "a false assertion": (check("assert 1 == 2", "assert candidate(1) == 2"), "line 2: assert 1 == 2"),
    "one assertion of several": (
        asserts("assert f(1) == 2\n\nassert f(1 / 0) == 2"),
        "line 3: assert f(1 / 0) == 2: Zero",
    ),
    "an import beside assertions": (asserts("import numpy\nassert numpy.isclose(f(1), 2)"), "line 1: import numpy"),
    "an import that no assertion uses": (asserts("\nimport numpy\nassert f(1) == 2"), "line 2: import numpy: Module"),
    "a name of a module that no assertion uses": (
        asserts("from math import cosinus\nassert f(1) == 2"),
        "line 1: from math import cosinus: ImportError",
    ),
    "an expression": (Expressions(code="", targets=("f(1) == 2", "[1][2] == f(1)")), "[1][2] == f(1): IndexError"),
    "a misspelt name in an expression": (
        Expressions(code="", targets=("f(1) == 2", "f(1) == undefd")),
        "expression 2: the name `undefd`",
    ),
    "a file in an expression": (
        Expressions(code="", targets=("f(1) == int(open('nofile').read())",)),
        "expression 1: the file 'nofile'",
    ),
    "a misspelt name beside an answer": (asserts("assert f(1) == undefd"), "line 1: the name `undefd`"),
    "a misspelt exception": (
        check("try:", "    candidate(1)", "except ValueEror:", "    pass", "else:", "    assert 0"),
        "line 4: the name `ValueEror`",
    ),
    "an own error right of an answer": (Expressions(code="", targets=("f(1) == 1/0",)), "f(1) == 1/0: ZeroDivision"),
    "an own error after a first answer": (
        check("assert candidate(1) == 2", "xs = [1]", "assert candidate(2) == xs[5]"),
        "line 4: assert candidate(2) == xs[5]: IndexError",
    ),
    "an own error after a sorted answer": (
        check("assert sorted(candidate(1)) == [2]", "assert candidate(2) == int('two')"),
        "line 3: assert candidate(2) == int('two'): ValueError",
    ),
    "a misspelt function of a module": (asserts("import math\nassert f(1) == math.sqroot(4)"), "AttributeError"),
    "a misspelt name behind `and`": (check("assert candidate(1) == 3 and undefd"), "NameError"),
    "a misspelt name behind `and` in an expression": (
        Expressions(code="", targets=("f(1) == 3 and undefd",)),
        "undefd",
    ),
    "an exit after a first answer": (
        check("assert candidate(1) == 2", "import sys", "sys.exit(0)", "assert candidate(2) == 3"),
        "line 4: sys.exit(0): SystemExit",
    ),
    "an exit where the answer is right": (
        check("import sys", "if candidate(1) == 2:", "    sys.exit()", "assert False"),
        "line 4: sys.exit(): SystemExit",
    ),
    "an end of the process after an answer": (
        asserts("import os\nassert f(1) == 2 or True\nassert f(1) == 2 and os._exit(0)"),
        "ended its process with status 0",
    ),
    "an error raised after an answer": (
        check("assert candidate(1) == 2", "raise NotImplementedError"),
        "line 3: raise NotImplementedError",
    ),
    "the prelude": (check("assert candidate(1) == 2", prelude="import numpy\n"), "the prelude does not run: Module"),
    "the prelude of expressions": (Expressions(code="", prelude="1/0", targets=("f(1) == 2",)), "prelude does not run"),
    "the prelude of pairs": (IoPairs(code="import numpy\n", pairs=((1, 2),)), "the prelude does not run: Module"),
    "a prelude that imports too much": (
        IoPairs(code="import os\n", pairs=((1, 2),), imports=()),
        "the prelude does not",
    ),
    "the prelude of a script": (Stdout(code="1/0\n", expected=("1",)), "the prelude does not run: ZeroDivision"),
    "a script with too few outputs": (Stdout(code="", stdin=("1", "2"), expected=("1",)), "2 inputs but 1 expected"),
    "what is not Python": (asserts("assert f(1 == 2"), "the tests are not Python"),
    "no name of the program": (asserts("assert 1 == 1"), "never use a name of the candidate"),
    "an import of tests that run together": (
        TestProgram(code="", tests="import numpy\nassert eval('f(1)') == 2", unsplittable="weak"),
        "ModuleNotFoundError: No module named 'numpy'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_test_that_breaks_before_it_uses_the_program_cannot_run(sandbox: Sandbox, case: str) -> None:
    program, detail = BROKEN[case]
    found = rehearse(sandbox, program)
    assert (found.problem, found.refused) == ("broken_test", True)
    assert detail in found.detail


PROVING_NOTHING = {
    "nothing is asserted": check("pass"),
    "only what is true anyway": check("assert True"),
    "every error is caught": check("try:", "    assert candidate(1) == 2", "except Exception:", "    pass"),
    "every error is caught at the top": asserts("try:\n    assert f(1) == 2\nexcept Exception:\n    pass"),
    "an expression that names the program and never calls it": Expressions(
        code="", targets=("abs(f(1)) == 2", "1 == 1 or f(1) == 2")
    ),
}


@pytest.mark.parametrize("case", PROVING_NOTHING)
def test_a_test_that_passes_for_every_program_proves_nothing(sandbox: Sandbox, case: str) -> None:
    found = rehearse(sandbox, PROVING_NOTHING[case])
    assert (found.problem, found.refused) == (PROVES_NOTHING, True)


UNCALLED = {
    "functions": asserts("def test_one():\n    assert f(1) == 2\ndef test_two():\n    assert f(2) == 3"),
    "a body for scripts": asserts("if __name__ == '__main__':\n    assert f(1) == 2"),
    "a class": asserts(
        "import unittest\nclass Cases(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n"
        "unittest.main(argv=['x'], exit=False)"
    ),
}


@pytest.mark.parametrize(
    ("case", "named"),
    [("functions", "test_one, test_two"), ("a body for scripts", "if __name__ == '__main__':"), ("a class", "Cases")],
)
def test_tests_that_wait_for_a_runner_are_named(sandbox: Sandbox, case: str, named: str) -> None:
    found = rehearse(sandbox, UNCALLED[case])
    assert (found.problem, found.refused) == (PROVES_NOTHING, True)
    assert found.detail == f"defines tests that nothing calls: {named}"


GUARDED = {
    "an assertion": asserts("import math\nassert math.sqrt(4) == 2\nassert f(1) == 2"),
    "an assertion beside one that needs a verifier": asserts("import math\nassert math.sqrt(4) == 2\nassert f(1) > 1"),
    "an expression": Expressions(code="", targets=("2 == 2  # sure", "f(1) == 2")),
    "an expression beside one that needs a verifier": Expressions(code="", targets=("abs(f(1)) == 2", "1 == 1")),
    "a check with names of its own": asserts("assert all(n > 0 for n in [1])\nassert f(1) == 2"),
    "a helper of the prelude": asserts("assert double(2) == 4\nassert f(1) == 2", "def double(x): return 2 * x\n"),
    "a name that a later check uses": asserts("assert (n := 1)\nassert f(n) == 2"),
}


@pytest.mark.parametrize("case", GUARDED)
def test_a_check_without_the_program_beside_others_is_a_remark_and_no_mark(sandbox: Sandbox, case: str) -> None:
    found = rehearse(sandbox, GUARDED[case])
    assert (found.problem, found.refused) == (IDLE_CHECK, False)
    assert "it counts for no marks" in found.detail
    wrong = replace(GUARDED[case], code="def f(x): return 0 * x")
    assert asyncio.run(sandbox.run(wrong)).share == 0.0
    right = replace(GUARDED[case], code="def f(x): return 2")
    assert asyncio.run(sandbox.run(right)).share == 1.0


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        (asserts("\nassert 1 == 2\nassert f(1) == 2"), "line 2: assert 1 == 2"),
        (Expressions(code="", targets=("1 == 2", "f(1) == 2")), "assert 1 == 2"),
    ],
)
def test_a_check_that_fails_without_the_program_cannot_run(sandbox: Sandbox, program: Program, detail: str) -> None:
    found = rehearse(sandbox, program)
    assert (found.problem, found.refused) == ("broken_test", True)
    assert detail in found.detail


def test_a_check_that_reaches_the_program_through_the_prelude_counts(sandbox: Sandbox) -> None:
    program = asserts("assert twice(1) == 4\nassert f(1) == 2", "def twice(x): return 2 * f(x)\n")
    assert rehearse(sandbox, program) == Rehearsal()
    outcome = asyncio.run(sandbox.run(replace(program, code="def f(x): return 2")))
    assert [check.outcome for check in outcome.checks] == ["pass", "pass"]


ACCEPTING_NONE = {
    "sorted in place": asserts("x = [2, 1]\nr = f(x)\nassert r is None"),
    "an equality": asserts("assert f(1) == None"),
    "a check": check("assert candidate(1) is None"),
    "a pair": IoPairs(code="", pairs=((1, None),)),
    "no output": Stdout(code="", expected=("",)),
    "no output beside a prelude": Stdout(code="import math\n", expected=("\n",)),
}


@pytest.mark.parametrize("case", ACCEPTING_NONE)
def test_a_test_that_only_a_program_without_effect_passes_is_a_remark(sandbox: Sandbox, case: str) -> None:
    found = rehearse(sandbox, ACCEPTING_NONE[case])
    assert (found.problem, found.refused) == (ACCEPTS_NONE, False)


SOUND = {
    "a value": check("assert candidate(1) == 2"),
    "the length of an answer": check("r = candidate(1)", "assert len(r) == 2"),
    "an attribute of an answer": check("assert candidate(1).x == 2"),
    "an expected exception": check(
        "try:", "    candidate(-1)", "except ValueError:", "    pass", "else:", "    assert 0"
    ),
    "an import that may fail": check(
        "assert candidate(1) == x", before="try:\n    import numpy\nexcept ImportError:\n    x = 2\n"
    ),
    "a name in a branch": check("if candidate(1) == 3:", "    x = unicode", "assert candidate(2) == 2"),
    "a name in the message of an assertion": check("assert candidate(1) == 2, explanation"),
    "a helper of the prelude": check("assert poly(candidate(1)) == 0", prelude="def poly(x): return x\n"),
    "a bare signature as prelude": check("assert candidate(1) == 2", prelude="def f(x):\n"),
    "names from a star": check("assert candidate(1) == pi", before="from math import *\n"),
    "a module that nobody imports": asserts("assert math.isclose(f(1), 2)"),
    "a class": asserts("p = Point(1, 2)\nassert p.x == 1\nassert p.y == 2"),
    "several functions": asserts("assert decode(encode('x')) == 'x'"),
    "constants": asserts(
        "assert PI == 3.14\nassert FLAG is True\nassert isinstance(D, dict)\nassert ','.join([S]) == 'a'"
    ),
    "a constant beside a function": asserts("assert LIMIT == 3\nassert f(1) == 2"),
    "a constant beside an answer": asserts("assert limit == 3\nassert f(1) == limit"),
    "a constant in capitals beside an answer": asserts("assert f(1) == LIMIT"),
    "a constant in an expression": Expressions(code="", targets=("limit == 3",)),
    "a function that is passed on": Expressions(
        code="", targets=("list(map(f, [1])) == [2]", "sorted([1], key=f) == [1]")
    ),
    "an exception of the program": asserts("try:\n    f(1)\nexcept Own:\n    pass\nelse:\n    assert 0"),
    "an import beside plain calls": asserts("import math\nassert f(1) == 2"),
    "pairs": IoPairs(code="import math\n", pairs=((1, 2),)),
    "pairs after half a statement": IoPairs(code="def f(x):\n    return ", pairs=((1, 2),)),
    "an output": Stdout(code="", expected=("1",)),
    "tests that run together": TestProgram(code="", tests="assert eval('f(1)') == 2", unsplittable="weak"),
}


@pytest.mark.parametrize("case", SOUND)
def test_a_test_whose_end_depends_on_the_program_is_left_to_judge(sandbox: Sandbox, case: str) -> None:
    assert rehearse(sandbox, SOUND[case]) == Rehearsal()


def test_a_test_that_never_ends_without_the_right_answer_is_left_to_judge(sandbox: Sandbox) -> None:
    program = asserts("r = f(1)\nwhile r != 3:\n    pass")
    assert asyncio.run(sandbox.rehearse(program, Limits(cpu_seconds=0.05))) == Rehearsal()


ENDING_EARLY = {
    "a loop": (asserts("while True:\n    pass\nassert f(1) == 2"), "ran out of time"),
    "a sleep": (asserts("import time\ntime.sleep(10000)\nassert f(1) == 2"), "ran out of time"),
    "an exit": (asserts("import os\nos._exit(0)\nassert f(1) == 2"), "ended its process with status 0"),
    "an abort": (asserts("import os\nos.abort()\nassert f(1) == 2"), "ended by signal 6"),
    "output": (asserts("while True:\n    print('x' * 9999)\nassert f(1) == 2"), "printed too much"),
    "an endless check without the program": (asserts("assert sum(iter(int, 1))\nassert f(1) == 2"), "out of time"),
    "an exit beside the program": (
        TestProgram(code="", tests="import os\nos._exit(0)\nassert eval('f(1)') == 2", unsplittable="weak"),
        "exited with status 0",
    ),
}


@pytest.mark.parametrize("case", ENDING_EARLY)
def test_a_test_that_ends_before_it_calls_the_program_cannot_run(sandbox: Sandbox, case: str) -> None:
    program, detail = ENDING_EARLY[case]
    found = asyncio.run(sandbox.rehearse(program, Limits(cpu_seconds=0.1, wall_seconds=1)))
    assert (found.problem, found.refused) == ("broken_test", True)
    assert detail in found.detail
    assert found.detail.endswith("before it had called the program")


@pytest.mark.prove
def test_a_test_that_needs_more_time_than_its_trial_gets_the_time_of_a_real_program(sandbox: Sandbox) -> None:
    spend = "import time\nwhile time.process_time() < 3.2:\n    pass\nassert f(1) == 2"
    assert asyncio.run(sandbox.rehearse(asserts(spend), Limits(cpu_seconds=4))) == Rehearsal()


def test_a_test_that_cannot_be_split_keeps_its_own_word(sandbox: Sandbox) -> None:
    found = rehearse(sandbox, asserts("assert eval('f(1)') == 2"))
    assert (found.problem, found.refused) == ("unsupported", True)


OUT_OF_REACH = {
    "a coroutine": ("import asyncio\nassert asyncio.run(f(1)) == 2", "async def f(x): return x + 1"),
    "a derived class": ("class B(A): pass\nassert B().v() == 1", "class A:\n    def v(self): return 1"),
    "its output": (
        "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    f(1)\n"
        "assert b.getvalue() == '2\\n'",
        "def f(x): print(x + 1)",
    ),
    "its input": (
        "from unittest.mock import patch\nwith patch('builtins.input', return_value='3'):\n    assert f() == 3",
        "def f(): return int(input())",
    ),
    "its depth": (
        "import sys\nsys.setrecursionlimit(5000)\nassert f(3000) == 3000",
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)",
    ),
    "its ancestry": ("assert issubclass(E, Exception)", "class E(Exception): pass"),
}


@pytest.mark.parametrize("case", OUT_OF_REACH)
def test_a_test_that_cannot_reach_the_program_is_refused_and_may_run_together_with_it(
    sandbox: Sandbox, case: str
) -> None:
    tests, right = OUT_OF_REACH[case]
    found = rehearse(sandbox, asserts(tests))
    assert (found.problem, found.refused) == ("unsupported", True)
    together = TestProgram(code="", tests=tests, unsplittable="weak")
    assert not rehearse(sandbox, together).refused
    outcome = asyncio.run(sandbox.run(replace(together, code=right)))
    assert (outcome.outcome, outcome.grade) == ("pass", "weak"), outcome
