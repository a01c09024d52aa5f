"""The aggregate `agreement`: how far a judge and people, or several judges, give samples the same labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from assay.core.describe import describes
from assay.core.types import Summary
from assay.part_options import Doc, part
from assay.stats.agreement import KappaWeights, fleiss_agreement
from assay.stats.agreement import agreement as cohen_agreement
from assay.stats.cells import OutputName, cell, empty_cell
from assay.stats.described import of_agreement
from assay.stats.intervals import Codes
from assay.stats.score_table import Labels, ScoreTable


@describes(of_agreement)
@part(
    "Kappa and the share of equal labels, of a judge and people or of several judges.",
    example="fields: [label, people]",
)
def agreement(
    table: ScoreTable,
    *,
    fields: Annotated[Sequence[str], Meta(min_length=2), Doc("The score values that hold the labels, two or more.")],
    weights: Annotated[
        KappaWeights, Doc("How far near misses count as agreement, for labels with an order: marks, or by `order`.")
    ] = "none",
    order: Annotated[Sequence[str] | None, Doc("The labels from lowest to highest, where they are no numbers.")] = None,
    name: OutputName = None,
    level: float = 0.95,
) -> list[Summary]:
    """kappa, and the share of samples with the same label, each with its interval; the confusion matrix is in kappa's
    details, a row for each label of the first field.

    Kappa is agreement beyond chance: Cohen's of two fields, with weights where labels have an order, and Fleiss' of
    more. It is low, whatever the share, where nearly all samples have one label: read the two together.
    """
    prefix = f"{name}_" if name else ""
    rows = table.labels(*fields)
    definition = f"agreement|{'cohen' if len(fields) == 2 else 'fleiss'}|weights={weights}"
    names = f"{prefix}kappa", f"{prefix}agreement"
    if not len(rows):
        return [empty_cell(each, definition, rows, table) for each in names]
    if problem := _problem(rows, weights, order, len(fields)):
        return [empty_cell(each, definition, rows, table, problem) for each in names]
    groups = rows.clusters if rows.clustered else None
    if len(fields) > 2:
        several = fleiss_agreement(rows.codes, groups=groups, level=level)
        return [
            cell(names[0], definition, several.kappa or 0.0, several.kappa_interval, rows=rows, table=table)
            if several.kappa is not None
            else empty_cell(names[0], definition, rows, table, several.kappa_interval.reason or ""),
            cell(names[1], definition, several.raw or 0.0, several.raw_interval, rows=rows, table=table),
        ]
    ordered = in_order({rows.vocabulary[code] for code in np.unique(rows.codes)}, order)
    first, second = ([ordered.index(rows.vocabulary[code]) for code in rows.codes[:, at]] for at in (0, 1))
    found = cohen_agreement(first, second, weights=weights, order=[*range(len(ordered))], groups=groups, level=level)
    details = {"labels": ordered, "confusion": confusion_of(np.array([first, second]).T, len(ordered))}
    kappa = (
        empty_cell(names[0], definition, rows, table, found.reason or "")
        if found.kappa is None
        else cell(names[0], definition, found.kappa, found.kappa_interval, rows=rows, table=table, **details)
    )
    share = cell(names[1], definition, found.raw or 0.0, found.raw_interval, rows=rows, table=table, **details)
    return [kappa, share]


def confusion_of(codes: Codes, labels: int) -> list[list[int]]:
    """How often each label of the first rater met each of the second."""
    counts = np.zeros((labels, labels), dtype=np.intp)
    np.add.at(counts, (codes[:, 0], codes[:, 1]), 1)
    listed: list[list[int]] = counts.tolist()
    return listed


def in_order(labels: Iterable[str], order: Sequence[str] | None) -> list[str]:
    """Labels in their order: as given, by their numbers, or by the alphabet."""
    return sorted(labels, key=_sorting) if order is None else [str(label) for label in order]


def _sorting(label: str) -> tuple[Any, ...]:
    number = _number(label)
    return (1, label) if number is None else (0, number)


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None


def _problem(rows: Labels, weights: str, order: Sequence[str] | None, raters: int) -> str | None:
    """Why there is no such agreement."""
    seen = sorted({rows.vocabulary[code] for code in np.unique(rows.codes)})
    if raters > 2 and (weights != "none" or order is not None):
        return "weights and order are for two fields"
    if order is not None and (unknown := [label for label in seen if label not in map(str, order)]):
        return f"`order` lacks the label `{unknown[0]}`"
    if weights != "none" and order is None and any(_number(label) is None for label in seen):
        return f"{weights} weights need the `order` of the labels"
    return None
