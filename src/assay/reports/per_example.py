"""One attempt as readers and comparisons see it: what was asked, what was said, what it scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from assay.core.journal import counting_lines
from assay.core.types import Message, Record
from assay.reports.measure import Measure


class PerExample(Struct, frozen=True, kw_only=True):
    """One attempt, for reading and for comparing predictions between runs."""

    id: str
    attempt: int
    score: float | None
    """The number that the task averages; None when the attempt is in no aggregate, or has none."""
    prediction: str | None
    targets: tuple[str, ...]
    prompt: str | None = None
    answer: str | None = None
    values: dict[str, Any] = {}
    """What each scorer gave: scorer -> value name -> value."""
    excluded: tuple[str, ...] = ()
    """The task's own rules that keep it out of the aggregates."""
    failure: str | None = None
    latency_ms: float = 0.0
    metadata: dict[str, Any] = {}


def read_examples(journal: Path, measures: Mapping[str, Measure]) -> dict[str, list[PerExample]]:
    """Every attempt that counts, per task, in the order of the dataset."""
    records = [record for _, record in counting_lines(journal, Record)]
    found: dict[str, list[PerExample]] = {}
    for record in sorted(records, key=lambda record: (record.task, record.index, record.attempt)):
        found.setdefault(record.task, []).append(per_example(record, measures.get(record.task, Measure())))
    return found


def per_example(record: Record, measure: Measure) -> PerExample:
    trace = record.trace
    first = sorted(record.scores, key=lambda score: score.name != measure.scorer)
    return PerExample(
        id=record.sample_id,
        attempt=record.attempt,
        score=measure.of(record),
        prediction=trace.prediction if trace is not None else None,
        targets=record.targets,
        prompt=question(trace) if trace is not None else None,
        answer=next((score.answer for score in first if score.answer is not None), None),
        values={score.name: score.values for score in record.scores},
        excluded=record.excluded,
        failure=f"{record.failures[0].kind}: {record.failures[0].message}" if record.failures else None,
        latency_ms=round(record.seconds * 1000, 3),
        metadata=record.metadata,
    )


class HasPrompt(Protocol):
    """As much of a `Trace` as tells what was asked."""

    @property
    def prompt(self) -> str | None: ...

    @property
    def messages(self) -> Sequence[Message] | None: ...


def question(trace: HasPrompt) -> str | None:
    """What the model was asked: the prompt, or the turns that were not its own."""
    if trace.prompt is not None or trace.messages is None:
        return trace.prompt
    return "\n\n".join(f"{turn.role}: {turn.content}" for turn in trace.messages if turn.role not in OWN_TURNS)


OWN_TURNS = ("assistant", "tool")
