"""The process that a package of tasks lives in is shared by all that ask it."""

from __future__ import annotations

import asyncio

import pytest

from assay.bridges.process import library_process as process
from assay.bridges.process.library_process import LibraryProcess


def test_a_process_that_one_task_is_done_with_is_not_ended_under_another(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import os, time\ndef answer(order):\n    time.sleep(order['seconds'])\n    return {'pid': os.getpid()}\n"
    monkeypatch.setattr(process, "IDLE_SECONDS", 0.1)
    made = LibraryProcess("package", source, "")

    async def both() -> list[dict[str, int]]:
        orders = [made.ask_and_wait("wait", seconds=0.0), made.ask_and_wait("wait", seconds=0.5)]
        return await asyncio.gather(*orders)

    try:
        first, second = asyncio.run(both())
    finally:
        made.close()
    assert first == second
