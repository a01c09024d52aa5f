"""MBPP: a published solution has the time it needs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.skips import skip_without_sandbox

from assay.checking.findings import TaskCheck
from assay.checking.task_check import check_task
from assay.core.seams import close_part
from assay.core.task import Task
from assay.recipes.recipe import find_recipe, write_tasks
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks

DATA = Path(os.environ.get("ASSAY_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))


with_data = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmarks' original files are not here")


def made(name: str, out: Path, **options: Any) -> Path:
    write_tasks(find_recipe(name), DATA / name, out, **{"variant": None, "shots": None, **options})
    return out


@with_data
def test_the_published_solution_of_mbpp_123_has_the_time_it_needs(tmp_path: Path) -> None:
    lines = (made("mbpp", tmp_path / "all") / "mbpp.jsonl").read_text().splitlines()
    (line,) = [line for line in lines if '"mbpp-123"' in line]
    (tmp_path / "mbpp-123.jsonl").write_text(line + "\n")
    (definition,) = load_tasks([str(tmp_path / "mbpp-123.jsonl")])
    found = checked(build_task(definition))
    if any(finding.problem == "cannot_run_here" for finding in found.findings):
        skip_without_sandbox(found.findings[0].detail)
    assert (found.gold_checked, [each for each in found.findings if each.error]) == (1, [])


def checked(task: Task) -> TaskCheck:
    """The task proved with its gold answers, and its sandbox ended, which other tests would find running."""

    async def check_and_close() -> TaskCheck:
        try:
            return await check_task(task)
        finally:
            for scorer in task.scorers.values():
                await close_part(scorer)

    return asyncio.run(check_and_close())
