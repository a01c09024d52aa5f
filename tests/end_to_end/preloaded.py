"""What most commands import, for the process that others are forked from."""

from __future__ import annotations

import assay.cli.main
import assay.cli.run
import assay.evaluation
import assay.evaluators
import assay.harness
import assay.models.openai_http
import assay.reports.diff
import assay.reports.gates
import assay.reports.standings
import assay.rescore
import assay.scorers.judge
import assay.scorers.text_equals
import assay.shards
import assay.solvers.templated
import assay.tasks.declarative.definition
import assay.tasks.load
import assay.tasks.trust  # noqa: F401
