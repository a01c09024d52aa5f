"""A list of deterministic assertions about a text, all of which must hold: equals, contains, regex, is-json, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from assay.core.describe import ScorerInfo, describes, mean_of, share
from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext, Scorer
from assay.core.types import Completion, Failure, Sample, Score, Trace
from assay.metrics.evidence import LONGEST_QUOTE, note
from assay.part_options import ANSWER, Doc, InFiles, TemplateOption, part
from assay.patterns.matching import PatternTimeoutError
from assay.scorers.assertions.assertion_kinds import ASSERTIONS


class AssertionList:
    """`score` is 1.0 when every one of `extras.assertions` holds; `passed` is the share that does."""

    only_computes = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        asserted = sample.extras.get("assertions")
        if not isinstance(asserted, list) or not asserted:
            raise self._bad("extras.assertions must be a list of objects with `type` and `value`")
        try:
            held = [holds(trace.prediction, item) for item in asserted]
        except PatternTimeoutError as error:
            raise FailureError(Failure(stage="scorer", part=self.name, kind="timeout", message=str(error))) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._bad(f"an assertion cannot be checked: {type(error).__name__}: {error}") from error
        broken = [each["type"] for each, right in zip(asserted, held, strict=True) if not right]
        return Score(
            name=self.name,
            values={"score": float(all(held)), "passed": sum(held) / len(held)},
            reason=f"does not hold: {', '.join(broken)}" if broken else None,
            metadata={
                "evidence": [note(_as_text(each), good=right) for each, right in zip(asserted, held, strict=True)]
            },
        )

    def gold(self, sample: Sample) -> Completion | None:
        """An answer built from the assertions themselves; None where none can be built, or they cannot be checked."""
        from assay.scorers.assertions.assertion_gold import Wanted, gold_text  # needed only when a task is checked

        asserted = sample.extras.get("assertions")
        if not isinstance(asserted, list) or not asserted:
            return None
        try:
            wanted = [
                Wanted(kind.removeprefix("not-").replace("-", "_"), kind.startswith("not-"), item)
                for item in asserted
                for kind in [str(item["type"])]
            ]
            text = gold_text(wanted, lambda text: all(holds(text, item) for item in asserted))
        except (PatternTimeoutError, KeyError, TypeError, ValueError, AttributeError):
            return None  # scoring reports it
        return None if text is None else Completion(text=text)

    def _bad(self, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind="bad_request", message=message))


def _as_text(assertion: dict[str, Any]) -> str:
    """An assertion in a line."""
    value = assertion.get("value")
    return str(assertion["type"]) if value is None else f"{assertion['type']} {str(value)[:LONGEST_QUOTE]}"


def holds(text: str, assertion: dict[str, Any]) -> bool:
    """Whether one assertion holds for a text; `not-` before its type negates it."""
    kind = str(assertion["type"])
    checked = ASSERTIONS[kind.removeprefix("not-")](text, assertion.get("value"))
    return not checked if kind.startswith("not-") else checked


def _described(options: Mapping[str, Any]) -> ScorerInfo:
    return ScorerInfo(
        values=(share("score"), share("passed")),
        aggregates=(
            mean_of("score", key="all_hold", name="all_hold"),
            mean_of("passed", key="passed", name="passed"),
        ),
        empty_may_score=options.get("assertions") is not None,
    )


@describes(lambda options, _: _described(options))
@part(
    "A weighted list of assertions: one score, evidence for each.",
    example="""\
type: assertions
threshold: 0.75
assertions:
  - {type: icontains, value: "{{ sample.city }}", weight: 2}
  - {type: word_count, max: 50}
""",
)
def assertions(
    key: str,
    *,
    assertions: Annotated[Sequence[Mapping[str, Any]] | None, Doc("What must hold."), InFiles()] = None,
    threshold: Annotated[
        float | None,
        Meta(ge=0, le=1),
        Doc("The share of the weights needed to pass; all of them when absent."),
    ] = None,
    text: Annotated[
        str | None, TemplateOption("Template of the text that is looked at; the last answer when absent.", ANSWER)
    ] = None,
    has_solver: bool = True,
    context: BuildContext = NO_CONTEXT,
) -> Scorer:
    """Every one of `assertions`, or of the sample's `extras.assertions`, must hold: equals, contains, regex, is-json, …

    Each can be negated with the prefix `not-`. Those of the task may have a `weight`, and may be templates; with a
    `threshold`, that share of the weights is enough. `text` is the template of the text to check.
    """
    if assertions is None:
        return AssertionList(key)
    from assay.scorers.assertions.weighted_assertions import WeightedAssertions

    return WeightedAssertions(key, assertions, threshold, text, has_solver, context)
