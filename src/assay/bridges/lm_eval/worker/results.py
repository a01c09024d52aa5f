"""Scores by the task's own code: filters and `process_results` for one document, aggregations over many."""

from __future__ import annotations

import math
from typing import Any

from assay.bridges.lm_eval.worker.loading import kept_task, task_of
from assay.bridges.process.plain import plain
from assay.bridges.process.time_limit import scores_in_time

_SCORES: dict[str, list[Any]] = {}
"""The scores being aggregated: sent once, resampled many times."""
MOST_KEPT = 8
"""More than one, as several runs may end at the same time."""


def score(order: dict[str, Any]) -> dict[str, Any]:
    """The task's scores for the answers to each of these documents, or how its code failed."""
    task = kept_task(order)
    if task is None:
        return {"not_loaded": True}
    return scores_in_time(
        order["samples"],
        order["seconds"],
        lambda sample: _scored(task, order["task"], sample["row"], sample["responses"]),
    )


def _scored(task: Any, name: str, row: dict[str, Any], all_responses: list[list[Any]]) -> dict[str, Any]:
    """Scores the stored document, not a fresh one: a task may shuffle its choices each time it builds one."""
    from lm_eval.api.instance import Instance

    document = row["document"] if row.get("is_whole") is True and len(row) == 2 else row
    answered = [
        Instance(request_type=task.OUTPUT_TYPE, doc=document, arguments=(), idx=at, metadata=(name, 0, len(responses)))
        for at, responses in enumerate(all_responses)
    ]
    for instance, responses in zip(answered, all_responses, strict=True):
        instance.resps = [tuple(response) if isinstance(response, list) else response for response in responses]
    values: dict[str, Any] = {}
    items: dict[str, Any] = {}
    shown: list[str] = []
    for pipeline in getattr(task, "_filters", None) or [_AsTheyAre()]:
        pipeline.apply(answered)
        filtered = [each.filtered_resps[pipeline.name] for each in answered]
        shown += [each for each in filtered if isinstance(each, str)]
        for metric, value in task.process_results(document, filtered).items():
            _keep(shown_name(str(metric), pipeline.name), plain(value), values, items)
    return {"values": values, "items": items, "answer": shown[0] if shown else None}


class _AsTheyAre:
    """For Python tasks without filters: the first answer of each request, as with `take_first`."""

    name = "none"

    def apply(self, instances: list[Any]) -> None:
        for instance in instances:
            instance.filtered_resps["none"] = instance.resps[0]


def _keep(name: str, value: Any, values: dict[str, Any], items: dict[str, Any]) -> None:
    """A number is a value of the score; anything else that an aggregation needs goes to `items`."""
    if isinstance(value, bool | int | float):
        values[name] = value
    else:
        items[name] = value


def keep_scores(order: dict[str, Any]) -> dict[str, Any]:
    """Keep the scores that are about to be aggregated."""
    _SCORES[order["key"]] = order["scores"]
    while len(_SCORES) > MOST_KEPT:
        del _SCORES[next(iter(_SCORES))]
    return {}


def aggregate(order: dict[str, Any]) -> dict[str, Any]:
    """The task's own aggregation of every metric that is not a plain mean, over these rows of the scores."""
    from lm_eval.api.metrics import mean

    functions = task_of(order).aggregation() or {}
    kept = _SCORES[order["key"]]
    chosen = kept if order["rows"] is None else [kept[row] for row in order["rows"]]
    values: dict[str, float] = {}
    for name in _names_in(chosen, order["means"]):
        metric = name.rpartition(",")[0] or name
        items = [item for each in chosen for item in _items(each, name)]
        try:
            value = functions.get(metric, mean)(items)
        except Exception as error:
            return {"error": f"the aggregation of `{name}`: {type(error).__name__}: {error}", "kind": "exception"}
        if not isinstance(value, list | dict | str):
            values[name] = plain(float(value))
    return {"values": values}


def _names_in(scores: list[Any], means: list[str]) -> list[str]:
    """The metrics to aggregate, in the order in which the samples name them."""
    names: dict[str, None] = {}
    for each in scores:
        names.update(dict.fromkeys([*each["values"], *each["items"]]))
    return [name for name in names if name not in means]


def _items(sample_score: Any, name: str) -> list[Any]:
    """What one sample contributes to a metric: its value, its item, or nothing."""
    if name in sample_score["values"]:
        return [sample_score["values"][name]]
    if name not in sample_score["items"]:
        return []
    item = sample_score["items"][name]
    return [math.nan if item is None else tuple(item) if isinstance(item, list) else item]


def shown_name(metric: str, filter_name: str) -> str:
    """The name of a metric, followed by its filter where the task names one."""
    return metric if filter_name in ("none", "") else f"{metric},{filter_name}"
