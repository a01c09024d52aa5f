"""A run file: its datasets, models, tasks and evaluation become one task for every specification."""

from __future__ import annotations

import pytest
from tests.formats.declarative.yaml_tasks import RUN, Read

from assay.core.errors import UsageError
from assay.task_records import AskedModel


def specification(text: str) -> str:
    return RUN.replace("    - {task_key: t, model_key: m}\n", text)


def test_a_run_file_brings_everything_along(read: Read) -> None:
    (definition,) = read(RUN)
    assert definition.name == "t"
    assert definition.dataset.size == 4  # the evaluation's num_samples
    assert definition.plan.model == AskedModel(key="m", model="toy", requests_per_minute=90, concurrency=2, label="M")


def test_the_specification_beats_the_evaluation(read: Read) -> None:
    text = specification(
        "    - {task_key: t, model_key: m, num_samples: 2, subsampling: random, task_config: {word: yo}}\n"
        "    - {task_key: t, model_key: openai$gpt-4-1-nano}\n"
        "    - {key: own, task_key: t, model_key: m}\n"
        "    - {task_key: rows, dataset_key: other}\n"
    )
    definitions = read(text)
    assert [each.name for each in definitions] == ["t_1", "t_2", "own", "rows"]
    assert definitions[0].dataset.options["num_samples"] == 2
    assert definitions[0].dataset.options["subsampling"] == "random"
    assert definitions[1].plan.model.model == "openai:gpt-4.1-nano"
    assert definitions[3].dataset.use == "inline"
    assert definitions[3].plan.model is None


def test_later_run_files_configure_the_evaluation(read: Read) -> None:
    text = RUN.replace("  num_samples: 4\n", "  config_spec: [{type: model, key: who, display_name: W}]\n")
    text = (
        text.replace("model_key: m}", 'model_key: "<< config.who >>"}')
        + "config: {who: m}\nrun_config: {num_samples: 3}\n"
    )
    (definition,) = read(text)
    assert definition.plan.model.key == "m"
    assert definition.dataset.size == 3


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("    - {task_key: tt, model_key: m}\n", "no task `tt` in this file"),
        ("    - {task_key: t}\n", "needs `model_key`"),
        ("    - {task_key: t, model_key: m, dataset_key: other}\n", "takes no `dataset_key`"),
        ("    - {task_key: rows, model_key: m}\n", "takes no `model_key`"),
        ("    - {task_key: rows}\n", "needs `dataset_key`"),
        ("    - {task_key: t, model_key: mm}\n", "there is no model `mm`"),
        (
            "    - {task_key: t, model_key: m, task_config: {wrod: yo}}\n",
            r"file.yaml:\d+:\d+: .*task_config.wrod: there is no parameter `wrod`. Did you mean `word`?",
        ),
        ("    - {key: a, task_key: t, model_key: m}\n    - {key: a, task_key: t, model_key: m}\n", "given twice"),
        ("    - {task_key: t, model_key: m, num_samples: 0}\n", "at least 1"),
    ],
)
def test_bad_specifications_are_refused(read: Read, spec: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        read(specification(spec))
    assert "file.yaml:" in str(caught.value) or "no model" in str(caught.value)


def test_a_run_file_that_names_no_model_leaves_it_to_the_command(read: Read) -> None:
    text = specification("    - {task_key: t}\n")
    start, end = text.index("models:"), text.index("tasks:")
    [definition] = read(text[:start] + text[end:])
    assert definition.plan.model is None


@pytest.mark.parametrize(
    ("evaluation", "settings", "policy"),
    [
        ("reuse", "{}", "reuse"),
        ("update", "{num_samples: 3}", "update"),
        ("no-cache", "{}", "no-cache"),
        ("no-cache", "{cache_policy: reuse}", "reuse"),
        ("null", "{}", None),
    ],
)
def test_the_cache_policy_is_the_evaluations_unless_the_run_settings_say_it(
    read: Read, evaluation: str, settings: str, policy: str | None
) -> None:
    text = RUN.replace("  num_samples: 4\n", f"  cache_policy: {evaluation}\n") + f"run_config: {settings}\n"
    (definition,) = read(text)
    assert definition.plan.cache == policy


def test_the_placeholder_of_a_model_is_for_recorded_answers(read: Read) -> None:
    recorded = """\
  - key: log
    display_name: L
    description: ""
    definition:
      dataset: {key: other}
      solver: {type: pass_through_solver, trace_column: q}
      scorers: [{type: string_equals, ground_truth: x}]
evaluation:
"""
    text = RUN.replace("evaluation:\n", recorded)
    [definition] = read(text.replace("task_key: t, model_key: m", "task_key: log, model_key: latticeflow$placeholder"))
    assert definition.plan.model is None
    with pytest.raises(UsageError, match=r"model_key: `latticeflow\$placeholder` answers nothing"):
        read(text.replace("model_key: m}", "model_key: latticeflow$placeholder}"))


def test_a_value_of_the_file_that_the_evaluation_does_not_have_is_refused_at_its_place(read: Read) -> None:
    with pytest.raises(UsageError, match=r"config.who: there is no parameter `who`. It has none."):
        read(RUN + "config: {who: m}\n")


def test_fewer_attempts_than_the_task_counts_over_are_refused_where_they_are_written(read: Read) -> None:
    aggregator = "{score_name: is_correct, aggregator: {function: 'pass^k', k: 3}}"
    trials = f"      trials: {{num_trials: 5, score_aggregators: [{aggregator}]}}\n"
    text = RUN.replace("      evaluated_entity_type: dataset\n", f"      evaluated_entity_type: dataset\n{trials}")
    few = "    - {task_key: rows, dataset_key: other, trials: {num_trials: 2}}\n"
    with pytest.raises(UsageError, match=r"task_specifications\[0\].trials.num_trials: the task has a number over 3"):
        read(text.replace("    - {task_key: t, model_key: m}\n", few))
