"""What a plan needs of tasks and models: the samples at hand, and what an attempt at each of them takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from assay.core.types import TaskDefinition
from assay.costs.estimate import RoundCost
from assay.costs.spending import no_price, projected, total_cost
from assay.datasets.content import is_elsewhere
from assay.results.diff.paired_columns import Side
from assay.results.report_settings import metadata_value
from assay.results.sample_plan import PlanTask
from assay.run_config import RunConfig
from assay.runs.later.dry_run import COUNTED, estimate
from assay.runs.plan import PlannedRun
from assay.tasks.built_tasks import build_dataset
from assay.tasks.descriptions import largest_loss_of


def tasks_to_plan(definitions: Sequence[TaskDefinition], config: RunConfig, group_by: str) -> list[PlanTask]:
    """Each task with its samples, and how many of them come in one group."""
    return [_at_hand(definition, config, group_by) for definition in definitions]


def _at_hand(definition: TaskDefinition, config: RunConfig, group_by: str) -> PlanTask:
    samples = config.samples_of(definition)
    if is_elsewhere(definition.dataset):
        return _task(definition, samples, 1.0)
    sizes: Counter[str] = Counter()
    for sample in islice(build_dataset(definition), samples):
        sizes[metadata_value(sample.metadata, group_by) or f"sample {sample.id}"] += 1
    counted = sum(sizes.values())
    group = sum(size**2 for size in sizes.values()) / counted if counted else 1.0
    return _task(definition, counted, group)


def _task(definition: TaskDefinition, samples: int, group: float) -> PlanTask:
    return PlanTask(
        task=definition.name,
        samples=samples,
        group=group,
        weight=definition.shown.weight,
        largest_loss=largest_loss_of(definition),
    )


def costs_of_models(tasks: Sequence[PlanTask], runs: Sequence[PlannedRun], *, priced: bool) -> list[RoundCost]:
    """From the tasks' prompts, for all models together; not `priced` where no model is named."""
    estimates = [estimate(run.definitions, run.config, fresh=True) for run in runs]
    costs = []
    for task in tasks:
        rows = [(each, row) for each in estimates for row in each.tasks if row.task == task.task]
        named = [
            *(
                (each.model, row.cost if row.cost is not None or each.is_billed(each.model) else 0.0)
                for each, row in rows
            ),
            *((judge.model, judge.least_cost) for _, row in rows for judge in row.judges),
        ]
        unpriced = [model for model, amount in named if amount is None]
        known = priced and not unpriced
        reason = None if known else no_price(unpriced) if priced else "no --model is named"
        costs.append(
            RoundCost(
                requests=sum(row.requests + sum(judge.requests for judge in row.judges) for _, row in rows),
                tokens=sum(
                    row.tokens_in + row.tokens_out + sum(judge.tokens_in for judge in row.judges) for _, row in rows
                ),
                amount=sum(amount or 0.0 for _, amount in named) if known else None,
                currency=next((row.currency for _, row in rows), "USD"),
                reason=reason,
                assumes=COUNTED,
            )
        )
    return costs


def costs_of_run(tasks: Sequence[PlanTask], run: Side) -> list[RoundCost]:
    """As much for each attempt as an earlier run took."""
    rows = {row.task: row for row in run.board.tasks}
    costs = []
    for task in tasks:
        row = rows[task.task]
        made = row.total - row.remaining
        share = task.samples / made if made else 0.0
        cost = total_cost([item for item in (row.cost, row.judge_cost) if item is not None])
        counted = row.tokens_in + row.tokens_out + row.judge_tokens_in + row.judge_tokens_out
        reason = "answers of the baseline came from the cache" if row.cached else None
        if cost is None or cost.amount is None:
            reason = reason or (cost.reason if cost is not None else None) or "the baseline has no cost"
        costs.append(
            RoundCost(
                requests=(made + sum(judge.answers for judge in row.judges)) * share,
                tokens=counted * share if counted and not row.cached else None,
                amount=None if reason is not None or cost is None else projected(cost, made / task.samples).amount,
                currency=cost.currency if cost is not None else "USD",
                reason=reason,
            )
        )
    return costs
