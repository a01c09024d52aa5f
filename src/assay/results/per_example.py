"""One attempt for readers and comparisons: its prompt, its prediction and its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Struct, UnsetType

from assay.core.journal import counting_lines
from assay.core.types import Failure, Message, Record, Score
from assay.results.conversation import Part, answer_of, described, expected_in, turns_of, words_of
from assay.results.measure import Measure
from assay.results.outcomes import failures_of


class PerExample(Struct, frozen=True, kw_only=True):
    """One attempt, for reading and for comparing predictions between runs."""

    id: str
    attempt: int
    score: float | None
    """The number that the task averages; None when the attempt has none or is not in the aggregates."""
    prediction: str | None
    """The model's answer, or its tool calls where it made some instead: `get_weather(city="Oslo")`."""
    targets: tuple[str, ...]
    prompt: str | None = None
    answer: str | None = None
    values: dict[str, Any] = {}
    """Scorer -> value name -> value."""
    excluded: tuple[str, ...] = ()
    """The task's own rules that keep it out of the aggregates."""
    failure: str | None = None
    """Why the attempt has no score, where something failed."""
    missing: dict[str, str] | UnsetType = UNSET
    """The scorers that failed, each with the reason: scorer -> text. The scores of the others are in `values`."""
    expected: str | UnsetType = UNSET
    """What the answer was compared with where there are no targets, as with a judge."""
    reasons: dict[str, str] | UnsetType = UNSET
    """Each scorer's reason, or that of its judge: scorer -> text."""
    latency_ms: float = 0.0
    metadata: dict[str, Any] = {}


def read_examples(journal: Path, measures: Mapping[str, Measure]) -> dict[str, list[PerExample]]:
    """Every attempt that counts, by task, in the order of the dataset."""
    records = [record for _, record in counting_lines(journal, Record)]
    examples: dict[str, list[PerExample]] = {}
    for record in sorted(records, key=lambda record: (record.task, record.index, record.attempt)):
        examples.setdefault(record.task, []).append(per_example(record, measures.get(record.task, Measure())))
    return examples


def per_example(record: Record, measure: Measure) -> PerExample:
    trace = record.trace
    first = sorted(record.scores, key=lambda score: score.name != measure.scorer)
    return PerExample(
        id=record.sample_id,
        attempt=record.attempt,
        score=measure.of(record),
        prediction=answer_of(trace) if trace is not None else None,
        targets=record.targets,
        prompt=question(trace) if trace is not None else None,
        answer=next((score.answer for score in first if score.answer is not None), None),
        values={score.name: score.values for score in record.scores},
        excluded=record.excluded,
        failure=next(map(_reason, failures_of(measure.scorer, record.failures)), None),
        missing={failure.scorer: _reason(failure) for failure in record.failures if failure.scorer} or UNSET,
        expected=(None if record.targets else expected_in(msgspec.to_builtins(record), measure.compared_with)) or UNSET,
        reasons={score.name: text for score in record.scores if (text := reason_of(score)) is not None} or UNSET,
        latency_ms=round(record.seconds * 1000, 3),
        metadata=record.metadata,
    )


def _reason(failure: Failure) -> str:
    return f"{failure.kind}: {failure.message}"


def reason_of(score: Score) -> str | None:
    """The scorer's reason, or that of its judge; None where neither gives one."""
    return score.reason or judge_words(score)[1]


def judge_words(score: Score) -> tuple[str | None, str | None]:
    """The judge model and its answer; a record may be untrusted."""
    judge = (score.metadata or {}).get("judge")
    if not isinstance(judge, dict):
        return None, None
    model, words = judge.get("model"), judge.get("said")
    return (model if isinstance(model, str) else None), (words if isinstance(words, str) and words else None)


def judge_prompt(score: Score) -> list[tuple[str, str]]:
    """The judge's prompt: role and text of every message."""
    judge = (score.metadata or {}).get("judge")
    messages = judge.get("prompt") if isinstance(judge, dict) else None
    return [
        (str(message.get("role", "")), words_of(message.get("content")))
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict)
    ]


class HasPrompt(Protocol):
    """As much of a `Trace` as holds the prompt."""

    @property
    def prompt(self) -> str | None: ...

    @property
    def messages(self) -> Sequence[Message] | None: ...


def question(trace: HasPrompt) -> str | None:
    """The prompt, or the turns of the conversation that were not the model's own."""
    if trace.prompt is not None or trace.messages is None:
        return trace.prompt
    return "\n\n".join(
        f"{turn.role}: {described(turn.content)}" for turn in trace.messages if turn.role not in OWN_TURNS
    )


def question_media(record: Record) -> list[Part]:
    """The images and sounds of those turns, in their order."""
    turns = turns_of({"trace": msgspec.to_builtins(record.trace)})
    asked = [part for turn in turns if turn.role not in OWN_TURNS for part in turn.parts]
    return [part for part in asked if part.kind in ("image", "audio")]


OWN_TURNS = ("assistant", "tool")
