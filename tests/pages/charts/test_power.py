"""Power against samples: a curve for every number of attempts, and a point for the samples at hand."""

from __future__ import annotations

from assay.costs.estimate import RoundCost
from assay.pages.charts.chart import Curve, Dot
from assay.pages.charts.power import power_chart
from assay.results.sample_plan import Guess, PlanTask, plan_samples, prospect_of_guess


def test_a_curve_and_a_point_for_every_number_of_attempts() -> None:
    task = PlanTask(task="quiz", samples=100, group=1.0)
    prospect = prospect_of_guess(Guess(score=0.7, disagree=0.2, flip_rate=0.1), task)
    cost = RoundCost(requests=100.0, tokens=None, amount=None)
    plan = plan_samples([(task, prospect)], detect=0.1, pairs=1, repeats=(1, 4), level=0.95, costs=[cost], expects=[])
    chart = power_chart(plan, "quiz", "power-0")
    assert chart.series == ["1 attempt", "4 attempts"]
    dots = [mark for mark in chart.marks if isinstance(mark, Dot)]
    assert [(dot.x, dot.y) for dot in dots] == [(100.0, row.power) for row in plan.rows]
    asked_for, *curves = (mark for mark in chart.marks if isinstance(mark, Curve))
    assert {y for _, y in asked_for.points} == {0.8}
    assert len(curves) == 2
