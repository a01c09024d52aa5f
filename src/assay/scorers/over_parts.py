"""A solver's `postprocessor`: the author's Python takes an answer apart, and every part is scored by itself.

One request may hold several questions. `postprocess(sample, solver_output)` returns pairs of a sample and what was
answered to it; a scorer sees each pair, and the sample's values are the means over its parts. The sample stays what is
counted: parts of one answer are not independent measurements.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import FailureError
from assay.core.seams import BuildContext, Preparable, Scorer, close_part
from assay.core.types import Completion, Failure, Message, Sample, Score, Trace
from assay.scorers.judging.rehearsed import Judged, Verdict
from assay.snippets.payload import payload_of
from assay.snippets.process import Snippet
from assay.snippets.views import SolverTrace, chat_messages

FIELD = "definition.solver.postprocessor.postprocess_snippet"
_REMEMBERED = 256
"""Answers whose parts are kept for the next scorer."""


class AnswerPart(NamedTuple):
    """A sample of its own, and what was answered to it."""

    sample: Sample
    trace: Trace


class Postprocessor:
    """The snippet, called once for each answer however many scorers use its parts."""

    def __init__(self, source: str, context: BuildContext) -> None:
        self._snippet = Snippet(source, function="postprocess", stage="solver", part="postprocessor", context=context)
        self._asked: dict[int, tuple[Trace, asyncio.Future[list[AnswerPart]]]] = {}

    async def parts(self, sample: Sample, trace: Trace) -> list[AnswerPart]:
        known = self._asked.get(id(trace))
        if known is None or known[0] is not trace:
            while len(self._asked) >= _REMEMBERED:
                del self._asked[next(iter(self._asked))]
            known = self._asked[id(trace)] = trace, asyncio.ensure_future(self._take_apart(sample, trace))
        return await known[1]

    async def _take_apart(self, sample: Sample, trace: Trace) -> list[AnswerPart]:
        try:
            parts = await self._snippet.call({"value": sample.row or {}}, {"solver_output": payload_of(trace)})
        except FailureError as error:
            raise FailureError(msgspec.structs.replace(error.failure, field=FIELD)) from error
        if not parts:
            message = f"sample `{sample.id}`: postprocess must return at least one pair of a sample and its output"
            raise FailureError(
                Failure(stage="solver", part="postprocessor", kind="bad_output", field=FIELD, message=message)
            )
        return [_part(sample, trace, part) for part in parts]

    async def aclose(self) -> None:
        await self._snippet.aclose()


def _part(sample: Sample, trace: Trace, answer_part: dict[str, Any]) -> AnswerPart:
    items, text = answer_part["items"], answer_part["text"]
    messages = chat_messages(SolverTrace(items).items)
    outputs = [Completion(text=output["text"], raw=output["data"]) for output in answer_part["outputs"]]
    # what the whole answer took (seconds, tokens) stays with the whole: a part has only its text
    answered = outputs[-1] if outputs else Completion(text=text)
    if trace.completions:
        answered = msgspec.structs.replace(trace.completions[-1], text=answered.text, raw=answered.raw)
    return AnswerPart(
        msgspec.structs.replace(sample, row=answer_part["sample"]),
        Trace(
            prediction=text,
            messages=tuple(Message(**message) for message in messages),
            completions=(*trace.completions[:-1], answered),
            items=items,
        ),
    )


class OverParts:
    """The scorer inside sees every part of an answer."""

    def __init__(self, scorer: Scorer, postprocessor: Postprocessor) -> None:
        self.name = scorer.name
        self._scorer = scorer
        self._postprocessor = postprocessor

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        parts = await self._postprocessor.parts(sample, trace)
        scores = [await self._scorer(part.sample, part.trace) for part in parts]
        if len(scores) == 1:
            return scores[0]
        evidence = [
            {"answer": part.trace.prediction, "values": score.values}
            | ({"reason": score.reason} if score.reason else {})
            | ({"metadata": score.metadata} if score.metadata else {})
            for part, score in zip(parts, scores, strict=True)
        ]
        reasons = [f"part {number}: {each.reason}" for number, each in enumerate(scores, 1) if each.reason]
        return Score(
            name=self.name,
            values={name: self._mean(name, scores) for score in scores for name in score.values},
            extracted=all(score.extracted for score in scores),
            reason="; ".join(reasons) or None,
            metadata={"parts": evidence},
        )

    def _mean(self, name: str, scores: Sequence[Score]) -> float | None:
        values = [score.values[name] for score in scores if score.values.get(name) is not None]
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        if len(numbers) < len(values):
            message = (
                f"`{name}` is a text, and those of {len(scores)} parts make no value of the sample; "
                "return one part, or numbers"
            )
            raise FailureError(Failure(stage="scorer", part=self.name, kind="unsupported", message=message))
        return sum(numbers) / len(numbers) if numbers else None

    async def aclose(self) -> None:
        await close_part(self._scorer)
        await self._postprocessor.aclose()


class JudgedOverParts(OverParts):
    """The same for a scorer that calls another model."""

    def verdicts(self) -> Sequence[Verdict]:
        return self._scorer.verdicts() if isinstance(self._scorer, Judged) else ()


class StartedOverParts(OverParts):
    """The same for a scorer with something to start."""

    def start_here(self) -> Any:
        return self._scorer.start_here() if isinstance(self._scorer, Preparable) else None


def over_parts(scorer: Scorer, postprocessor: Postprocessor) -> OverParts:
    kind = JudgedOverParts if isinstance(scorer, Judged) else OverParts
    return (StartedOverParts if isinstance(scorer, Preparable) else kind)(scorer, postprocessor)
