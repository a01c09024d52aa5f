"""What every sandbox must do."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from assay.sandbox import IoPairs, Limits, Outcome, Program, SandboxRefusedError, SandboxReport, TestProgram
from assay.sandbox.seam import RunsPrograms
from assay.sandbox.tiers import unmet
from assay.testing.contract import clauses_about, expect, given, hold_to, is_name, plain_data, shown
from assay.testing.leftovers import nothing_left, opened

MakeSandbox = Callable[..., RunsPrograms]
SHORT = Limits(cpu_seconds=0.3)
HELD_BACK = "the expected answer"


def check_sandbox(make: MakeSandbox) -> None:
    """`BrokenContractError` where a sandbox misjudges a program, or lets it reach what is not its own.

    `make()` and `make(min_tier="A")` give a sandbox that has not been started. What it keeps apart is tried on files,
    a port and programs of this check; a sandbox that passes may still be open elsewhere.
    """
    hold_to("sandbox", make, CLAUSES, make)


async def says_what_confines_programs(make: MakeSandbox) -> None:
    async with started(make) as sandbox:
        report = sandbox.report
        expect(isinstance(report, SandboxReport), f"its report is {shown(report)}, no `SandboxReport`")
        expect(is_name(report.tier), f"its tier is {shown(report.tier)}")
        plain_data(report, SandboxReport)


async def refuses_a_tier_that_it_does_not_have(make: MakeSandbox) -> None:
    async with opened(make(min_tier="A")) as sandbox:
        try:
            sandbox.start_here()
        except SandboxRefusedError:
            return
        expect(not unmet(sandbox.report.tier, "A"), f"asked for tier A, it started with tier {sandbox.report.tier}")


async def passes_a_right_program_and_no_wrong_one(make: MakeSandbox) -> None:
    async with started(make) as sandbox:
        for code, share in (("def f(x): return x + 1", 1.0), ("def f(x): return 2", 0.5), ("def g(x): return x", 0.0)):
            with given(code):
                outcome = await judged(sandbox, IoPairs(code=code, pairs=((1, 2), (2, 3))))
                expect(outcome.share == share, f"the share of checks that hold is {outcome.share}, not {share}")
                passed = outcome.outcome == "pass"
                expect(passed == (share == 1.0), f"the outcome is `{outcome.outcome}`")


async def ends_a_program_at_its_limits_with_an_outcome(make: MakeSandbox) -> None:
    async with started(make) as sandbox:
        for code in ("def f(x):\n    while True: pass", "def f(x): return [0] * 10**12", "import os\nos._exit(0)"):
            with given(code):
                outcome = await judged(sandbox, IoPairs(code=code, pairs=((1, 1),), imports=None))
                expect(outcome.share == 0.0, f"it passes: {shown(outcome)}")


async def lets_no_program_read_or_write_a_file_of_the_host(make: MakeSandbox) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        secret, written = Path(folder, "secret"), Path(folder, "written")
        secret.write_text(HELD_BACK)
        async with started(make) as sandbox:
            code = f"def f(x):\n    with open({str(secret)!r}) as file: return file.read()"
            with given(code):
                outcome = await judged(sandbox, IoPairs(code=code, pairs=((1, HELD_BACK),), imports=None))
                expect(outcome.share == 0.0, "it read the file")
            code = f"def f(x):\n    with open({str(written)!r}, 'w') as file: return file.write('x')"
            with given(code):
                await judged(sandbox, IoPairs(code=code, pairs=((1, 1),), imports=None))
                expect(not written.exists(), "it wrote the file")


async def lets_no_program_reach_a_port_of_the_host(make: MakeSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = ("127.0.0.1", server.getsockname()[1])
        code = f"import socket\ndef f(x):\n    with socket.create_connection({address!r}, 1): return True"
        async with started(make) as sandbox:
            with given(code):
                outcome = await judged(sandbox, IoPairs(code=code, pairs=((1, True),), imports=None))
                expect(outcome.share == 0.0, "it connected")


async def keeps_programs_apart(make: MakeSandbox) -> None:
    leave = "import math\nmath.left = 1\ndef f(x): return 1"
    look = "import math\ndef f(x): return hasattr(math, 'left')"
    async with started(make) as sandbox:
        for _ in range(3):
            await judged(sandbox, IoPairs(code=leave, pairs=((1, 1),)))
            with given(leave, look):
                outcome = await judged(sandbox, IoPairs(code=look, pairs=((1, False),)))
                expect(outcome.share == 1.0, "one program sees what another has left")


async def finds_tests_that_cannot_judge(make: MakeSandbox) -> None:
    async with started(make) as sandbox:
        for tests, refused in (("assert f(1) == 2", False), ("assert undefined_name == 1\nf(1)", True)):
            with given(tests):
                found = await sandbox.rehearse(TestProgram(code="", tests=tests, entry_points=("f",)), SHORT)
                expect(found.refused == refused, f"the rehearsal says {shown(found)}")


async def leaves_nothing_open(make: MakeSandbox) -> None:
    async with nothing_left(), started(make) as sandbox:
        await judged(sandbox, IoPairs(code="def f(x): return x", pairs=((1, 1),)))


CLAUSES = clauses_about("MakeSandbox", globals())


@asynccontextmanager
async def started(make: MakeSandbox) -> AsyncIterator[RunsPrograms]:
    async with opened(make()) as sandbox:
        sandbox.start_here()
        yield sandbox


async def judged(sandbox: RunsPrograms, program: Program) -> Outcome:
    outcome = await sandbox.run(program, SHORT)
    expect(isinstance(outcome, Outcome), f"it gave {shown(outcome)}, no `Outcome`")
    plain_data(outcome, Outcome)
    return outcome
