"""A synchronous engine asks in the loop: by turns where the loop is ours, from a thread where it is somebody else's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from assay.core.run import Stop
from assay.optimize.evaluations import SearchEnded
from assay.optimize.in_the_loop import InTheLoop, run_by_turns

BOTH = pytest.mark.parametrize("run", [run_by_turns, asyncio.run], ids=["by turns", "in a thread"])
Run = Callable[[Coroutine[Any, Any, Any]], Any]
said: ContextVar[str] = ContextVar("said", default="nothing")


async def answer(number: int) -> tuple[int, str, threading.Thread]:
    await asyncio.sleep(0)
    return number, said.get(), threading.current_thread()


@BOTH
def test_requests_are_answered_in_the_main_thread_and_in_the_context_of_who_began(run: Run) -> None:
    async def main() -> Any:
        said.set("something")
        ask = InTheLoop(Stop())
        return await ask.run(lambda: [ask(answer(number)) for number in range(3)])

    assert run(main()) == [(number, "something", threading.main_thread()) for number in range(3)]


def test_by_turns_the_engine_is_in_the_main_thread_too() -> None:
    async def main() -> Any:
        return await InTheLoop(Stop()).run(threading.current_thread)

    assert run_by_turns(main()) is threading.main_thread()
    assert asyncio.run(main()) is not threading.main_thread()


@BOTH
@pytest.mark.parametrize("error", [ValueError("no"), SearchEnded()])
def test_what_engine_or_loop_raise_reaches_who_waits(run: Run, error: BaseException) -> None:
    async def breaks() -> None:
        raise error

    async def main(of_the_loop: bool) -> None:
        ask = InTheLoop(Stop())

        def engine() -> None:
            if of_the_loop:
                ask(breaks())
            raise error

        await ask.run(engine)

    for of_the_loop in (True, False):
        with pytest.raises(type(error)):
            run(main(of_the_loop))


@BOTH
def test_what_is_under_way_is_given_up_and_nothing_more_is_begun(run: Run) -> None:
    stop = Stop()

    async def hangs() -> None:
        asyncio.get_running_loop().call_soon(stop.now)
        await asyncio.Event().wait()

    async def main() -> Any:
        ask = InTheLoop(stop)

        def engine() -> list[str]:
            ended = []
            for work in (hangs(), hangs()):
                try:
                    ask(work)
                except SearchEnded:
                    ended.append("ended")
            return ended

        return await ask.run(engine)

    assert run(main()) == ["ended", "ended"]


def test_work_that_never_asks_is_done_by_turns_as_well() -> None:
    assert run_by_turns(answer(7))[0] == 7
