"""What tables call the models of several results: one function, so that every table says the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.reports.diff.columns import Side


def side_labels(sides: Sequence[Side]) -> list[str]:
    """What tables call the models: their labels or names, with the prompt of a run file that has several. Those that
    look the same are numbered."""
    names = [_model_and_prompt(side) for side in sides]
    seen: Counter[str] = Counter()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(name if names.count(name) == 1 else f"{name} ({seen[name]})")
    return labels


def numbered_sides(sides: Sequence[Side]) -> list[str]:
    """Which result is which, in one sentence, where models look the same."""
    pairs = zip(sides, side_labels(sides), strict=True)
    which = [f"{label}: {side.source}" for side, label in pairs if label != _model_and_prompt(side)]
    return ["; ".join(which)] if which else []


def _model_and_prompt(side: Side) -> str:
    prompt = side.board.settings.get("prompt")
    return f"{side.board.model_label}, {prompt}" if prompt else side.board.model_label
