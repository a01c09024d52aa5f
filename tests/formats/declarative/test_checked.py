"""What the tables accept and refuse, and what an editor is given."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.declarative.yaml_parts import DATASET_TASK, EXAMPLES, MODEL_TASK, definition, scorer, task

from assay.core.errors import UsageError
from assay.formats.declarative.checked import (
    checked_dataset,
    checked_model,
    checked_run,
    checked_task,
    kind_of,
)
from assay.formats.declarative.records import (
    MetricEntry,
)
from assay.formats.declarative.yaml_reader import Document, read_yaml


def test_defaults_are_filled_in(tmp_path: Path) -> None:
    checked = task(tmp_path, MODEL_TASK)
    assert checked.config_spec == checked.tags == ()
    assert checked.definition["type"] == "benchmark_task"
    known = definition(tmp_path, MODEL_TASK)
    assert known.evaluated_entity_type == "model"
    assert known.actions is None
    assert known.solver is not None
    assert known.solver.message_format == "latticeflow"
    assert known.scorers[0].purpose == "score"


def test_the_fields_of_one_kind_of_part_are_its_options(tmp_path: Path) -> None:
    metric = "      metrics: [{type: mean, field: is_correct, key: k}]\n"
    scored = definition(tmp_path, MODEL_TASK + metric).scorers[0]
    options = {"ground_truth": "{{ sample.a }}", "value": None, "empty_gold": "refused", "labels": None}
    assert (scored.type, scored.options) == ("string_equals", options)
    options = {"field": "is_correct", "name": None, "bounds": None, "lower_is_better": None, "largest_loss": None}
    assert scored.metrics == (MetricEntry(type="mean", key="k", options=options),)


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
        (DATASET_TASK + "  solver: {type: python, run_solver_snippet: run_solver = 1}\n", ":6:11", "has no `solver`"),
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


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        task(tmp_path, MODEL_TASK.replace("role: user", "role: x").replace("key: d", "key: 3"))
    assert len(str(caught.value).splitlines()) == 2


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
