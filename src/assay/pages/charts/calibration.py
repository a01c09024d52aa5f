"""Whether answers are right as often as their confidence says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.pages.charts.chart import AnyMark, Behind, Chart, Curve, Dot, Scale
from assay.stats.calibration import ReliabilityBin
from assay.text.numbers import number


def calibration_chart(
    bins: Sequence[ReliabilityBin], label: str, *, model: str = "", slot: int = 0, name: str = "calibration"
) -> Chart:
    """Share right over stated confidence; on the dashed line the two agree."""
    known = [(each, each.confidence, each.accuracy) for each in bins]
    most = max((part.count for part in bins), default=1) or 1
    marks: list[AnyMark] = [Curve(points=[(0.0, 0.0), (1.0, 1.0)], tone="quiet", dashed=True)]
    rows = []
    for each, confidence, accuracy in known:
        if confidence is None or accuracy is None:
            continue
        shown = f"{each.count:,} answers, confidence {number(confidence, 2)}, right {number(accuracy, 2)}"
        marks.append(Curve(points=[(confidence, confidence), (confidence, accuracy)], series=model))
        size = 0.7 + 1.1 * math.sqrt(each.count / most)
        marks.append(Dot(x=confidence, y=accuracy, size=size, tip=shown, series=model))
        rows.append([number(confidence), number(accuracy), f"{each.count:,}"])
    return Chart(
        name=name,
        title=f"Calibration: {label}",
        x=Scale(low=0.0, high=1.0, label="stated confidence"),
        y=Scale(low=0.0, high=1.0, label="share right"),
        marks=marks,
        behind=Behind(header=["confidence", "right", "answers"], rows=rows, numeric_from=0),
        note="On the dashed line answers are right as often as stated; larger points stand for more answers.",
        series=[model],
        colours={model: slot},
    )
