"""Coroutines for callers without `await`."""

from __future__ import annotations

import asyncio

from assay.event_loop import is_running_here, run_anywhere


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


def test_a_result_is_awaited_with_and_without_a_running_loop() -> None:
    async def from_within() -> tuple[bool, int]:
        return is_running_here(), run_anywhere(answer())

    assert (is_running_here(), run_anywhere(answer())) == (False, 42)
    assert asyncio.run(from_within()) == (True, 42)
