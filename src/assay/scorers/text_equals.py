"""`string_equals`, `string_equals_mcqa`, `bleu`, and the counts of corpus BLEU and chrF: texts compared, without a
judge.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from assay.core.describe import DefaultAggregate, ScorerInfo, count, describes, mean_of, share
from assay.core.errors import UsageError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Completion, Sample, Score, ScoreValue, Trace
from assay.metrics.corpus_overlap import BLEU_COUNTS, CHRF_COUNTS, bleu_counts, chrf_counts
from assay.metrics.overlap import bleu_4
from assay.overriding import override
from assay.part_options import OldName, TemplateOption, part
from assay.prompts.row_sample import parse_list
from assay.prompts.written_text import row_variables
from assay.scorers.judging.variables import gold_field, scorer_field, scorer_variables
from assay.scorers.over_row import EmptyGold, LookedAt

_RIGHT_OR_WRONG = ScorerInfo(values=(share("is_correct"),), aggregates=(mean_of("is_correct", name="accuracy"),))


class _Compared:
    """What both text scorers share: the expected text, and the text it is compared with."""

    def __init__(
        self,
        key: str,
        *,
        ground_truth: Annotated[str, TemplateOption("Template of the expected text; may read `sample`.")],
        value: LookedAt = None,
        empty_gold: EmptyGold = "refused",
        has_solver: bool = True,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        if value is None and not has_solver:
            raise UsageError(f"scorer `{key}`: a task without a solver has no answer to compare; give `value`")
        self.name = key
        self._has_solver = has_solver
        self._truth = gold_field(key, "ground_truth", ground_truth, context, empty_gold)
        self._value = None if value is None else scorer_field(key, "value", value, context)

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        truth, given = self._truth.render(row_variables(sample), sample), trace.prediction
        if self._value is not None:
            given = self._value.render(scorer_variables(sample, trace, has_solver=self._has_solver), sample)
        metadata = {"answer_gt": truth, "answer_pred": given}
        return Score(name=self.name, values=self.values(truth, given), metadata=metadata)

    def values(self, truth: str, given: str) -> dict[str, ScoreValue]:
        raise NotImplementedError

    def gold(self, sample: Sample) -> Completion | None:
        """The expected text, where the answer is compared as it is."""
        if self._value is not None:
            return None
        return Completion(text=self._truth.render(row_variables(sample), sample))


@describes(_RIGHT_OR_WRONG)
@part("Exact equality of two texts.", example='ground_truth: "{{ sample.answer }}"')
class StringEquals(_Compared):
    """`is_correct`: the rendered texts are equal, case and whitespace included."""

    @override
    def values(self, truth: str, given: str) -> dict[str, ScoreValue]:
        return {"is_correct": truth == given}


@describes(ScorerInfo(values=(share("bleu_score"),), aggregates=(mean_of("bleu_score"),)))
@part("Word overlap with the expected text.", example='ground_truth: "{{ sample.answer }}"')
class Bleu(_Compared):
    """`bleu_score` in [0, 1]: the `bleu_4` metric against one reference. Says little about single words."""

    @override
    def values(self, truth: str, given: str) -> dict[str, ScoreValue]:
        return {"bleu_score": bleu_4(given, (truth,), {})}


@describes(
    ScorerInfo(values=tuple(count(name) for name in BLEU_COUNTS), aggregates=(DefaultAggregate(use="corpus_bleu"),))
)
@part("What corpus BLEU counts in an answer.", example='ground_truth: "{{ sample.answer }}"')
class CorpusBleu(_Compared):
    """The counts of one answer against one reference, which the aggregate `corpus_bleu` sums over the task."""

    @override
    def values(self, truth: str, given: str) -> dict[str, ScoreValue]:
        return dict(zip(BLEU_COUNTS, map(float, bleu_counts(given, truth)), strict=True))


@describes(
    ScorerInfo(values=tuple(count(name) for name in CHRF_COUNTS), aggregates=(DefaultAggregate(use="corpus_chrf"),))
)
@part("What corpus chrF counts in an answer.", example='ground_truth: "{{ sample.answer }}"')
class CorpusChrf(_Compared):
    """The counts of one answer against one reference, which the aggregate `corpus_chrf` sums over the task."""

    @override
    def values(self, truth: str, given: str) -> dict[str, ScoreValue]:
        return dict(zip(CHRF_COUNTS, map(float, chrf_counts(given, truth)), strict=True))


def _of_column(name: str) -> str:
    return f"{{{{ sample.{name} }}}}"


@describes(msgspec.structs.replace(_RIGHT_OR_WRONG, needs_answer=True))
@part(
    "The first character of the answer against the right choice.",
    example='ground_truth_choice: "{{ sample.answer }}", choices: "{{ sample.choices }}"',
)
class MultipleChoice:
    """`is_correct`: the answer's first character, untrimmed, is the right choice."""

    def __init__(
        self,
        key: str,
        *,
        ground_truth_choice: Annotated[
            str, TemplateOption("Template of the right choice."), OldName("ground_truth_choice_field", _of_column)
        ],
        choices: Annotated[
            str, TemplateOption("Template of the list of choices."), OldName("choices_field", _of_column)
        ],
        has_solver: bool = True,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        if not has_solver:
            raise UsageError(f"scorer `{key}`: a task without a solver has no answer to compare")
        self.name = key
        self._truth = gold_field(key, "ground_truth_choice", ground_truth_choice, context)
        self._choices = scorer_field(key, "choices", choices, context)

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        row = row_variables(sample)
        truth, choices = self._right(row, sample)
        predicted = trace.prediction[:1]
        return Score(
            name=self.name,
            values={"is_correct": predicted == truth},
            answer=predicted,
            extracted=bool(predicted),
            metadata={
                "ground_truth_choices": choices,
                "ground_truth_correct_choice": truth,
                "predicted_choice": predicted,
                "completion_validity": _validity(predicted, choices),
            },
        )

    def gold(self, sample: Sample) -> Completion | None:
        return Completion(text=self._right(row_variables(sample), sample)[0])

    def _right(self, row: dict[str, Any], sample: Sample) -> tuple[str, list[str]]:
        """The right choice and the choices that it is one of."""
        truth, choices = self._truth.render(row, sample), self._listed(row, sample)
        if truth not in _legal(choices):
            message = f"the right choice {truth[:100]!r} is none of the choices ({', '.join(_legal(choices)[:10])})"
            raise self._truth.failure("bad_input", message, sample)
        return truth, choices

    def _listed(self, row: dict[str, Any], sample: Sample) -> list[str]:
        text = self._choices.render(row, sample)
        try:
            choices = parse_list(text)
        except ValueError as error:
            raise self._choices.failure(
                "bad_input", f"expected a list of choices, got {text[:100]!r}", sample
            ) from error
        return [str(choice) for choice in choices]


def _validity(predicted: str, choices: list[str]) -> str:
    if not predicted or not choices:
        return "unknown"
    return "valid" if predicted in _legal(choices) else "invalid"


def _legal(choices: list[str]) -> list[str]:
    """The choices themselves where each is a character, else their letters."""
    letters = [chr(ord("A") + at) for at in range(min(len(choices), 26))]
    return choices if all(len(choice) == 1 for choice in choices) else letters
