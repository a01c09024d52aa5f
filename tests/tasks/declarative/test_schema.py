"""What the tables accept and refuse, and what an editor is told."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.tasks.declarative.schema import (
    EDITOR_SCHEMAS,
    checked_dataset,
    checked_model,
    checked_run,
    checked_task,
    editor_schema,
    kind_of,
)
from assay.tasks.declarative.yaml_reader import Document, read_yaml

MODEL_TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: d}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.q }}"}
  scorers:
    - type: string_equals
      ground_truth: "{{ sample.a }}"
"""
DATASET_TASK = """\
key: t
display_name: T
description: ""
definition:
  evaluated_entity_type: dataset
"""


def read(folder: Path, text: str) -> Document:
    path = folder / "task.yaml"
    path.write_text(text)
    return read_yaml(path)


def task(folder: Path, text: str, *, placeholders: bool = True) -> dict[str, Any]:
    document = read(folder, text)
    return checked_task(document, document.value, placeholders=placeholders)


def test_defaults_are_filled_in(tmp_path: Path) -> None:
    checked = task(tmp_path, MODEL_TASK)
    definition = checked["definition"]
    assert checked["tasks"] == []
    assert checked["long_description"] is None
    assert definition["type"] == "benchmark_task"
    assert definition["evaluated_entity_type"] == "model"
    assert definition["actions"] is None
    assert definition["solver"]["message_format"] == "latticeflow"
    assert definition["scorers"][0]["purpose"] == "score"
    assert definition["scorers"][0]["value"] is None


def scorer(text: str) -> str:
    return MODEL_TASK.split("    - type: string_equals", maxsplit=1)[0] + text


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        (MODEL_TASK + "extra: 1\n", ":15:1", "extra: unknown field of a task"),
        (MODEL_TASK + "descripton: x\n", ":15:1", "Did you mean `description`?"),
        (MODEL_TASK.replace("string_equals", "string_equal"), ":13:7", "Did you mean `string_equals`?"),
        (MODEL_TASK.replace('description: ""', "description:"), ":3:1", "description: expected text, got nothing"),
        (MODEL_TASK.replace("key: t", "key: a b"), ":1:1", "does not match"),
        (MODEL_TASK.replace("display_name: T", 'display_name: ""'), ":2:1", "must not be empty"),
        (MODEL_TASK.replace("role: user", "role: uesr"), ":11:12", "Did you mean `user`?"),
        (MODEL_TASK.replace("  dataset: {key: d}\n", ""), ":5:3", "needs `dataset`"),
        (DATASET_TASK + "  solver: {type: python, run_solver_snippet: x}\n", ":6:11", "has no `solver`"),
        (MODEL_TASK.replace("      ground_truth", "      truth"), ":13:7", "needs the field `ground_truth`"),
        (
            MODEL_TASK
            + "config_spec:\n  - {type: int, key: a, display_name: A}\n  - {type: int, key: a, display_name: B}\n",
            ":17:17",
            "`a` is given twice",
        ),
        (
            MODEL_TASK + '    - {type: bleu, ground_truth: "", key: a}\n    - {type: bleu, ground_truth: "", key: a}\n',
            ":16:38",
            "`a` is given twice",
        ),
        (scorer("    - {type: rag_checker}\n"), ":13:7", "needs the field `judge_model_key`"),
        (scorer('    - {type: string_equals_mcqa, choices: "x"}\n'), ":13:7", "needs the field `ground_truth_choice`"),
        (
            scorer(
                "    - {type: model_as_a_judge_classifier, model_key: m, user_prompt: x,"
                " correct_labels: [a], incorrect_labels: [a]}\n"
            ),
            ":13:",
            "also a correct label",
        ),
        (
            scorer("    - {type: model_as_a_judge_scorer, model_key: m, user_prompt: x, score_min: 1}\n"),
            ":13:",
            "must be above score_min",
        ),
        (
            scorer("    - {type: python, compute_scores_snippet: x, metrics: [{field: a}]}\n"),
            ":13:",
            "metric needs `type`",
        ),
        (
            MODEL_TASK
            + "  actions: [{key: a, action: exclude_from_metrics, filter: {op: is_true, expression: x, value: 1}}]\n",
            ":15:",
            "unknown field",
        ),
        (
            MODEL_TASK
            + "  actions: [{key: a, action: exclude_from_metrics, filter: {op: in, expression: x, value: 1}}]\n",
            ":15:",
            "needs the field `values`",
        ),
        ("- 1\n", ":1:1", "expected a task"),
    ],
)
def test_mistakes_are_named_with_place_and_remedy(tmp_path: Path, text: str, place: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        task(tmp_path, text)
    assert says in str(caught.value)
    assert f"task.yaml{place}" in str(caught.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        task(tmp_path, MODEL_TASK.replace("role: user", "role: x").replace("key: d", "key: 3"))
    assert len(str(caught.value).splitlines()) == 2


def test_old_spellings_are_read_with_a_warning(tmp_path: Path) -> None:
    old = MODEL_TASK.replace("definition:\n", "evaluated_entity_type: model\ndefinition:\n  type: declarative_task\n")
    document = read(tmp_path, old)
    checked = checked_task(document, document.value)
    assert checked["definition"]["type"] == "benchmark_task"
    assert len(document.warnings) == 2

    mcqa = scorer("    - {type: string_equals_mcqa, ground_truth_choice_field: a, choices_field: c}\n")
    document = read(tmp_path, mcqa)
    checked = checked_task(document, document.value)
    assert checked["definition"]["scorers"][0]["choices"] == "{{ sample.c }}"


def test_a_later_task_with_a_dataset_and_no_solver_is_about_the_dataset(tmp_path: Path) -> None:
    text = DATASET_TASK.replace("  evaluated_entity_type: dataset\n", "  dataset: {key: d}\n")
    document = read(tmp_path, text)
    assert checked_task(document, document.value)["definition"]["evaluated_entity_type"] == "dataset"
    assert "read as a task about its dataset" in document.warnings[0]


def test_two_entity_types_that_disagree_are_refused(tmp_path: Path) -> None:
    text = DATASET_TASK.replace("definition:", "evaluated_entity_type: model\ndefinition:")
    with pytest.raises(UsageError, match="`model` here but `dataset`"):
        task(tmp_path, text)


def test_placeholders_stand_for_any_value_until_the_configuration_is_known(tmp_path: Path) -> None:
    text = (
        scorer(
            "    - {type: model_as_a_judge_scorer, model_key: << config.m >>, user_prompt: x,"
            " score_max: << config.top >>}\n"
        )
        .replace("<< config.m >>", '"<< config.m >>"')
        .replace("<< config.top >>", '"<< config.top >>"')
    )
    assert task(tmp_path, text)["definition"]["scorers"][0]["score_max"] == "<< config.top >>"
    with pytest.raises(UsageError, match="expected a number"):
        task(tmp_path, text, placeholders=False)


def test_datasets(tmp_path: Path) -> None:
    document = read(tmp_path, "key: d\ndisplay_name: D\nfile_path: x.csv\n")
    assert checked_dataset(document, document.value)["source"]["file_path"] == "x.csv"
    assert document.warnings
    document = read(tmp_path, "key: d\ndisplay_name: D\n")
    with pytest.raises(UsageError, match="needs `source`"):
        checked_dataset(document, document.value)


def test_models(tmp_path: Path) -> None:
    document = read(tmp_path, "key: openai$x\ndisplay_name: D\nconfig: {url: 'http://h', model_key: m}\n")
    assert checked_model(document, document.value)["config"]["connection_type"] == "custom_connection"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("evaluation: {}", "run"),
        ("tasks: []", "run"),
        ("tasks: []\nkey: x", "task"),
        ("definition: {}", "task"),
        ("source: {}", "dataset"),
        ("config: {}", "model"),
        ("task_specifications: []", "evaluation"),
    ],
)
def test_a_file_is_known_by_its_fields(text: str, kind: str) -> None:
    assert kind_of(yaml.safe_load(text)) == kind


