"""Budgets of suites inside a run: where one is used up, nothing more of its tasks is begun, and the others go on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing

from assay.core.run import Stop
from assay.core.seams import Executor, Work
from assay.core.types import Record
from assay.costs.part_spending import PartSpending


class WithinParts:
    """Hands on the attempts of the parts that may still spend something, and of all that is in no part."""

    def __init__(
        self, executor: Executor, parts: Sequence[PartSpending], stop: Stop, say: Callable[[str], object]
    ) -> None:
        self._executor, self._parts, self._stop, self._say = executor, parts, stop, say

    async def run(
        self, make_attempt: Callable[[Work], Awaitable[Record]], work: Iterable[Work]
    ) -> AsyncIterator[list[Record]]:
        async with aclosing(self._executor.run(make_attempt, self._allowed(work))) as batches:  # type: ignore[type-var]
            async for records in batches:
                for record in records:
                    for part in self._of(record.task):
                        part.finish(record)
                yield records
        reasons = [part.ended for part in self._parts if part.ended is not None]
        if reasons and not self._stop.signals:  # a person who stopped the run is the reason that counts
            self._stop.end("; ".join(reasons))

    def _allowed(self, work: Iterable[Work]) -> Iterator[Work]:
        for item in work:
            parts = self._of(item.task.definition.name)
            before = {part.ended for part in parts}
            if all([part.may_begin() for part in parts]):  # noqa: C419 - each has a clock of its own
                for part in parts:
                    part.begin()
                yield item
            for reason in dict.fromkeys(part.ended for part in parts):
                if reason is not None and reason not in before:
                    self._say(f"{reason}; the other tasks go on")

    def _of(self, task: str) -> list[PartSpending]:
        return [part for part in self._parts if task in part.tasks]
