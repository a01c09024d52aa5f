"""The scorer of an lm_eval task: its own filters and `process_results`, in the process that lm_eval runs in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.bridges.lm_eval.asking import ROLLING
from assay.bridges.lm_eval.lm_eval_process import LIBRARY, named_task
from assay.bridges.process.names import LM_EVAL
from assay.bridges.process.scoring import ScoringQueue
from assay.core.describe import ScorerInfo, describes
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Completion, Sample, Score, Trace
from assay.snippets.process import TIME_LIMIT_SECONDS


class LmEvalScorer:
    """Scores the answers for a document, in the form in which lm_eval's own model would have returned them."""

    def __init__(self, queue: ScoringQueue, key: str, *, asks_greedy: bool, own_code: bool) -> None:
        self.name = key
        self._queue = queue
        self._asks_greedy = asks_greedy
        self._own_code = own_code

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        if not self._own_code:
            raise self._queue.failure("untrusted", "lm_eval's tasks are Python; run with --trust to allow it")
        result = await self._queue.score({"row": sample.row, "responses": self._responses(sample, trace)})
        metadata = {"items": result["items"]}
        return Score(name=self.name, values=result["values"], answer=result["answer"], metadata=metadata)

    def _responses(self, sample: Sample, trace: Trace) -> list[list[Any]]:
        """What lm_eval's own model would have returned for each request, one entry for each repetition."""
        repeats = sample.extras["repeats"]
        requests = sample.extras["requests"]
        if len(trace.completions) != len(requests) * repeats:
            raise self._queue.failure(
                "bad_input", f"the trace holds {len(trace.completions)} answers to {len(requests)} requests"
            )
        answers = iter(trace.completions)
        return [[self._response(request["type"], next(answers)) for _ in range(repeats)] for request in requests]

    def _response(self, kind: str, answer: Completion) -> Any:
        if kind == "generate_until":
            return answer.text
        if kind == ROLLING:
            return answer.logprob
        if answer.is_greedy is None and self._asks_greedy:
            raise self._queue.failure(
                "unsupported",
                "the task needs to know whether the text is the model's greedy continuation, which it does not report",
            )
        return [answer.logprob, bool(answer.is_greedy)]

    async def aclose(self) -> None:
        await self._queue.aclose()


@describes(lambda options, _: ScorerInfo(aggregates=(), runs="library", task_of_library=named_task(options)))
def lm_eval_scorer(
    key: str,
    *,
    task: str,
    library: Mapping[str, Any],
    asks_greedy: bool = False,
    code: list[str] | None = None,
    context: BuildContext = NO_CONTEXT,
) -> LmEvalScorer:
    """The scores of a task of lm-evaluation-harness, by its own filters and metrics.

    `library` is how the task is set up, `code` the Python of its files that runs.
    """
    del code
    seconds = TIME_LIMIT_SECONDS if context.timeout_seconds is None else context.timeout_seconds
    queue = ScoringQueue(
        LIBRARY.process, {**library, "task": task}, part=key, shown=f"{LM_EVAL}{task}", seconds=seconds
    )
    return LmEvalScorer(queue, key, asks_greedy=asks_greedy, own_code=context.own_code)
