"""Runs against a fake server in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.servers.fake_openai import FakeServer, fake_openai

from assay.results.board.board_types import Leaderboard
from assay.runs.entry import aevaluate


def with_server(work: Callable[[FakeServer], Awaitable[None]]) -> None:
    async def serve() -> None:
        async with fake_openai() as server:
            await work(server)

    asyncio.run(serve())


async def evaluate_served(
    task: Path, server: FakeServer, folder: Path, *, kind: str = "ollama", **how: Any
) -> Leaderboard:
    result = await aevaluate(task, f"{kind}:m@{server.base_url}", folder=folder, cache=False, retries=0, **how)
    return result.leaderboard
