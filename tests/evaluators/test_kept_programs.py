"""Programs that are kept, with real ones."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from assay.evaluators.kept_programs import KeptPrograms
from assay.processes.child import Child, OnLine
from assay.processes.environment import bare_environment

ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


def kept(code: str) -> KeptPrograms:
    def start(task_model: str | None, on_line: OnLine) -> Child:
        return Child([sys.executable, "-S", "-c", code], env=bare_environment(), on_line=on_line)

    return KeptPrograms("evaluator", start)


def test_each_line_is_numbered_and_the_numbers_rise() -> None:
    async def run() -> list[bytes]:
        programs = kept(ECHO)
        lines = [(await programs.ask({"a": 1}, 60, None))[0] for _ in range(2)]
        await programs.close()
        return lines

    assert asyncio.run(run()) == [b'{"a":1,"_id":1}', b'{"a":1,"_id":2}']


def test_who_gives_up_waiting_leaves_no_late_answer_to_the_next() -> None:
    code = (
        "import sys\nfor line in sys.stdin:\n if 'slow' in line: sys.stdin.readline()\n print(line, end='', flush=True)"
    )

    async def run() -> bytes:
        programs = kept(code)
        waiting = asyncio.ensure_future(programs.ask({"a": "slow"}, 60, None))
        await asyncio.sleep(0)  # it is asked in its first turn
        waiting.cancel()
        await asyncio.wait([waiting])
        line, _ = await programs.ask({"a": "quick"}, 60, None)
        await programs.close()
        return line

    assert b"quick" in asyncio.run(run())


def test_programs_may_end_by_themselves_when_they_are_closed(tmp_path: str) -> None:
    path = os.path.join(tmp_path, "ended")
    code = f"{ECHO}\nopen({path!r}, 'w').write('by itself')"

    async def run() -> list[int]:
        programs = kept(code)
        await programs.ask({}, 60, None)
        await programs.close()
        return programs.pids

    assert asyncio.run(run()) == []
    with open(path) as file:
        assert file.read() == "by itself"


def test_a_program_that_cannot_be_started() -> None:
    def start(task_model: str | None, on_line: OnLine) -> Child:
        return Child(["/no/such/program"], env={}, on_line=on_line)

    with pytest.raises(FileNotFoundError):
        asyncio.run(KeptPrograms("evaluator", start).ask({}, 60, None))
