"""Every wrapper of a model, and of a scorer, passes on what it does not change."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import assay
from assay.core.model_stack import Limited, Timed, WithRunSettings
from assay.core.run import Stop
from assay.core.seams import Model
from assay.core.types import PartSpec, Request, Sample, Score, Trace
from assay.costs.budget import Budget, Budgeted, CountedAsJudge, SpendingLimits
from assay.formats.media_files import MediaFiles, ReadsMedia
from assay.models.adapters.native_model import NativeModel
from assay.models.completion_cache import CompletionCache
from assay.models.layers.adaptive import Adaptive
from assay.models.layers.batched import Batched
from assay.models.layers.cached import Cached
from assay.models.layers.conversation import WithFrame
from assay.models.layers.outage import WaitsOutOutages
from assay.models.layers.rate_limit import RateLimited
from assay.models.layers.retrying import Retrying
from assay.models.layers.settings import NotesOverridden, WithSettings
from assay.models.layers.thinking import WithoutThinking
from assay.models.layers.waiting import WithoutWaiting
from assay.scorers.hosts import MovedScorer
from assay.scorers.processes import MayMove
from assay.scorers.supervisor import Supervisor
from assay.scorers.thread_host import FromAnyLoop
from assay.testing import check_model_wrapper

SOURCE = Path(assay.__file__).parent
WRAPPERS: dict[str, Callable[..., Model]] = {
    "WithRunSettings": lambda model: WithRunSettings(model, {}),
    "Retrying": Retrying,
    "Limited": lambda model: Limited(model, 3),
    "Timed": lambda model: Timed(model, 60.0),
    "Budgeted": lambda model: Budgeted(model, Budget(SpendingLimits(), {}, Stop())),
    "CountedAsJudge": CountedAsJudge,
    "NativeModel": NativeModel,
    "Adaptive": Adaptive,
    "Batched": lambda model: Batched(model, 4),
    "WaitsOutOutages": lambda model: WaitsOutOutages(model, patience_seconds=60.0),
    "RateLimited": lambda model: RateLimited(model, requests_per_minute=6000),
    "WithSettings": lambda model: WithSettings(model, {}),
    "NotesOverridden": lambda model: NotesOverridden(model, {}),
    "WithoutThinking": WithoutThinking,
    "WithoutWaiting": WithoutWaiting,
    "ReadsMedia": lambda model: ReadsMedia(model, MediaFiles(Path("task.jsonl"))),
    "FromAnyLoop": lambda model: FromAnyLoop(model, asyncio.get_running_loop),
    "WithFrame": lambda model: WithFrame(model, system=None, prefill=None),
}


def classes_around(base: str) -> dict[str, ast.ClassDef]:
    texts = [text for path in SOURCE.rglob("*.py") if base in (text := path.read_text(encoding="utf-8"))]
    return {
        node.name: node
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and any(isinstance(each, ast.Name) and each.id == base for each in node.bases)
    }


def test_every_wrapper_is_checked_against_the_contract() -> None:
    assert {*WRAPPERS, "Cached", "LeftOpen"} == {*classes_around("Wrapper")}  # the last is there not to close its model


def test_every_generate_is_a_coroutine_function() -> None:
    """A library that retries, such as tenacity, takes any other for one that does not wait, and retries nothing."""
    plain = [
        f"{name}.{node.name}"
        for name, found in classes_around("Wrapper").items()
        for node in found.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("generate")
    ]
    assert plain == []


@pytest.mark.parametrize("name", WRAPPERS)
def test_it_keeps_the_contract_of_a_wrapper(name: str) -> None:
    check_model_wrapper(WRAPPERS[name])


def test_the_cache_keeps_the_contract_of_a_wrapper(tmp_path: Path) -> None:
    with closing(CompletionCache(tmp_path / "cache.sqlite", b"secret")) as cache:
        cache.get(cache.key("anybody", Request(prompt="opens the file")))
        check_model_wrapper(lambda model: Cached(model, cache, "id"))


class Closable:
    """A scorer that has something to close."""

    name = "closable"
    only_computes = True
    closed = 0

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        return Score(name=self.name, values={"score": 1.0})

    async def aclose(self) -> None:
        self.closed += 1


def test_a_scorer_that_may_move_is_closed() -> None:
    async def closed() -> int:
        inside = Closable()
        moved = MovedScorer(scorer=inside, part=PartSpec(key="s", use="contains"))
        outside = MayMove(moved, Supervisor(), worth_it_seconds=1.0)
        await outside.aclose()
        return inside.closed

    assert asyncio.run(closed()) == 1
