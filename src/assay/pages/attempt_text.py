"""One attempt as text for a terminal: question, answer, scores and reasons."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from assay.core.types import Failure, Record, Score
from assay.pages.document import Span, Style, text_of
from assay.pages.terminal import Row, sentence_lines
from assay.results.board.weak_passes import is_weak_pass
from assay.results.conversation import (
    Part,
    SentPrompt,
    call_text,
    ends_kept,
    framed_turns,
    mention,
    question_in,
    sent_prompt,
    without_examples,
)
from assay.results.measure import Measure
from assay.results.per_example import PerExample, judge_prompt, judge_words, per_example
from assay.run_config import RunConfig
from assay.run_file import RunFile
from assay.text.numbers import milliseconds, number
from assay.text.printable import one_line, printable
from assay.text.wording import count_of

INDENT = " " * 13


@dataclass(frozen=True, slots=True)
class AttemptText:
    """One attempt as text: a title, and named fields."""

    title: tuple[Span, ...]
    fields: Sequence[tuple[str, str]]

    def text(self) -> str:
        """Every field on its own line or lines, without wrapping."""
        lines = (_label(name) + text.replace("\n", f"\n{INDENT}") for name, text in self.fields)
        return "\n".join([text_of(self.title), *lines])

    def lines(self, width: int) -> list[Row]:
        """The same wrapped to fit a terminal, with the names in a column."""
        rows = sentence_lines(self.title, width)
        for name, text in self.fields:
            for place, line in enumerate(text.split("\n")):
                rows += sentence_lines(line, width, first=_label(name) if not place else INDENT if line else "")
        return rows


def attempt_text(
    record: Record,
    measures: Mapping[str, Measure],
    *,
    longest: int | None,
    beginnings: Mapping[str, str] = MappingProxyType({}),
    run: RunFile | None = None,
) -> AttemptText:
    """One attempt, turn by turn; with `longest`, one line for the question and one for the answer.

    `beginnings` is the shared beginning of each task's prompts: left out of the line, and its few-shot examples out of
    the turns. `run` is the attempt's: its system message and prefill surround each request, which its model got.
    """
    measure = measures.get(record.task, Measure())
    example = per_example(record, measure)
    verdict = "failed" if example.failure is not None else f"score {number(example.score)}"
    if any(is_weak_pass(score.values, score.metadata) for score in record.scores):
        verdict += ", a weak pass"
    title = (
        Span(_fitted(f"{record.task} / {example.id}", None), "strong"),
        Span(f"   attempt {example.attempt}   "),
        Span(verdict, _style_of(example)),
        Span(f"   {milliseconds(example.latency_ms)} ms", "quiet"),
    )
    fields = [
        *(
            _conversation(record, run, beginnings)
            if longest is None
            else _in_one_line(record, example.prediction, longest, beginnings)
        ),
        ("read as", example.answer),
        ("targets", " / ".join(example.targets) or None),
        ("expected", example.expected or None),
        *(line for failure in record.failures for line in _failure_lines(failure, longest)),
        *((measure.labels.get(score.name, score.name), _values(score.values)) for score in record.scores),
        *(line for score in record.scores for line in _reasons(score, longest)),
        ("excluded by", ", ".join(record.excluded) or None),
    ]
    return AttemptText(title, [(name, _fitted(text, longest)) for name, text in fields if text is not None])


def _label(name: str) -> str:
    return f"  {name + ':':<10} "


def _style_of(example: PerExample) -> Style:
    if example.failure is not None or example.score == 0.0:
        return "bad"
    return "good" if example.score == 1.0 else "plain"


def _in_one_line(
    record: Record, prediction: str | None, longest: int, beginnings: Mapping[str, str]
) -> Iterator[tuple[str, str | None]]:
    question = question_in(msgspec.to_builtins(record), beginnings)
    yield "input", ends_kept(" ".join(question.split()), longest - 40) or None
    yield "answer", prediction


def _conversation(record: Record, run: RunFile | None, beginnings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    plain = msgspec.to_builtins(record)
    config = run.config if run is not None else RunConfig()
    turns = without_examples(plain, beginnings.get(record.task, ""))
    for turn in framed_turns(turns, config.system, config.prefill):
        for part in turn.parts or (Part(kind="text"),):
            yield from _part_lines(turn.role, part)
    if run is not None:
        yield from _sent_lines(sent_prompt(plain, run.model))
    if cut := max((completion.cut for completion in record.trace.completions), default=0) if record.trace else 0:
        yield "cut", f"the first {count_of(cut, 'token')} of the prompt, which is beyond the model's context"


def _sent_lines(prompt: SentPrompt) -> Iterator[tuple[str, str]]:
    """The first text as it was sent; of others, which differ in where they were cut or in a choice, the ends."""
    if prompt.note is not None:
        yield "sent", prompt.note
        return
    for place, text in enumerate(prompt.texts):
        yield ("sent", text) if not place else (f"sent, {place + 1}", ends_kept(text, 300))


def _part_lines(name: str, part: Part) -> Iterator[tuple[str, str]]:
    """A part as text; an image or a sound is only mentioned."""
    if part.kind == "call":
        yield "called", call_text(part)
        for inner in part.result or ():
            yield from _part_lines("result", inner)
    elif part.kind in ("image", "audio"):
        yield name, mention(part)
    elif part.kind == "data":
        yield name, json.dumps(part.value, ensure_ascii=False)
    else:
        yield name if part.kind == "text" else part.kind, part.text


def _failure_lines(failure: Failure, longest: int | None) -> Iterator[tuple[str, str]]:
    yield "failed", f"{failure.stage}, {failure.kind}: {failure.message}"
    if failure.traceback and longest is None:
        yield "raised", failure.traceback


def _reasons(score: Score, longest: int | None) -> Iterator[tuple[str, str | None]]:
    """The reasons for a score, from its checks and its judge; without `longest`, also the judge's prompt."""
    yield f"{score.name}, why", score.reason
    for note in _evidence_notes(score):
        yield f"{score.name}, found", note
    model, words = judge_words(score)
    if longest is None and model is not None:
        for role, text in judge_prompt(score):
            yield f"prompt of {model} ({role})", text
    yield f"{model or 'the judge'} said", words if words != score.reason else None


def _evidence_notes(score: Score) -> Iterator[str]:
    """The notes of a metric's evidence, without the spans of text that a page marks."""
    evidence = (score.metadata or {}).get("evidence")
    for item in evidence if isinstance(evidence, list) else ():
        if isinstance(item, dict) and item.get("kind") != "span" and isinstance(item.get("note"), str):
            sign = "✓ " if item.get("good") is True else "✗ " if item.get("good") is False else ""
            yield sign + item["note"]


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} {number(value)}" if type(value) is float else f"{name} {value}" for name, value in values.items()
    )


def _fitted(text: str, longest: int | None) -> str:
    """Text without control characters; whole, unless it must be one line."""
    return printable(text) if longest is None else one_line(text, longest)
