"""One sample once through its task: what was scored is kept, what broke is a failure, and the run continues."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.scripted import Scripted, broke

from assay.core.attempt import make_attempt, refuse_impossible
from assay.core.errors import FailureError
from assay.core.journal import Journal, read_records
from assay.core.run import run_attempts
from assay.core.seams import Model, Work
from assay.core.task import REFUSED_HERE, Task
from assay.core.types import DatasetSpec, Failure, PartSpec, Record, Request, Sample, Score, TaskDefinition, Trace
from assay.runs.local import LocalExecutor
from assay.tasks.built_tasks import Unavailable

LONE = "\ud83d"
"""Half a character: Python holds it, no JSON file does."""


class Says:
    """A scorer that says one thing, or raises it."""

    def __init__(self, name: str, said: object) -> None:
        self.name = name
        self._said = said

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        if isinstance(self._said, BaseException):
            raise self._said
        return Score(name=self.name, values={"score": 1.0}, metadata={"said": self._said})


async def _ask(sample: Sample, model: Model) -> Trace:
    completion = await model.generate(Request(prompt=sample.prompt))
    return Trace(prediction=completion.text, completions=(completion,))


def a_task(*scorers: Says | Unavailable, actions: dict[str, Callable[..., bool]] | None = None) -> Task:
    definition = TaskDefinition(
        name="t",
        format="spec_file",
        dataset=DatasetSpec(use="inline"),
        solver=PartSpec(key="solver", use="single_turn"),
        scorers=(),
        aggregates=(),
        metric="m",
    )
    samples: Any = [Sample(id=str(number), prompt=str(number)) for number in range(3)]
    return Task(
        definition=definition,
        dataset=samples,
        solver=_ask,
        scorers={scorer.name: scorer for scorer in scorers},
        actions=actions or {},
    )


def attempt(task: Task, *answers: str | Exception) -> Record:
    work = Work(task, 0, Sample(id="a", prompt="?"), 1, "1f")
    return asyncio.run(make_attempt(work, Scripted(answers)))


def test_a_scorer_that_breaks_takes_no_other_score_with_it() -> None:
    record = attempt(a_task(Says("first", ZeroDivisionError("by nought")), Says("second", "fine")))
    assert [score.name for score in record.scores] == ["second"]
    assert [(failure.stage, failure.part, failure.kind) for failure in record.failures] == [
        ("scorer", "first", "exception")
    ]
    assert record.failures[0].message.startswith("ZeroDivisionError: by nought (test_attempt.py:")


@pytest.mark.parametrize("said", [SystemExit(0), asyncio.CancelledError()])
def test_a_part_that_exits_or_cancels_itself_fails_its_own_attempt(said: BaseException) -> None:
    # `sys.exit` in a metric used to end the whole run with status 0 and no leaderboard
    record = attempt(a_task(Says("first", said), Says("second", "fine")))
    assert [score.name for score in record.scores] == ["second"]
    assert [(failure.part, failure.kind) for failure in record.failures] == [("first", "exception")]


def test_an_attempt_that_is_cancelled_from_outside_is_cancelled() -> None:
    async def go() -> None:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        await asyncio.sleep(0)

    class Cancelled(Says):
        async def __call__(self, sample: Sample, trace: Trace) -> Score:
            await go()
            raise AssertionError("not cancelled")

    with pytest.raises(asyncio.CancelledError):
        attempt(a_task(Cancelled("m", "fine")))


def test_a_model_that_fails_leaves_no_trace_and_its_own_failure() -> None:
    record = attempt(a_task(Says("m", "fine")), broke("rate_limit"))
    assert (record.trace, record.scores) == (None, ())
    assert record.failures == (Failure(stage="model", kind="rate_limit", message="rate_limit", retryable=True),)


def test_every_rule_is_applied_to_every_attempt_whatever_failed() -> None:
    def broken(sample: Sample, trace: Trace | None, scores: tuple[Score, ...]) -> bool:
        raise ValueError("no such column")

    always = {"always": lambda sample, trace, scores: True}
    for scorer in (Says("m", "fine"), Says("m", ValueError())):
        assert attempt(a_task(scorer, actions=always)).excluded == ("always",)
    record = attempt(a_task(Says("m", "fine"), actions={"broken": broken, **always}))
    assert (record.excluded, [failure.stage for failure in record.failures]) == (("always",), ["action"])
    # a rule without the score that it looks at might have excluded the attempt, so no other score counts either
    record = attempt(a_task(Says("m", ValueError()), Says("other", "fine"), actions={"broken": broken}))
    assert [(failure.stage, failure.scorer) for failure in record.failures] == [("scorer", "m"), ("action", "")]


def test_a_scorer_that_fails_leaves_only_its_own_score_missing() -> None:
    model_broke = FailureError(Failure(stage="model", part="some model", kind="timeout", message="too slow"))
    record = attempt(a_task(Says("a", "fine"), Says("b", model_broke), Says("c", ValueError())))
    assert [score.name for score in record.scores] == ["a"]
    assert [(each.scorer, each.stage, each.kind) for each in record.failures] == [
        ("b", "model", "timeout"),
        ("c", "scorer", "exception"),
    ]


def test_no_model_is_called_for_a_task_that_no_scorer_can_score_here() -> None:
    lacking = Unavailable("a", Failure(stage="sandbox", kind=REFUSED_HERE, message="no sandbox"))
    record = attempt(replace(a_task(lacking), unusable=lacking.failure))
    assert (record.trace, record.failures) == (None, (lacking.failure,))
    record = attempt(a_task(lacking, Says("b", "fine")))
    assert [score.name for score in record.scores] == ["b"]
    assert [(each.scorer, each.kind) for each in record.failures] == [("a", REFUSED_HERE)]


UNWRITABLE = [
    ("solver", ["fine", f"half {LONE}", "fine"], Says("m", "fine")),
    ("scorer", [], Says("m", f"half {LONE}")),
    ("scorer", [], Says("m", object())),
    ("scorer", [], Says("m", ValueError(f"half {LONE}"))),
]


@pytest.mark.parametrize(("stage", "answers", "scorer"), UNWRITABLE)
def test_what_no_journal_line_can_hold_fails_its_own_attempt_and_not_the_run(
    tmp_path: Path, stage: str, answers: list[str | Exception], scorer: Says
) -> None:
    seen: list[Record] = []

    async def go() -> None:
        journal = Journal(tmp_path / "journal.jsonl")
        task = a_task(scorer, Says("other", "fine"))
        await run_attempts(
            [task],
            Scripted(answers),
            journal,
            LocalExecutor(1),
            finished=(),
            settings=Request(),
            on_records=seen.extend,
        )
        journal.close()

    asyncio.run(go())
    written = [*read_records(tmp_path / "journal.jsonl")]
    assert written == seen
    broken = [record for record in written if record.failures]
    assert [record.sample_id for record in broken] == (["1"] if answers else ["0", "1", "2"])
    assert {failure.stage for record in broken for failure in record.failures} == {stage}
    assert [score.name for score in broken[0].scores] == ([] if stage == "solver" else ["other"])


@pytest.mark.parametrize(
    ("value", "says"),
    [(7.5, "`stars` is 7.5, outside of 1 to 5"), (math.inf, "`words` is inf, too large for a number")],
)
def test_a_number_that_cannot_be_is_a_failure_and_no_score(value: float, says: str) -> None:
    name = says.split("`")[1]
    with pytest.raises(FailureError, match=says):
        refuse_impossible(Score(name="own", values={"ok": True, "label": "x", name: value}), {"stars": (1.0, 5.0)})
