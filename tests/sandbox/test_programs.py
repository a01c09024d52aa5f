"""The four shapes of program, and what their outcomes say."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.sandbox import Expressions, IoPairs, Limits, Outcome, Program, Sandbox, Stdout, TestProgram

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

FAST = Limits(cpu_seconds=0.5, wall_seconds=3)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox(workers=1)
    box.start_here()
    yield box
    box.close()


def run(sandbox: Sandbox, program: Program, limits: Limits = FAST) -> Outcome:
    return asyncio.run(sandbox.run(program, limits))


def outcomes(outcome: Outcome) -> list[str]:
    return [check.outcome for check in outcome.checks]


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


def test_what_ends_the_process_ends_the_checks_that_are_left(sandbox: Sandbox) -> None:
    code = "def f(x):\n    while x == 2: pass\n    return x"
    outcome = run(sandbox, IoPairs(code=code, pairs=((1, 1), (2, 2), (3, 3))))
    assert outcomes(outcome) == ["pass", "timeout", "timeout"]
    assert outcome.checks[2].detail.startswith("not reached")
    assert outcome.share == pytest.approx(1 / 3)


def test_pairs_from_json_match_tuples_unless_strict(sandbox: Sandbox) -> None:
    code = "def f(x): return (x, (x,))"
    assert run(sandbox, IoPairs(code=code, pairs=((1, [1, [1]]),))).outcome == "pass"
    assert run(sandbox, IoPairs(code=code, pairs=((1, [1, [1]]),), strict=True)).outcome == "wrong"


def test_expressions_are_true_or_not_each_by_itself(sandbox: Sandbox) -> None:
    targets = ("f(2) == 4", "f(3) > 100", "g(1)", "f('a') == 'aa'", "sorted(f([2, 1])) == [1, 1, 2, 2]")
    outcome = run(sandbox, Expressions(code="def f(x): return x * 2", targets=targets))
    assert outcomes(outcome) == ["pass", "wrong", "wrong", "pass", "pass"]
    assert "NameError" in outcome.checks[2].detail


def test_plain_calls_need_no_second_process(sandbox: Sandbox) -> None:
    cheap = run(sandbox, Expressions(code="def f(x): return x", targets=("f(1) == 1", "f(x=2) == 2")))
    assert outcomes(cheap) == ["pass", "pass"]


def test_output_is_compared_without_trailing_whitespace(sandbox: Sandbox) -> None:
    assert run(sandbox, Stdout(code="print('a  ')\nprint('b')", expected=("a\nb",))).outcome == "pass"
    assert run(sandbox, Stdout(code="print('  a')", expected=("a",))).outcome == "wrong"
    assert run(sandbox, Stdout(code="print('a', end='')", expected=("a\n\n",))).outcome == "pass"


def test_each_input_has_its_own_expected_output(sandbox: Sandbox) -> None:
    program = Stdout(code="print(int(input()) * 2)", stdin=("1\n", "2\n", "x\n"), expected=("2", "5", "0"))
    outcome = run(sandbox, program)
    assert outcomes(outcome) == ["pass", "wrong", "runtime_error"]
    assert outcome.share == pytest.approx(1 / 3)
    assert "ValueError" in outcome.checks[2].detail


def test_what_a_program_prints_comes_back_cleaned(sandbox: Sandbox) -> None:
    code = "import sys\nprint('\\x1b[31mred\\x07')\nprint('oops\\u202e', file=sys.stderr)\ndef f(x): return x"
    outcome = run(sandbox, IoPairs(code=code, pairs=((1, 1),)))
    assert outcome.stdout == "red\\u0007\n"
    assert outcome.stderr == "oops\\u202e\n"


def test_a_traceback_of_a_script_names_its_lines(sandbox: Sandbox) -> None:
    outcome = run(sandbox, Stdout(code="x = 1\nraise KeyError(x)", expected=("",)))
    assert outcome.outcome == "runtime_error"
    assert "line 2" in outcome.stderr
    assert "raise KeyError(x)" in outcome.stderr


def test_time_is_told_apart_on_the_clock_and_on_the_processor(sandbox: Sandbox) -> None:
    slow = run(
        sandbox, IoPairs(code="import time\ndef f(x): time.sleep(99)", pairs=((1, 1),)), Limits(wall_seconds=0.3)
    )
    busy = run(sandbox, IoPairs(code="def f(x):\n    while 1: pass", pairs=((1, 1),)), Limits(cpu_seconds=0.2))
    assert "on the clock" in slow.checks[0].detail
    assert "processor time" in busy.checks[0].detail
    assert slow.cpu_ms < 200 < busy.cpu_ms < 1_000


def test_a_program_waiting_for_a_busy_machine_is_not_timed_out(sandbox: Sandbox) -> None:
    code = "import time\ndef f(x):\n    time.sleep(0.4)\n    return x"
    assert run(sandbox, IoPairs(code=code, pairs=((1, 1),)), Limits(cpu_seconds=0.2)).outcome == "pass"


@pytest.mark.parametrize(("memory_mb", "expected"), [(128, "memory"), (700, "pass")])
def test_memory_is_bounded(sandbox: Sandbox, memory_mb: int, expected: str) -> None:
    program = IoPairs(code="def f(x): return len(bytes(200 << 20)) > 0", pairs=((1, True),))
    assert run(sandbox, program, Limits(memory_mb=memory_mb)).outcome == expected


def test_separable_assertions_count_each(sandbox: Sandbox) -> None:
    tests = "import math\nassert f(4) == 2\nassert math.isclose(f(2), 1.41421, rel_tol=1e-3)\nassert f(9) == 4"
    outcome = run(sandbox, TestProgram(code="def f(x): return x ** 0.5", tests=tests))
    assert outcomes(outcome) == ["pass", "pass", "wrong"]


def test_other_tests_are_all_or_nothing(sandbox: Sandbox) -> None:
    tests = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 3\n"
    wrong = TestProgram(code="def f(x): return 2", tests=tests, entry_points=("f",))
    right = TestProgram(code="def f(x): return x + 1", tests=tests, entry_points=("f",))
    assert run(sandbox, wrong).share == 0.0
    assert "expected 3, got 2" in run(sandbox, wrong).checks[0].detail
    assert run(sandbox, right).share == 1.0


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


def test_a_test_that_passes_a_function_is_refused_or_weak(sandbox: Sandbox) -> None:
    tests = "result = apply(lambda n: n + 1, 2)\nassert result == 3"
    code = "def apply(g, x): return g(x)"
    with pytest.raises(FailureError, match="function"):
        run(sandbox, TestProgram(code=code, tests=tests))
    weak = run(sandbox, TestProgram(code=code, tests=tests, unsplittable="weak"))
    assert (weak.outcome, weak.grade) == ("pass", "weak")


def test_an_object_that_vouches_for_itself_is_weak(sandbox: Sandbox) -> None:
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


def test_whether_a_test_can_be_split_does_not_depend_on_the_answers(sandbox: Sandbox) -> None:
    tests = "def check(c):\n    assert c(1, 2) == 3\n    assert c(lambda n: n, 2) == 2\n"
    for code in ("def f(g, x): return 0", "def f(g, x): return x", "f = 1", "1 / 0"):
        with pytest.raises(FailureError, match="function"):
            run(sandbox, TestProgram(code=code, tests=tests, entry_points=("f",)))


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
def test_reading_what_a_candidate_sends_has_a_bound(sandbox: Sandbox, leaf: Any) -> None:
    """Of the harness's own processor time: each reply is as large and as slow to read as it may be."""
    expected = [0.5] * (1_000_000 // (len(repr(leaf)) + 2))
    program = IoPairs(code=FLOOD.format(leaf=leaf), pairs=tuple((n, expected) for n in range(100)))
    before = time.process_time()
    outcome = run(sandbox, program, Limits(cpu_seconds=60))
    assert outcome.outcome == "output_limit"
    assert time.process_time() - before < 10


def test_an_object_in_place_of_a_value_is_wrong_and_not_a_failure(sandbox: Sandbox) -> None:
    code = "class T:\n    def __lt__(s, o): return True\n    def __eq__(s, o): return True\ndef f(x): return T()"
    for tests in ("x = f(1)\nassert x < 5", "x = f(1)\nassert x + 1 == 2", "x = f(1)\nassert x == f(2)"):
        assert run(sandbox, TestProgram(code=code, tests=tests)).outcome == "wrong"


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
    assert caught.value.failure.kind in ("bad_request", "unsupported")


def test_the_same_program_gives_the_same_answer(sandbox: Sandbox) -> None:
    code = "import random\ndef f(x): return [random.random(), hash('a'), list({'x', 'y', 'z'})]"
    told = {run(sandbox, IoPairs(code=code, pairs=((1, 0),))).checks[0].detail for _ in range(3)}
    assert len(told) == 1
