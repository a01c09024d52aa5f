"""`assay schema`: JSON Schemas for editors."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from jsonschema import Draft7Validator
from tests.end_to_end.commands import assay


def test_the_schema_is_printed_for_editors(tmp_path: Path) -> None:
    done = assay("schema", "task", cwd=tmp_path)
    assert json.loads(done.stdout)["title"] == "assay task file"


TASK = """
key: t
display_name: T
description: Two scorers and a rule.
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers:
    - {type: string_equals, key: same, ground_truth: "{{ sample.gold }}"}
    - {type: toxicity, key: tone, model_key: judge}
"""


def offered(schema: dict[str, object]) -> list[str]:
    """Every word that the schema completes."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("enum"), list):
                found.extend(value["enum"])
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(schema)
    return found


def test_the_schema_of_one_file_offers_its_columns_and_scores_and_still_accepts_it(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(TASK)
    (tmp_path / "rows.jsonl").write_text('{"q": "a", "gold": "A"}\n{"q": "b", "gold": "B", "odd name": 1}\n')
    done = assay("schema", "--for", "t.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    schema = json.loads(done.stdout)
    words = offered(schema)
    assert {"{{ sample.q }}", "{{ sample.gold }}", "{{ sample['odd name'] }}"} <= {*words}
    assert {"{{ scores.same.is_correct }}", "{{ scores.tone.toxic }}", "{{ scores.tone.label }}"} <= {*words}
    assert not any("sample.other" in str(word) for word in words)
    Draft7Validator(schema).validate(yaml.safe_load(TASK))
    with_text = TASK.replace('"{{ sample.gold }}"', '"{{ sample.gold | upper }} and more"')
    Draft7Validator(schema).validate(yaml.safe_load(with_text))


OWN = """\
    - type: python
      key: own
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            if not solver_output.output:
                return {"scores": {"right": 0, "length": 0}, "metadata": {"why": "empty"}}
            return {"right": 1.0, "kind": "long"} if sample else helper()
      metrics: [{type: mean, field: counted}]
"""


def test_scores_of_own_code_are_offered_as_far_as_it_shows_them(tmp_path: Path) -> None:
    """The literal keys of what it returns, and the fields that metrics name; the code itself is not run."""
    (tmp_path / "t.yaml").write_text(TASK.replace("  scorers:\n", f"  scorers:\n{OWN}"))
    (tmp_path / "rows.jsonl").write_text('{"q": "a", "gold": "A"}\n')
    done = assay("schema", "--for", "t.yaml", cwd=tmp_path)
    words = {word for word in offered(json.loads(done.stdout)) if "scores.own." in str(word)}
    assert words == {f"{{{{ scores.own.{name} }}}}" for name in ("right", "length", "kind", "counted")}


def test_only_task_files_have_columns(tmp_path: Path) -> None:
    done = assay("schema", "model", "--for", "t.yaml", cwd=tmp_path)
    assert (done.returncode, "a model file has no columns" in done.stderr) == (2, True)
    missing = assay("schema", "--for", "t.yaml", cwd=tmp_path)
    assert (missing.returncode, "t.yaml" in missing.stderr) == (2, True)
