"""A weighted list of assertions about an answer: one score, and evidence for each.

In addition to those of `assertion_list.py`, an assertion may be about similarity to another text, by its spelling
or by its meaning, and about what the answer cost, how long it took and how it ended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext, Model, offers_of
from assay.core.types import Completion, Failure, Sample, Score, Trace
from assay.patterns.matching import PatternTimeoutError
from assay.prompts.field_template import TemplatedData
from assay.prompts.row_sample import parse_printed
from assay.scorers.assertions.assertion_gold import Wanted, gold_text
from assay.scorers.assertions.assertion_kinds import ALIKE_ENOUGH, KINDS, NEGATION, AssertionKind, Held
from assay.scorers.assertions.json_schema import unsupported
from assay.scorers.embedding import lack_of_embeddings, similarity_of
from assay.scorers.judging.judge import judge_model
from assay.scorers.judging.variables import scorer_field, scorer_variables
from assay.text.wording import shortened

_LONE = re.compile(r"\s*\{\{(?:(?!\}\}).)*\}\}\s*", re.DOTALL)


class _Assertion(NamedTuple):
    kind: str
    negated: bool
    data: TemplatedData
    weight: float
    embeds: Model | None
    lone: tuple[type, ...] = ()
    """What a value that is one `{{ … }}` may be apart from a text."""

    @property
    def about(self) -> AssertionKind:
        return KINDS[self.kind]


_ABOUT_IT = ("type", "weight", "embedding_model", "model")
"""Fields that are not data of an assertion."""


class WeightedAssertions:
    """`score` is 1.0 when all hold, or a share of `threshold` of their weights; `passed` is that share."""

    def __init__(
        self,
        key: str,
        assertions: Sequence[Mapping[str, Any]],
        threshold: float | None,
        text: str | None,
        has_solver: bool,
        context: BuildContext,
    ) -> None:
        self.name = key
        self._threshold = threshold
        self._has_solver = has_solver
        self._cost_of = context.cost_of
        self._text = None if text is None else scorer_field(key, "text", text, context)
        self._assertions = [
            self._made(each, f"scorers.{key}.assertions[{at}]", context) for at, each in enumerate(assertions)
        ]

    def _made(self, given: Mapping[str, Any], field: str, context: BuildContext) -> _Assertion:
        kind = str(given["type"])
        negated = kind.startswith(NEGATION)
        kind = kind.removeprefix(NEGATION)
        if kind not in KINDS:
            raise UsageError(f"scorer `{self.name}`: unknown assertion `{given['type']}`")
        data = {name: value for name, value in given.items() if name not in _ABOUT_IT and value is not None}
        schema = data.get("value")
        rendered = isinstance(schema, str)  # into a schema, of every row its own
        if KINDS[kind].is_schema and not rendered and (problem := schema and unsupported(schema)):
            raise UsageError(f"scorer `{self.name}`: {field}.value: {problem} is not supported in a schema here")
        made = TemplatedData(data, field=field, stage="scorer", part=self.name, context=context)
        lone = KINDS[kind].printed if isinstance(schema, str) and _LONE.fullmatch(schema) else ()
        embeds = self._embedding_model(given, context)
        return _Assertion(kind, negated, made, float(given.get("weight", 1)), embeds, lone)

    def _embedding_model(self, given: Mapping[str, Any], context: BuildContext) -> Model | None:
        key = given.get("embedding_model")
        if key is None:
            return None
        model = judge_model(str(key), given.get("model"), context)
        if context.model_for is not None and (problem := lack_of_embeddings(model.name, offers_of(model))):
            raise UsageError(f"scorer `{self.name}`: `embedding_model: {key}`: {problem}")
        return model

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        variables = scorer_variables(sample, trace, has_solver=self._has_solver)
        text = trace.prediction if self._text is None else self._text.render(variables, sample)
        evidence, held = [], []
        for assertion in self._assertions:
            given = self._given(assertion, variables, sample)
            if assertion.embeds is None:
                outcome = self._looked_up(assertion.kind, text, given, trace)
            else:
                outcome = await self._alike(assertion.embeds, text, given)
            holds = outcome.holds is not assertion.negated
            held.append(holds)
            evidence.append(_evidence(assertion, given, holds, outcome.reason))
        broken = [str(item["type"]) for item in evidence if not item["passed"]]
        return Score(
            name=self.name,
            values={"score": float(self._is_enough(held)), "passed": self._share(held)},
            reason=f"does not hold: {', '.join(broken)}" if broken else None,
            metadata={"assertions": evidence},
        )

    def _given(self, assertion: _Assertion, variables: Mapping[str, Any], sample: Sample) -> dict[str, Any]:
        """Its data rendered; a list, an object or a schema that a lone `{{ … }}` prints is read as such."""
        given: dict[str, Any] = assertion.data.render(variables, sample)
        value = given.get("value")
        if not isinstance(value, str) or not (assertion.lone or assertion.about.is_schema):
            return given
        try:
            read = parse_printed(value)
        except ValueError:
            read = None
        if assertion.about.is_schema and (problem := unsupported(read)):
            message = f"`{assertion.kind}` cannot be checked: the schema {shortened(value)!r}: {problem}"
            raise self._failure("bad_input", message)
        return {**given, "value": read} if isinstance(read, assertion.lone or object) else given

    def gold(self, sample: Sample) -> Completion | None:
        """An answer built from the assertions themselves, if it is checked as it is; None where none can be built."""
        if self._text is not None or not self._has_solver:
            return None
        variables = scorer_variables(sample, Trace(prediction=""), has_solver=True)
        try:
            wanted = [
                Wanted(assertion.kind, assertion.negated, self._given(assertion, variables, sample))
                for assertion in self._assertions
            ]
        except FailureError:
            return None  # what it wants depends on the answer, or the template is wrong: scoring reports that

        def holds(text: str) -> bool:
            return self._is_enough(
                [self._holds_of_text(*item, text) for item in zip(self._assertions, wanted, strict=True)]
            )

        try:
            text = gold_text(wanted, holds)
        except (PatternTimeoutError, KeyError, TypeError, ValueError, AttributeError):
            return None  # scoring reports it
        if text is None or not self._is_enough([not _beyond_a_rehearsal(item) for item in wanted]):
            return None
        reasons = [str(item.data["value"]) for item in wanted if item.kind == "finish_reason" and not item.negated]
        return Completion(text=text, finish_reason=reasons[0] if reasons else None)

    def _holds_of_text(self, assertion: _Assertion, wanted: Wanted, text: str) -> bool:
        """Assertions that are not about the text are taken to hold; so is semantic similarity of equal texts."""
        if not assertion.about.is_about_text:
            return True
        if assertion.embeds is not None:
            return (text.strip() == str(wanted.data["value"]).strip()) is not wanted.negated
        try:
            held = self._looked_up(wanted.kind, text, wanted.data, Trace(prediction=text)).holds
        except FailureError:
            return False  # reported when it is scored
        return held is not wanted.negated

    def _is_enough(self, held: Sequence[bool]) -> bool:
        return all(held) if self._threshold is None else self._share(held) >= self._threshold

    def _share(self, held: Sequence[bool]) -> float:
        weights = [assertion.weight for assertion in self._assertions]
        return sum(weight for weight, holds in zip(weights, held, strict=True) if holds) / sum(weights)

    def _looked_up(self, kind: str, text: str, given: Mapping[str, Any], trace: Trace) -> Held:
        about = KINDS[kind]
        try:
            if about.of_value is not None:
                return Held(about.of_value(text, given.get("value")))
            if about.of_text is not None:
                return about.of_text(text, given)
            if about.of_trace is not None:
                return about.of_trace(trace, given)
            return self._cost(trace, float(given["max_cost"]))
        except PatternTimeoutError as error:
            raise self._failure("timeout", str(error)) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._failure("bad_input", f"`{kind}` cannot be checked: {type(error).__name__}: {error}") from error

    async def _alike(self, model: Model, text: str, given: Mapping[str, Any]) -> Held:
        """By meaning: the cosine of the angle between two embeddings."""
        try:
            likeness = await similarity_of(model, text, str(given["value"]))
        except FailureError as error:
            message = f"embedding model `{model.name}`: {error.failure.message}"
            failure = msgspec.structs.replace(error.failure, stage="scorer", part=self.name, message=message)
            raise FailureError(failure, error.retry_after_seconds) from error
        return Held(likeness >= float(given.get("threshold", ALIKE_ENOUGH)), f"{likeness:.3f}")

    def _cost(self, trace: Trace, most: float) -> Held:
        cost = None if self._cost_of is None else self._cost_of(trace.completions)
        if cost is None:
            raise self._failure("unsupported", "no price is known for this model, or it counts no tokens")
        return Held(cost <= most, f"{cost:g}")

    def _failure(self, kind: str, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind=kind, message=message))


def _beyond_a_rehearsal(wanted: Wanted) -> bool:
    """Whether it demands a slow or an expensive answer: those of a rehearsal take no time and cost nothing."""
    return wanted.negated and wanted.kind in ("cost", "latency")


def _evidence(assertion: _Assertion, given: Mapping[str, Any], holds: bool, reason: str) -> dict[str, Any]:
    kind = f"{NEGATION if assertion.negated else ''}{assertion.kind}"
    shown = {name: shortened(value, 200) if isinstance(value, str) else value for name, value in given.items()}
    evidence = {"found": reason} if reason else {}
    return {"type": kind, **shown, "passed": holds, "weight": assertion.weight, **evidence}
