"""What a part has opened and not closed: processes, open files, tasks of the event loop."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from assay.core.seams import close_part
from assay.testing.contract import expect

Part = TypeVar("Part")
_SELF = Path("/proc/self")


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """Whatever is started inside must have ended on exit. Files and processes are checked where `/proc` exists."""
    gc.collect()
    before = _census()
    yield
    gc.collect()
    for _ in range(100):  # a cancelled task may need another turn of the event loop
        if _census() <= before:
            return
        await asyncio.sleep(0.01)
    left = sorted(_census() - before)
    expect(False, f"after `aclose` there is still {', '.join(left)}")


@asynccontextmanager
async def opened(part: Part) -> AsyncIterator[Part]:
    """A part, closed on exit."""
    try:
        yield part
    finally:
        await close_twice(part)


async def close_twice(part: object) -> None:
    await close_part(part)
    await close_part(part)


def _census() -> frozenset[str]:
    tasks = {f"the task {task.get_name()} ({task.get_coro()})" for task in asyncio.all_tasks()}
    return frozenset({*tasks, *_children(), *_files()})


def _children() -> set[str]:
    lists = [*_SELF.glob("task/*/children")]
    pids = {pid for each in lists if each.exists() for pid in each.read_text().split()}
    return {f"the process {pid}" for pid in pids if not _is_zombie(pid)}


def _is_zombie(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _files() -> set[str]:
    files: set[str] = set()
    folder = _SELF / "fd"
    for name in os.listdir(folder) if folder.is_dir() else ():
        try:
            files.add(f"the open file {name} ({os.readlink(folder / name)})")
        except OSError:
            continue  # the descriptor of the listing itself
    return files
