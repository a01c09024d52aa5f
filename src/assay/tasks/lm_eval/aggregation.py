"""How an lm_eval task sums up what is no mean over samples: f1, mcc, bleu, perplexity, by its own functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.types import Summary
from assay.stats.python_metric import Found, python_metric
from assay.stats.score_table import ScoreTable
from assay.tasks.lm_eval.library import built_folder

_SOURCE = """\
from assay.tasks.lm_eval.worker import aggregate

ORDER = {order}


def compute_metrics(scores):
    return aggregate(ORDER, scores)
"""


def lm_eval_aggregation(
    table: ScoreTable,
    *,
    task: str,
    library: Mapping[str, Any],
    means: list[str],
    found: Found | None = None,
    level: float = 0.95,
) -> list[Summary]:
    """The numbers of an lm-evaluation-harness task that are no means over samples, by the task's own aggregation.

    Computed when the run ends, over all samples and over resamples of them; a report reads what was found.
    """
    del task, library, means
    return python_metric(table, found=found, level=level)


def aggregation_source(options: Mapping[str, Any]) -> str:
    """The snippet that runs the aggregation in a process of its own."""
    order = {**options["library"], "task": options["task"], "means": options["means"], "folder": built_folder()}
    return _SOURCE.format(order=repr(order))
