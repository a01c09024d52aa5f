"""Scripts: their output is compared, input by input, and a traceback names their lines."""

from __future__ import annotations

import sys

import msgspec
import pytest
from tests.sandbox.running import outcomes, run

from assay.sandbox import Sandbox, Stdout

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


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


def test_a_traceback_of_a_script_names_its_lines(sandbox: Sandbox) -> None:
    outcome = run(sandbox, Stdout(code="x = 1\nraise KeyError(x)", expected=("",)))
    assert outcome.outcome == "runtime_error"
    assert "line 2" in outcome.stderr
    assert "raise KeyError(x)" in outcome.stderr


def test_lenient_output_compares_numbers_by_value_and_ignores_blanks_around_lines(sandbox: Sandbox) -> None:
    program = Stdout(code="print()\nprint('  2.0 3')\nprint('yes ')", expected=("2 3.00\nyes",))
    assert run(sandbox, program).outcome == "wrong"
    assert run(sandbox, msgspec.structs.replace(program, lenient=True)).outcome == "pass"
    other = Stdout(code="print('2 x')", expected=("2.0 x",), lenient=True)
    assert run(sandbox, other).outcome == "wrong"


def test_all_or_nothing_tries_no_input_after_a_wrong_output(sandbox: Sandbox) -> None:
    program = Stdout(code="print(1)", stdin=("", "", ""), expected=("1", "2", "1"), all_or_nothing=True)
    checks = run(sandbox, program).checks
    assert [check.outcome for check in checks] == ["pass", "wrong", "wrong"]
    assert checks[2].detail.startswith("not tried")
