"""One program's processes: time on the clock and on the processor, memory, and their end."""

from __future__ import annotations

import sys

import pytest
from tests.sandbox.running import outcomes, run

from assay.sandbox import IoPairs, Limits, Sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def test_what_ends_the_process_ends_the_checks_that_are_left(sandbox: Sandbox) -> None:
    code = "def f(x):\n    while x == 2: pass\n    return x"
    outcome = run(sandbox, IoPairs(code=code, pairs=((1, 1), (2, 2), (3, 3))))
    assert outcomes(outcome) == ["pass", "timeout", "timeout"]
    assert outcome.checks[2].detail.startswith("not reached")
    assert outcome.share == pytest.approx(1 / 3)


def test_time_is_told_apart_on_the_clock_and_on_the_processor(sandbox: Sandbox) -> None:
    slow = run(
        sandbox, IoPairs(code="import time\ndef f(x): time.sleep(99)", pairs=((1, 1),)), Limits(wall_seconds=0.3)
    )
    busy = run(sandbox, IoPairs(code="def f(x):\n    while 1: pass", pairs=((1, 1),)), Limits(cpu_seconds=0.2))
    assert "of wall time" in slow.checks[0].detail
    assert "CPU time" in busy.checks[0].detail
    assert slow.cpu_ms < 200 < busy.cpu_ms < 1_000


def test_a_program_waiting_for_a_busy_machine_is_not_timed_out(sandbox: Sandbox) -> None:
    code = "import time\ndef f(x):\n    time.sleep(0.4)\n    return x"
    assert run(sandbox, IoPairs(code=code, pairs=((1, 1),)), Limits(cpu_seconds=0.2)).outcome == "pass"


@pytest.mark.parametrize(("memory_mb", "expected"), [(128, "memory"), (700, "pass")])
def test_memory_is_bounded(sandbox: Sandbox, memory_mb: int, expected: str) -> None:
    program = IoPairs(code="def f(x): return len(bytes(200 << 20)) > 0", pairs=((1, True),))
    assert run(sandbox, program, Limits(memory_mb=memory_mb)).outcome == expected
