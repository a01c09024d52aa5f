"""A plan as a document: the verdict, a row for every task, and what would help."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.pages.document import Block, Cell, Items, Sentence, Span, TextTable
from assay.results.sample_plan import OVERALL, PlanRow, SamplePlan
from assay.text.numbers import MISSING, amount, level_text, number, percent
from assay.text.wording import count_of

MOST_ROWS = 18
"""More tasks are in the JSON; the ones with the least chance come first."""

SKEWED = 0.03
"""A plan names both sides where they are found so differently."""


def plan_document(plan: SamplePlan) -> list[Block]:
    """At most a screen."""
    return [Sentence(plan_verdict(plan)), plan_table(plan), Items(plan_notes(plan))]


def plan_verdict(plan: SamplePlan) -> str:
    """Whether the samples at hand are enough, and how many are."""
    row = headline_row(plan)
    most = "at most " if plan.at_most else ""
    if row.needed is None:
        return f"No number of samples finds a difference of {number(plan.detect)} in {row.task}."
    found = f"finding a true difference of {number(plan.detect)} takes {most}{row.needed:,} samples"
    enough = "are enough" if row.needed <= row.samples else f"find it in {percent(row.power)} of comparisons"
    smallest = "none, however large" if row.smallest is None else f"one of {number(row.smallest)}"
    each = count_of(row.repeat, "attempt")
    at_hand = f"the {row.samples:,} at hand {enough}, and {smallest} in {percent(plan.power)}"
    return f"{row.task}: {found} with {each} each; {at_hand}."


def headline_row(plan: SamplePlan) -> PlanRow:
    """All tasks together, or the one that takes most samples, with the fewest attempts."""
    fewest = [row for row in plan.rows if row.repeat == plan.rows[0].repeat]
    together = [row for row in fewest if row.task == OVERALL]
    return together[0] if together else max(fewest, key=lambda row: math.inf if row.needed is None else row.needed)


def plan_notes(plan: SamplePlan) -> list[str]:
    """What is assumed, what helps, and what is not known."""
    found = f"found: in {level_text(plan.power)} of comparisons at the {level_text(plan.level)} level"
    if plan.comparisons > 1:
        found += f", corrected by Holm for {plan.comparisons:,} comparisons"
    notes = [found, *(f"how much two models differ: {expects}" for expects in plan.expects)]
    row = headline_row(plan)
    if plan.at_most:
        notes.append("at most: models that have something in common need fewer samples; two baselines show how many")
    elif row.needed_on_top is not None and row.needed is not None and row.needed_on_top > row.needed:
        notes.append(
            f"{row.needed_on_top:,} samples if models without a difference disagree that much, and it comes on top"
        )
    notes += [*_skewed(row), *_margins(plan), *plan.advice]
    notes.append(
        "this is about such questions, of which these are a sample; about these questions alone less is enough, since "
        "only the attempts are left to chance"
    )
    notes += [plan.cost_assumes] if plan.cost_assumes and any(row.tokens for row in plan.rows) else []
    return [*notes, *([f"cost unknown: {plan.cost_unknown}"] if plan.cost_unknown else [])]


def _skewed(row: PlanRow) -> list[str]:
    if row.power_of_easier - row.power < SKEWED:
        return []
    found = f"{percent(row.power)} on one side and {percent(row.power_of_easier)} on the other"
    return [f"the differences of the baselines are skewed: the samples at hand find {found}; the table has the former"]


def _margins(plan: SamplePlan) -> list[str]:
    """The task whose samples at hand can show least."""
    known = [(row.margin, row.task) for row in plan.rows if row.margin is not None]
    if not known:
        return []
    margin, task = max(known)
    return [
        f"no-drop-beyond and --same-within: even if no score changes, the samples at hand show no margin below "
        f"{number(margin)} for {task}"
    ]


def plan_table(plan: SamplePlan, most: int = MOST_ROWS) -> TextTable:
    """A row for every task and number of attempts, `most` of them."""
    repeats = {row.repeat for row in plan.rows}
    rows = plan.rows
    header = ["task", "attempts", "samples", "chance", "needed", "smallest found", "requests", "tokens", "cost"]
    shown = _shown(rows, most)
    columns = [
        place
        for place, name in enumerate(header)
        if (name != "attempts" or len(repeats) > 1)
        and (name != "tokens" or any(row.tokens for row in rows))
        and (name != "cost" or plan.cost_unknown is None)
    ]
    cells = [_cells(row, plan) for row in shown]
    return TextTable(
        header=[header[place] for place in columns],
        rows=[[row[place] for place in columns] for row in cells],
        numeric_from=1,
        drops=("tokens", "requests"),
    )


def _shown(rows: Sequence[PlanRow], most: int) -> list[PlanRow]:
    if len(rows) <= most:
        return list(rows)
    last = [row for row in rows if row.task == OVERALL]
    others = sorted((row for row in rows if row.task != OVERALL), key=lambda row: row.power)
    return [*others[: most - len(last)], *last]


def _cells(row: PlanRow, plan: SamplePlan) -> list[Cell]:
    return [
        row.task,
        f"{row.repeat:,}",
        f"{row.samples:,}",
        percent(row.power),
        Span(MISSING if row.needed is None else f"{row.needed:,}", "key"),
        number(row.smallest),
        f"{row.requests:,}",
        MISSING if row.tokens is None else f"{row.tokens:,}",
        MISSING if row.cost is None else amount(row.cost, plan.currency),
    ]
