"""Lets a scorer of samples with targets and extras score rows: templates map columns to targets and extras."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from assay.catalog import CATALOG
from assay.core.seams import BuildContext, Preparable, Scorer
from assay.part_options import ANSWER, Doc, TemplateOption, Words

LookedAt = Annotated[
    str | None, TemplateOption("Template of the text compared; the last answer of the model when absent.", ANSWER)
]
Target = Annotated[str | None, TemplateOption("Template of the expected text.")]
Targets = Annotated[str | None, TemplateOption("Template of a list of expected texts; the best one counts.")]
EmptyGold = Annotated[
    Literal["refused", "allowed"],
    Doc("Without an expected text a sample fails; `allowed`: it is the empty text, as of unanswerable questions."),
]
ONE_TARGET = (("ground_truth", "ground_truths"),)
PostProcess = Annotated[
    str,
    Words(tuple(CATALOG["post_process"]), kind="post_process"),
    Doc("What is extracted from the answer before it is compared."),
]


def over_row(
    scorer: Scorer,
    templates: Mapping[str, str | None],
    *,
    context: BuildContext,
    value: str | None = None,
    lists: Collection[str] = (),
    has_solver: bool = True,
    solution: str | None = None,
    empty_gold: EmptyGold = "refused",
) -> Scorer:
    """The scorer as it is where no template is given: the sample then has targets and extras of its own.

    `templates` are keyed by the field they fill, and `lists` names those that render to a list; `solution` renders a
    right answer.
    """
    given = {fills: source for fills, source in templates.items() if source is not None}
    if not given and value is None:
        return scorer
    # imported here: samples with targets of their own need no template engine
    from assay.prompts.row_sample import RowSample
    from assay.scorers.judging.variables import scorer_field
    from assay.scorers.row_scorer import OverRow, StartedOverRow

    key = scorer.name
    read = RowSample(
        given, where=f"scorers.{key}", stage="scorer", part=key, context=context, lists=lists, empty_gold=empty_gold
    )
    compared = None if value is None else scorer_field(key, "value", value, context)
    if not isinstance(scorer, Preparable):
        return OverRow(scorer, read, compared, has_solver)
    right = None if solution is None else scorer_field(key, "solution", solution, context)
    return StartedOverRow(scorer, read, compared, has_solver, right)
