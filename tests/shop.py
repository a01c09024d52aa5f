"""A project of seven small tasks in folders, with a dataset of three rows, for tests."""

from __future__ import annotations

from pathlib import Path

PROJECT = """\
version: 1
name: shop
exclude: ["tasks/drafts/**"]
folders:
  "support/**": {owner: support, tags: [pii], config: {tone: formal}}
  "support/legal/**": {tags: ["!pii"]}
suites:
  smoke: {select: ["*"], where: [smoke, "!slow"]}
  nightly: {select: [geo, "@smoke"]}
"""
TASK = """\
key: {key}
display_name: {key}
description: A sum.
tags: [{tags}]
config_spec: [{{type: string, key: tone, display_name: Tone, default_value: plain}}]
definition:
  dataset: {{key: rows}}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{{role: user, content: "<< config.tone >> compute: {{{{ sample.a }}}} + 2"}}]
  scorers: [{{type: string_equals, key: right, ground_truth: "{{{{ sample.b }}}}"}}]
"""
TAGS = {
    "geo/capitals": "smoke, geo",
    "geo/lakes": "smoke, geo, slow",
    "support/intent": "smoke",
    "support/legal/gdpr": "slow",
    "drafts/draft": "",
}
SUMS = '{"id": "s1", "prompt": "compute: 2 + 2", "targets": ["4"], "metric": "exact_match"}\n'


def make_shop(folder: Path, project: str = PROJECT) -> Path:
    """Write the project into a folder."""
    for name, tags in TAGS.items():
        path = folder / "tasks" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TASK.format(key=path.stem, tags=tags))
    for name in ("math/sums", "math/more"):
        path = folder / "tasks" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(SUMS)
    (folder / "datasets").mkdir()
    (folder / "datasets" / "rows.csv").write_text("a,b\n1,3\n2,4\n3,5\n")
    (folder / "assay.yaml").write_text(project)
    return folder
