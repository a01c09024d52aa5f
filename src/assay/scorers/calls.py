"""Calls of scorers in an event loop of their own, which knows whose code it is in: that one holds up all the others."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any

import msgspec

from assay.core.attempt import failure_of
from assay.core.seams import Scorer
from assay.core.types import Failure, Sample, Score, Trace
from assay.scorers.from_metric import FromMetric

Mark = Callable[[int, int], None]
"""Called with the number of the call whose code begins to run, and which of its steps that is; with 0 when it ends."""


class NotHereError(Exception):
    """The scorer needs something that is only where the run is, such as all the samples of the task."""


def score_now(scorer: Scorer, sample: Sample, trace: Trace) -> Score | Failure | None:
    """The outcome of a scorer that only computes; None for one that waits for something, which this does not run on."""
    call: Any = scorer(sample, trace)
    try:
        call.send(None)
    except StopIteration as returned:
        return outcome_of(scorer, returned.value)
    except NotHereError:
        raise
    except BaseException as error:  # also `SystemExit` and the like: what ends a scorer ends no run
        return failure_of(error, "scorer", scorer.name)
    call.close()
    return None


async def score_in_steps(scorer: Scorer, sample: Sample, trace: Trace, number: int, mark: Mark) -> Score | Failure:
    """The outcome of a scorer that may wait for something; `mark` is called around everything that it does not."""
    try:
        return outcome_of(scorer, await _Steps(scorer(sample, trace), number, mark))
    except NotHereError:
        raise
    except BaseException as error:
        return failure_of(error, "scorer", scorer.name)


def outcome_of(scorer: Scorer, returned: object) -> Score | Failure:
    """What a scorer returned, if the journal can hold it: the author's own may return anything."""
    if isinstance(scorer, FromMetric) and isinstance(returned, Score):
        return returned  # made by us
    try:
        return msgspec.json.decode(msgspec.json.encode(returned), type=Score)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        message = f"returned no Score that can be written to the journal: {type(error).__name__}: {error}"
        return Failure(stage="scorer", part=scorer.name, kind="bad_output", message=message)


class _Steps:
    """Awaited in place of a coroutine, of which it marks every step."""

    def __init__(self, coroutine: Coroutine[Any, Any, Score], number: int, mark: Mark) -> None:
        self._coroutine, self._number, self._mark = coroutine, number, mark
        self._steps = 0

    def __await__(self) -> Generator[Any, Any, Score]:
        sent: Any = None
        raised: BaseException | None = None
        while True:
            self._steps += 1
            self._mark(self._number, self._steps)
            try:
                waits_for = self._coroutine.send(sent) if raised is None else self._coroutine.throw(raised)
            except StopIteration as returned:
                score: Score = returned.value
                return score
            finally:
                self._mark(0, 0)
            sent = raised = None
            try:
                sent = yield waits_for
            except BaseException as error:
                raised = error
