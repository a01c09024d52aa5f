"""A plan as one HTML file: the verdict, power against samples for every task, and the table."""

from __future__ import annotations

from assay.pages.charts.figure import figures
from assay.pages.charts.power import power_chart
from assay.pages.documents.plan import plan_notes, plan_table, plan_verdict
from assay.pages.html.element import Child, tag
from assay.pages.html.page import listed, page, table
from assay.results.sample_plan import SamplePlan


def plan_page(plan: SamplePlan) -> str:
    """The whole document."""
    names = list(dict.fromkeys(row.task for row in plan.rows))
    charts = [power_chart(plan, name, f"power-{place}") for place, name in enumerate(reversed(names))]
    sections: list[tuple[str, str, Child]] = [
        ("plan", "Samples needed", table(plan_table(plan, most=len(plan.rows)))),
        ("power", "Power against samples", figures(charts)),
        ("notes", "Notes", listed(list(plan_notes(plan)))),
    ]
    return page("Plan", tag("p", plan_verdict(plan)), sections)