def test_a_run_file_keeps_its_parts_for_later(tmp_path: Path) -> None:
    evaluation = "{key: e, display_name: E, task_specifications: [{task_key: t, model_key: m}]}"
    run = checked_run(read(tmp_path, f"evaluation: {evaluation}\npolicies: [{{key: p}}]\n"))
    assert run["evaluation"]["task_specifications"][0]["task_config"] == {}
    with pytest.raises(UsageError, match="needs the field `evaluation`"):
        checked_run(read(tmp_path, "models: []\n"))


@pytest.mark.parametrize("kind", EDITOR_SCHEMAS)
def test_the_editor_schema_is_a_schema(kind: str) -> None:
    jsonschema.Draft7Validator.check_schema(editor_schema(kind))


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        (("", ""), True),
        (("string_equals", "string_equal"), False),
        (("ground_truth", "groundtruth"), False),
        (("display_name: T", "display_name: 3"), False),
        (("type: single_turn_solver", "type: multi_turn_solver"), False),
    ],
)
def test_the_editor_schema_agrees_with_the_checker(tmp_path: Path, change: tuple[str, str], valid: bool) -> None:
    text = MODEL_TASK.replace(*change) if change[0] else MODEL_TASK
    errors = list(jsonschema.Draft7Validator(editor_schema("task")).iter_errors(yaml.safe_load(text)))
    assert (not errors) is valid
    if valid:
        task(tmp_path, text)
    else:
        with pytest.raises(UsageError):
            task(tmp_path, text)


EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "declarative").rglob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_please_the_editor_too(path: Path) -> None:
    value = read_yaml(path).value
    jsonschema.validate(value, editor_schema(kind_of(value)), cls=jsonschema.Draft7Validator)


def test_there_are_examples_of_every_kind() -> None:
    kinds = {kind_of(read_yaml(path).value) for path in EXAMPLES}
    assert kinds == {"task", "dataset", "model", "run"}


words = st.sampled_from(
    ["key", "type", "definition", "scorers", "solver", "dataset", "python", "bleu", "metrics", "source", "config", "op",
     "evaluation", "task_specifications", "tasks", "x", "<< config.x >>", "{{ x }}", "$ref"]
)  # fmt: skip
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_any_value_is_accepted_or_refused_with_sentences(value: Any) -> None:
    document = Document(value=value, path=Path("f.yaml"), marks={})
    for check in (checked_task, checked_dataset, checked_model):
        with contextlib.suppress(UsageError):
            check(document, value)
    with contextlib.suppress(UsageError):
        checked_run(document)
    assert kind_of(value) in ("task", "run", "dataset", "model", "evaluation")
