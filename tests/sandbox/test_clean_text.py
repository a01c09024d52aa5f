"""What a program prints comes back cleaned."""

from __future__ import annotations

import sys

import pytest
from tests.sandbox.running import run

from assay.sandbox import IoPairs, Sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def test_what_a_program_prints_comes_back_cleaned(sandbox: Sandbox) -> None:
    code = "import sys\nprint('\\x1b[31mred\\x07')\nprint('oops\\u202e', file=sys.stderr)\ndef f(x): return x"
    outcome = run(sandbox, IoPairs(code=code, pairs=((1, 1),)))
    assert outcome.stdout == "red\\u0007\n"
    assert outcome.stderr == "oops\\u202e\n"
