"""The scorer of an Inspect task: its own scorer in Inspect's process; graders are called from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.bridges.inspect.inspect_process import LIBRARY
from assay.bridges.process.names import INSPECT
from assay.bridges.process.scoring import ScoringQueue
from assay.core.describe import ScorerInfo, describes
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Message, Request, Sample, Score, Trace
from assay.scorers.judging.judge import ask_judge, judge_model, usage
from assay.snippets.process import TIME_LIMIT_SECONDS

MOST_VERDICTS = 20
"""How often a scorer may call its grader for one answer, so that it ends."""


class InspectScorer:
    """`score` as Inspect's metrics count it, and `value` where the scorer returned a letter or word."""

    def __init__(self, queue: ScoringQueue, key: str, *, grader: Model | None, own_code: bool) -> None:
        self.name = key
        self._queue = queue
        self._grader = grader
        self._own_code = own_code

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        if not self._own_code:
            raise self._queue.failure("untrusted", "Inspect tasks are Python; run with --trust to allow it")
        verdicts: list[Completion] = []
        result = await self._scored(sample, trace, verdicts)
        while "asks" in result:
            verdicts.append(await self._verdict(result["asks"], len(verdicts)))
            result = await self._scored(sample, trace, verdicts)
        if result["unscored"]:
            raise self._queue.failure("bad_output", result["reason"] or "its scorer gave no score")
        metadata = dict(result["metadata"])
        if self._grader is not None and verdicts:
            metadata["judge"] = {**usage(self._grader, *verdicts), "said": verdicts[-1].text}
        return Score(
            name=self.name,
            values=result["values"],
            answer=result["answer"],
            extracted=result["values"].get("value") != "N",
            reason=result["reason"],
            metadata=metadata or None,
        )

    async def _scored(self, sample: Sample, trace: Trace, verdicts: list[Completion]) -> dict[str, Any]:
        reason = trace.completions[-1].finish_reason if trace.completions else None
        return await self._queue.score(
            {
                "sample": sample.row,
                "messages": sample.extras["messages"],
                "answer": {"text": trace.prediction, "finish_reason": reason},
                "verdicts": [verdict.text for verdict in verdicts],
            }
        )

    async def _verdict(self, request: Mapping[str, Any], before: int) -> Completion:
        if self._grader is None or before >= MOST_VERDICTS:
            raise self._queue.failure("bad_output", f"its scorer asked a grader {before + 1} times")
        settings = dict(request["generation"])
        if "stop" in settings:
            settings["stop"] = tuple(settings["stop"])
        messages = tuple(msgspec.convert(request["messages"], list[Message]))
        # whether its verdict is usable is known only to the task's own scorer, so it is not asked again
        _, completion = await ask_judge(
            self._grader, Request(messages=messages, **settings), self.name, lambda answer: answer, retries=0
        )
        return completion

    async def aclose(self) -> None:
        await self._queue.aclose()


def _about(options: Mapping[str, Any], _: object) -> ScorerInfo:
    library = options.get("library")
    task = library if isinstance(library, Mapping) else {}
    file = f"{task['file']}@" if task.get("file") else ""
    return ScorerInfo(
        reads_verdicts_itself=options.get("model_key") is not None,
        runs="library",
        aggregates=(),
        task_of_library=f"{INSPECT}{file}{task.get('name')}",
    )


@describes(_about)
def inspect_scorer(
    key: str,
    *,
    library: Mapping[str, Any],
    scorer: int = 0,
    code: list[str] | None = None,
    model_key: str | None = None,
    model: Mapping[str, Any] | None = None,
    context: BuildContext = NO_CONTEXT,
) -> InspectScorer:
    """The score of an Inspect task, by its own scorer; `scorer` is its index among those of the task.

    `library` is how the task is set up, `code` the Python that runs, `model_key` the grader, for scorers that call one.
    """
    del code
    seconds = TIME_LIMIT_SECONDS if context.timeout_seconds is None else context.timeout_seconds
    order = {**library, "scorer": scorer}
    queue = ScoringQueue(LIBRARY.process, order, part=key, shown=f"{INSPECT}{library['name']}", seconds=seconds)
    grader = None if model_key is None else judge_model(model_key, model, context)
    return InspectScorer(queue, key, grader=grader, own_code=context.own_code)
