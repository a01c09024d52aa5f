"""What most commands import, for the process that others are forked from."""

from __future__ import annotations

import rapidfuzz  # noqa: F401

import assay.cli.main
import assay.cli.run
import assay.evaluators
import assay.harness
import assay.models.adapters.openai
import assay.reports.diff.build
import assay.reports.gates.check
import assay.reports.html.report_page
import assay.reports.standings.build
import assay.runs.evaluate
import assay.runs.rescore
import assay.runs.shards
import assay.scorers.from_metric
import assay.scorers.judge
import assay.scorers.text_equals
import assay.solvers.templated
import assay.tasks.declarative.definition
import assay.tasks.load
import assay.tasks.trust  # noqa: F401
