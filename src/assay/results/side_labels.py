"""What tables call the models of several results: one function, so that every table says the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from assay.results.conversation import common_beginning
from assay.results.diff.paired_columns import Side
from assay.run_file import RunFile


def side_labels(sides: Sequence[Side]) -> list[str]:
    """What tables call the models: their labels or names, with their place in a matrix. Those that
    look the same are numbered."""
    return numbered([_named(side) for side in sides])


def run_labels(runs: Sequence[RunFile]) -> list[str]:
    """The same for runs that have no results yet."""
    return numbered([model_and_cell(run.model_label, run.settings) for run in runs])


def without_shared_beginning(names: Sequence[str]) -> list[str]:
    """The names without what all begin with, up to its last `:` or `/`; a single name stays whole."""
    if len(set(names)) < 2:
        return list(names)
    common = reduce(common_beginning, names)
    shared = max(common.rfind(":"), common.rfind("/")) + 1
    return [name[shared:] for name in names]


def numbered(names: Sequence[str]) -> list[str]:
    """The names, those that occur several times with a number."""
    seen: Counter[str] = Counter()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(name if names.count(name) == 1 else f"{name} ({seen[name]})")
    return labels


def numbered_sides(sides: Sequence[Side]) -> list[str]:
    """Which result is which, in one sentence, where models look the same."""
    pairs = zip(sides, side_labels(sides), strict=True)
    which = [f"{label}: {side.source}" for side, label in pairs if label != _named(side)]
    return ["; ".join(which)] if which else []


def labelled(labels: Sequence[str], notices: Sequence[Sequence[str]]) -> list[str]:
    """Each notice once, with the model that it is about where it is not about all of several."""
    shared = set(notices[0]).intersection(*notices) if len(notices) > 1 else set()
    return [
        *dict.fromkeys(
            notice if notice in shared else f"{label}: {notice}"
            for label, of_one in zip(labels, notices, strict=True)
            for notice in of_one
        )
    ]


def _named(side: Side) -> str:
    return model_and_cell(side.board.model_label, side.board.settings)


def model_and_cell(label: str, settings: Mapping[str, Any], *, without: str = "model") -> str:
    """The model, and where a matrix has several of something, which of them; but for the axis `without`."""
    cell = {"prompt": settings.get("prompt"), **settings.get("cell", {})}
    places = [str(place) for axis, place in cell.items() if place and axis not in ("model", without)]
    return ", ".join([*([label] if label else []), *places])
