"""A program that is kept running: answers find their requests, a death is reported, and the next one is new."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from assay.processes.child import Child, OnLine
from assay.processes.environment import bare_environment
from assay.processes.service import EndedError, Service

ANSWERS = """
import os, sys
for line in sys.stdin:
    number, _, word = line.strip().partition(" ")
    if word == "die":
        sys.exit(9)
    if word == "babble":
        print("what?", flush=True)
    elif word != "hang":
        print(number, os.getpid() if word == "pid" else word, flush=True)
"""

T = TypeVar("T")


def answering(greeting: str | None = None) -> Service[str]:
    def start(on_line: OnLine) -> Child:
        return Child([sys.executable, "-S", "-c", ANSWERS], env=bare_environment(), on_line=on_line)

    def read(child: Child, line: bytes) -> tuple[int, str]:
        number, _, word = line.decode().partition(" ")
        return int(number), word

    async def greet(child: Child) -> None:
        await service.ask_of(child, line_of(greeting or ""))

    service = Service(start, read, None if greeting is None else greet)
    return service


def line_of(word: str) -> Callable[[int], bytes]:
    return lambda number: f"{number} {word}\n".encode()


def talk(to: Callable[[Service[str]], Awaitable[T]], greeting: str | None = None) -> T:
    async def go() -> T:
        service = answering(greeting)
        try:
            return await to(service)
        finally:
            await service.aclose()
            assert not service.pids

    return asyncio.run(go())


def test_answers_find_their_requests_and_one_process_serves_all() -> None:
    async def many(service: Service[str]) -> list[str]:
        return await asyncio.gather(*(service.ask(line_of(f"w{n}")) for n in range(50)))

    async def processes(service: Service[str]) -> set[str]:
        return {*await asyncio.gather(*(service.ask(line_of("pid")) for _ in range(20)))}

    assert talk(many) == [f"w{n}" for n in range(50)]
    assert len(talk(processes, "hello")) == 1


def test_a_death_reaches_all_who_wait_and_the_next_request_starts_another() -> None:
    async def dying(service: Service[str]) -> tuple[set[int | None], bool]:
        first = await service.ask(line_of("pid"))
        asked = [service.ask(line_of(word)) for word in ("hang", "hang", "die")]
        ended = await asyncio.gather(*asked, return_exceptions=True)
        statuses = {each.child.status for each in ended if isinstance(each, EndedError)}
        assert len(ended) == 3
        assert service.load == 0
        return statuses, first != await service.ask(line_of("pid"))

    assert talk(dying) == ({9}, True)


def test_one_that_hangs_is_killed_and_so_is_one_that_babbles() -> None:
    async def bad(service: Service[str]) -> set[int | None]:
        hanging = await service.running()
        with pytest.raises(TimeoutError):
            await service.ask(line_of("hang"), timeout_seconds=0.05)
        babbling = await service.running()
        with pytest.raises(ValueError, match="what"):
            await service.ask(line_of("babble"), timeout_seconds=60)
        await asyncio.wait([hanging.closed, babbling.closed])
        assert await service.ask(line_of("hi")) == "hi"
        return {hanging.status, babbling.status}

    assert talk(bad) == {-signal.SIGKILL}


def test_a_greeting_that_fails_leaves_no_process_behind() -> None:
    async def greeted(service: Service[str]) -> list[int]:
        with pytest.raises(EndedError):
            await service.ask(line_of("hi"))
        return service.pids

    assert talk(greeted, "die") == []


def test_another_loop_gets_another_process_and_the_old_one_is_ended() -> None:
    service = answering()

    async def process(close: bool) -> int:
        try:
            return int(await service.ask(line_of("pid")))
        finally:
            if close:
                await service.aclose()

    first, second = asyncio.run(process(close=False)), asyncio.run(process(close=True))
    assert first != second
    for pid in (first, second):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
