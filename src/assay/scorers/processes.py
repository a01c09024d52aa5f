"""Where a scorer scores: in this process, in worker processes, or in a thread.

The author's own code may never return, so it never runs in the event loop: what can be imported by its name scores in
a worker process, which can be killed, and a function that was passed from Python in a thread, which can only be
abandoned. Built-in scorers score here. Those that turn out to be slow move to worker processes too: one that takes more
than a millisecond would delay every answer that arrives meanwhile, and would use only one core. Scores and failures are
the same wherever they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import thread_time
from typing import Any

from assay import catalog
from assay.core.seams import BuildContext, Model, Preparable, SaysIfPure, Scorer, close_part
from assay.core.types import Completion, PartSpec, Sample, Score, Trace
from assay.own_functions import is_here
from assay.processes.start import cores
from assay.scorers.from_metric import FromMetric
from assay.scorers.hosts import MovedScorer, is_plain
from assay.scorers.judging.rehearsed import Judged, KnowsGold, Verdict
from assay.scorers.supervisor import TIMED, WORTH_IT_SECONDS, Supervisor

BuildScorer = Callable[[BuildContext], Scorer]


def is_own(part: PartSpec) -> bool:
    """Whether a scorer, or the metric or the rule that it applies, is not ours: a user's, or an installed package's."""
    named = {"metric": part.options.get("metric"), "post_process": part.options.get("post_process")}
    return not catalog.is_ours("scorer", part.use) or any(
        isinstance(name, str) and not catalog.is_ours(kind, name) for kind, name in named.items()
    )


def placed(part: PartSpec, build: BuildScorer, context: BuildContext, supervisor: Supervisor | None) -> Scorer:
    """The scorer of this part, built by `build` and placed where it scores; without a `supervisor`, only built."""
    if supervisor is None:
        return build(context)
    if is_own(part):
        return _own_code(part, build, context, supervisor)
    scorer, workers = build(context), supervisor.workers
    if workers == 0 or (workers is None and cores() == 1) or not _only_computes(scorer):
        return scorer
    # a number set by the user is always used; otherwise moving has to be worth it
    worth_it = WORTH_IT_SECONDS if workers is None else 0.0
    return MayMove(_moved(scorer, part, context), supervisor, worth_it_seconds=worth_it)


def _own_code(part: PartSpec, build: BuildScorer, context: BuildContext, supervisor: Supervisor) -> OwnCode:
    from assay.scorers.thread_host import FromAnyLoop  # most runs have only built-in scorers

    models: list[Model] = []

    def model_for(*args: Any, **kwargs: Any) -> Model:
        assert context.model_for is not None  # noqa: S101 - or this function is not given
        models.append(FromAnyLoop(context.model_for(*args, **kwargs), supervisor.loop))
        return models[-1]

    own_context = context if context.model_for is None else replace(context, model_for=model_for)
    scorer = build(own_context)
    kind = JudgingOwnCode if isinstance(scorer, Judged) else OwnCode
    return (StartedOwnCode if isinstance(scorer, Preparable) else kind)(
        _moved(scorer, part, own_context, models), supervisor
    )


def _only_computes(scorer: Scorer) -> bool:
    return isinstance(scorer, SaysIfPure) and scorer.only_computes


def _moved(scorer: Scorer, part: PartSpec, context: BuildContext, models: Sequence[Model] = ()) -> MovedScorer:
    return MovedScorer(
        scorer=scorer,
        part=part,
        context=context,
        models=models,
        computes=_only_computes(scorer),
        reads_answer_only=isinstance(scorer, FromMetric),
        importable=not is_here(part.options.get("metric")) and not isinstance(scorer, Preparable),
    )


class OwnCode:
    """A scorer of the author's: it never runs in the event loop."""

    def __init__(self, moved: MovedScorer, supervisor: Supervisor) -> None:
        self.name = moved.scorer.name
        self._moved, self._supervisor = moved, supervisor

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        # a trace that was read from a journal has gone through JSON anyway; rows and extras may hold what it cannot
        sent = self._moved.importable and is_plain(sample.extras)
        if sent and not self._moved.reads_answer_only:
            sent = is_plain(sample.row) and is_plain(sample.metadata)
        return await self._supervisor.score(self._moved, sample, trace, in_thread=not sent)

    @property
    def only_computes(self) -> bool:
        return self._moved.computes

    def gold(self, sample: Sample) -> Completion | None:
        scorer = self._moved.scorer
        return scorer.gold(sample) if isinstance(scorer, KnowsGold) else None

    async def aclose(self) -> None:
        if not self._moved.was_in_thread:
            await close_part(self._moved.scorer)


class JudgingOwnCode(OwnCode):
    """The same for a scorer that calls another model."""

    def verdicts(self) -> Sequence[Verdict]:
        scorer = self._moved.scorer
        return scorer.verdicts() if isinstance(scorer, Judged) else ()


class StartedOwnCode(OwnCode):
    """The same for a scorer that starts something here, and so scores in a thread."""

    def start_here(self) -> Any:
        scorer = self._moved.scorer
        return scorer.start_here() if isinstance(scorer, Preparable) else None


class MayMove:
    """Times a built-in scorer, then keeps it in this process or moves it to others."""

    def __init__(self, moved: MovedScorer, supervisor: Supervisor, *, worth_it_seconds: float) -> None:
        self.name = moved.scorer.name
        self._moved, self._supervisor = moved, supervisor
        self._scorer = moved.scorer
        self._worth_it = worth_it_seconds
        self._seconds: list[float] = []
        self._stays = False

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        # rows of tables may hold what JSON cannot, and a scorer must see what it would see here
        if self._stays or sample.row is not None:
            return await self._scorer(sample, trace)
        if len(self._seconds) >= TIMED or not self._worth_it:
            if self._moved.importable and is_plain(sample.extras):
                return await self._supervisor.score(self._moved, sample, trace)
            return await self._scorer(sample, trace)
        before = thread_time()
        try:
            return await self._scorer(sample, trace)
        finally:
            self._seconds.append(thread_time() - before)
            self._stays = len(self._seconds) == TIMED and sorted(self._seconds)[TIMED // 2] < self._worth_it

    async def aclose(self) -> None:
        await close_part(self._scorer)
