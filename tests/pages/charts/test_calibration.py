"""Calibration as a picture: a point per bin that has answers."""

from __future__ import annotations

from assay.pages.charts.calibration import calibration_chart
from assay.pages.charts.chart import Dot
from assay.stats.calibration import ReliabilityBin


def test_a_point_per_bin_with_answers_larger_for_more_of_them() -> None:
    bins = [
        ReliabilityBin(low=0.0, high=0.5, count=10, confidence=0.3, accuracy=0.2),
        ReliabilityBin(low=0.5, high=0.9, count=0, confidence=None, accuracy=None),
        ReliabilityBin(low=0.9, high=1.0, count=90, confidence=0.95, accuracy=0.7),
    ]
    chart = calibration_chart(bins, "quiz")
    few, many = (mark for mark in chart.marks if isinstance(mark, Dot))
    assert (few.x, few.y, many.x, many.y) == (0.3, 0.2, 0.95, 0.7)
    assert many.size > few.size
    assert chart.behind.rows == [["0.300", "0.200", "10"], ["0.950", "0.700", "90"]]
