"""How an lm_eval task scores: its own filters and `process_results`, in the process that lm_eval lives in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Completion, Failure, Sample, Score, Trace
from assay.tasks.lm_eval.asking import ROLLING
from assay.tasks.lm_eval.library import library

MOST_AT_ONCE = 64


class LmEvalScorer:
    """Samples that are answered while others are being scored are scored together, in the next call."""

    def __init__(self, key: str, order: dict[str, Any], *, asks_greedy: bool, own_code: bool) -> None:
        self.name = key
        self._order = order
        self._asks_greedy = asks_greedy
        self._own_code = own_code
        self._waiting: list[tuple[dict[str, Any], asyncio.Future[dict[str, Any]]]] = []
        self._scoring: asyncio.Task[None] | None = None

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        if not self._own_code:
            raise self._failure("untrusted", "lm_eval's tasks are Python; run with --trust to allow it")
        found: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append(({"row": sample.row, "responses": self._responses(sample, trace)}, found))
        if self._scoring is None:
            self._scoring = asyncio.create_task(self._score_all())
        made = await found
        if "problem" in made:
            raise self._failure("exception", made["problem"], made["traceback"])
        return Score(name=self.name, values=made["values"], answer=made["answer"], metadata={"items": made["items"]})

    async def _score_all(self) -> None:
        await asyncio.sleep(0)  # whoever is ready joins the first call
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            try:
                samples = [sample for sample, _ in batch]
                scores = (await library().ask_and_wait("score", **self._order, samples=samples))["scores"]
            except Exception as error:
                for _, found in batch:
                    if not found.done():
                        found.set_exception(error)
                continue
            for (_, found), made in zip(batch, scores, strict=True):
                if not found.done():
                    found.set_result(made)
        self._scoring = None

    def _responses(self, sample: Sample, trace: Trace) -> list[list[Any]]:
        """What lm_eval's own model would have returned to each request, one entry for each repetition."""
        repeats = sample.extras["repeats"]
        asked = sample.extras["requests"]
        if len(trace.completions) != len(asked) * repeats:
            raise self._failure(
                "bad_input", f"the trace holds {len(trace.completions)} answers to {len(asked)} requests"
            )
        answers = iter(trace.completions)
        return [[self._response(each["type"], next(answers)) for _ in range(repeats)] for each in asked]

    def _response(self, kind: str, answer: Completion) -> Any:
        if kind == "generate_until":
            return answer.text
        if kind == ROLLING:
            return answer.logprob
        if answer.is_greedy is None and self._asks_greedy:
            raise self._failure(
                "unsupported",
                "the task asks whether the text is what the model would write, and the model does not say so",
            )
        return [answer.logprob, bool(answer.is_greedy)]

    def _failure(self, kind: str, message: str, traceback: str = "") -> FailureError:
        return FailureError(
            Failure(stage="scorer", part=self.name, kind=kind, message=message, traceback=traceback[-4000:])
        )

    async def aclose(self) -> None:
        if self._scoring is not None:
            self._scoring.cancel()
            self._scoring = None


def lm_eval_scorer(
    key: str,
    *,
    task: str,
    library: Mapping[str, Any],
    asks_greedy: bool = False,
    code: list[str] | None = None,
    context: BuildContext = NO_CONTEXT,
) -> LmEvalScorer:
    """The scores that a task of lm-evaluation-harness gives by its own filters and metrics.

    `library` says how the task is set up, `code` which Python of its files runs for it.
    """
    del code
    return LmEvalScorer(key, {**library, "task": task}, asks_greedy=asks_greedy, own_code=context.own_code)
