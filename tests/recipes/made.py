"""Recipes made of the published files, where these are."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from assay.checking.findings import TaskCheck
from assay.checking.task_check import check_task
from assay.core.seams import close_part
from assay.core.task import Task
from assay.recipes.recipe import find_recipe, write_tasks

DATA = Path(os.environ.get("ASSAY_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))


with_data = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmarks' original files are not here")


def made(name: str, out: Path, **options: Any) -> Path:
    write_tasks(find_recipe(name), DATA / name, out, **{"variant": None, "shots": None, **options})
    return out


def checked(task: Task) -> TaskCheck:
    """The task proved with its gold answers, and its sandbox ended, which other tests would find running."""

    async def check_and_close() -> TaskCheck:
        try:
            return await check_task(task)
        finally:
            for scorer in task.scorers.values():
                await close_part(scorer)

    return asyncio.run(check_and_close())
