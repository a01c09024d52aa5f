"""A task's Python that hangs or ends its process costs the sample it was scoring, and nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from assay.bridges.lm_eval.lm_eval_process import LIBRARY
from assay.bridges.lm_eval.scoring import LmEvalScorer, lm_eval_scorer
from assay.bridges.process import scoring
from assay.bridges.process.library_process import LibraryProcess
from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Completion, Sample, Score, Trace

WORKER = """\
import os, sys, time, types
from assay.bridges.lm_eval.worker import results
from assay.bridges.lm_eval.worker.loading import _TASKS, _key

class Instance(types.SimpleNamespace):
    def __init__(self, **fields):
        super().__init__(filtered_resps={}, **fields)

for name in ("lm_eval", "lm_eval.api", "lm_eval.api.instance"):  # which need not be installed
    sys.modules[name] = types.ModuleType(name)
sys.modules["lm_eval.api.instance"].Instance = Instance

class Task:
    OUTPUT_TYPE = "generate_until"
    _filters = None

    def process_results(self, document, results):
        what = results[0]
        while what == "stubborn":
            try:
                time.sleep(60)
            except BaseException:
                pass
        if what == "slow":
            time.sleep(60)
        if what == "crash":
            os._exit(7)
        return {"acc": 1.0}

def answer(order):
    if order["do"] == "load":
        _TASKS[_key(order, order["task"])] = Task()
        return {}
    return results.score(order)
"""


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[LibraryProcess]:
    made = LibraryProcess("lm_eval", WORKER, "")
    monkeypatch.setattr(LIBRARY, "process", lambda: made)
    monkeypatch.setattr(scoring, "GRACE_SECONDS", 0.2)
    yield made
    made.close()


def scorer(task: str, seconds: float = 0.3) -> LmEvalScorer:
    context = BuildContext(own_code=True, timeout_seconds=seconds)
    return lm_eval_scorer("lm_eval", task=task, library={"name": task}, context=context)


async def scored(by: LmEvalScorer, *answers: str) -> list[Score | BaseException]:
    extras = {"contexts": ["Q"], "requests": [{"type": "generate_until", "context": 0}], "repeats": 1}
    sample = Sample(id="0", row={"question": "Q"}, extras=extras)
    traces = [Trace(prediction=text, completions=(Completion(text=text),)) for text in answers]
    return await asyncio.gather(*(by(sample, each) for each in traces), return_exceptions=True)


def failure(found: Score | BaseException) -> tuple[str, str]:
    assert isinstance(found, FailureError), found
    return found.failure.kind, found.failure.message


def test_python_that_hangs_fails_its_own_sample_by_name_and_the_others_are_scored(process: LibraryProcess) -> None:
    async def both() -> tuple[list[Score | BaseException], list[Score | BaseException]]:
        return await asyncio.gather(scored(scorer("slow_one"), "fine", "slow", "fine"), scored(scorer("other"), "fine"))

    (first, slow, last), (other,) = asyncio.run(both())
    assert failure(slow) == ("timeout", "`lm-eval:slow_one`: scoring took longer than 0.3 s (--timeout)")
    for each in (first, last, other):
        assert isinstance(each, Score)
        assert each.values == {"acc": 1.0}


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (
            "stubborn",
            "timeout",
            "`lm-eval:hard`: scoring took longer than 0.3 s (--timeout), and could not be interrupted",
        ),
        ("crash", "exception", "`lm-eval:hard`: scoring ended its process"),
    ],
)
def test_python_that_takes_the_process_with_it_costs_no_other_sample(
    process: LibraryProcess, answer: str, kind: str, message: str
) -> None:
    first, lost, last = asyncio.run(scored(scorer("hard"), "fine", answer, "fine"))
    assert failure(lost) == (kind, message)
    assert isinstance(first, Score)
    assert isinstance(last, Score)
