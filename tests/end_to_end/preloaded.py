"""What most commands import, for the process that others are forked from."""

from __future__ import annotations

import rapidfuzz  # noqa: F401

import assay.cli.main
import assay.cli.run
import assay.evaluators
import assay.formats.declarative.definition
import assay.harness
import assay.models.adapters.openai
import assay.pages.html.report_page
import assay.results.diff.comparison
import assay.results.gates.gate_check
import assay.results.standings.standing_rows
import assay.runs.evaluate
import assay.runs.later.rescore
import assay.runs.shards
import assay.scorers.from_metric
import assay.scorers.judging.judge
import assay.scorers.text_equals
import assay.solvers.templated
import assay.tasks.load
import assay.trust.consent  # noqa: F401
