"""`assay agreement`: how far the judges and other scorers of a run agree with people who labelled the same answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from assay.cli.flags import option
from assay.cli.output import add_form_arguments, show_result
from assay.cli.run_names import run_named
from assay.cli.setting_flags import add_settings, given_settings
from assay.core.errors import UsageError
from assay.run_settings import RunSettings
from assay.runs.exit_status import DONE, WITH_FAILURES

EPILOG = """\
Run your judge on answers that people have labelled, then compare: no model is called here. Labels are what the judge
is asked for: one of its labels, a mark on its scale, true or false (yes or no, good or bad, 1 or 0). Kappa is agreement
beyond chance: 1 is perfect, 0 what two raters with these habits reach by chance. Marks are compared with quadratic
weights, labels without.

examples:
  assay run judge.yaml --run-dir runs/judge
  assay agreement runs/judge --labels human
  assay agreement runs/judge --labels human --from labels.csv
  assay agreement runs/judge --labels human --scorer tone --weights linear
"""
WEIGHTS = ("none", "linear", "quadratic")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("run", metavar="RUN", help="a run over answers that people have labelled")
    option(parser, "--labels COLUMN", "the column with what people said (default: the `labels` of the scorer)")
    option(
        parser, "--from FILE", "a table with the labels and the samples' `id`, where they came later", needs="--labels"
    )
    option(parser, "--scorer KEY", "one scorer alone (default: every judge, or scorer of right and wrong)")
    option(parser, "--value NAME", "compare this value of its scores (default: its verdict)")
    option(parser, "--weights WORD", f"how near misses count: {', '.join(WEIGHTS)}")
    option(parser, "--order LABELS", "labels from lowest to highest, separated by commas, for weights of words")
    add_settings(parser, RunSettings, "level")
    add_form_arguments(parser, json="as JSON")


def run(options: argparse.Namespace) -> int:
    from assay.pages.documents.people_agreement import agreement_document
    from assay.results.people_agreement import people_agreement
    from assay.stats.agreement import KappaWeights

    if options.weights not in (None, *get_args(KappaWeights)):
        raise UsageError(f"--weights must be one of {', '.join(WEIGHTS)}, got `{options.weights}`")
    found = people_agreement(
        Path(run_named(options.run)),
        options.labels,
        scorer=options.scorer,
        value=options.value,
        weights=options.weights,
        order=None if options.order is None else [each.strip() for each in options.order.split(",")],
        table=None if vars(options)["from"] is None else Path(vars(options)["from"]),
        level=given_settings(options, RunSettings).get("level", 0.95),
    )
    show_result(found, [block for each in found for block in agreement_document(each)], options)
    return DONE if all(each.kappa is not None for each in found) else WITH_FAILURES
