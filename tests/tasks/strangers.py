"""A task of a stranger whose code leaves a mark when it runs."""

from __future__ import annotations

TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: d}
  solver: {type: python, run_solver_snippet: "%s"}
  scorers: [{type: string_equals, ground_truth: x}]
"""


HOSTILE = "open('ran', 'w').close()\\nasync def run_solver(sample, model, trace): return 'x'"
