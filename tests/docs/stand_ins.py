"""A stand-in for the models that pages about searches name: it labels by hints, and adds one for what went wrong."""

from __future__ import annotations

import asyncio
import runpy
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from assay.cli.examples import examples_folder
from tests.servers.fake_openai import fake_openai

_STARTER = runpy.run_path(str(examples_folder() / "starter" / "optimize" / "stand_in.py"))
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"


@contextmanager
def stand_in_models() -> Iterator[dict[str, str]]:
    """A server that takes every model's place; the variables that lead there."""
    ready = threading.Event()
    address: list[str] = []
    loop = asyncio.new_event_loop()
    end = asyncio.Event()

    async def serve() -> None:
        async with fake_openai(reply) as server:
            address.append(server.base_url)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield {"OPENAI_BASE_URL": address[0], "OPENAI_API_KEY": "sk-stand-in"}
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


def reply(prompt: str) -> str:
    """What either model says: the prompts of proposers have a component, the others a ticket or an answer."""
    if "## Current Component" not in prompt:
        label: str = _STARTER["answer"](_as_ticket(prompt))
        return label
    if "regular expression" in prompt:
        return f"```\n{_DATE}\n```"
    proposal: str = _STARTER["propose"](_as_ticket(prompt))
    return proposal.replace("Ticket:", "Answer:") if "Answer:" in prompt else proposal


def _as_ticket(prompt: str) -> str:
    return prompt.replace("Answer:", "Ticket:").replace("# answer\n", "# ticket\n")
