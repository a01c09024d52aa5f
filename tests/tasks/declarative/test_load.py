"""Task and run files as a whole: what they become, what they refuse, and what a run of them gives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.seams import BuildContext
from assay.core.task import task_fingerprint
from assay.core.types import TaskDefinition
from assay.evaluation import run_evaluation
from assay.models.providers import NO_KEY
from assay.models.toy import ToyModel
from assay.reports.leaderboard import Leaderboard, build_leaderboard
from assay.reports.python_metrics import run_python_metrics
from assay.tasks.build import build_task
from assay.tasks.declarative.load import check_yaml_file, read_yaml_tasks

Read = Callable[..., list[TaskDefinition]]
ROWS = "".join(f'{{"q": "q{n}", "a": "{n % 3}", "n": {n}}}\n' for n in range(6))
TASK = """\
key: t
display_name: T
description: d
config_spec:
  - {type: string, key: word, display_name: W, default_value: hello}
definition:
  dataset: {key: data}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "<< config.word >> {{ sample.q }}"}]
  scorers:
    - {type: string_equals, ground_truth: "{{ sample.a }}"}
"""
RUN = """\
datasets:
  - {key: data, display_name: D, source: {type: local, file_path: data.jsonl}}
  - {key: other, display_name: O, source: {type: inline, samples: [{q: x, a: y}]}}
models:
  - {key: m, display_name: M, config: {connection_type: assay, model: toy}, rate_limit: 90, max_concurrent_requests: 2}
  - $provider: openai/gpt-4.1-nano
tasks:
  - $ref: task.yaml
  - key: rows
    display_name: R
    description: ""
    definition:
      evaluated_entity_type: dataset
      scorers:
        - type: python
          compute_scores_snippet: "def compute_scores(sample): return {'ok': True}"
          metrics: [{type: mean, field: ok}]
evaluation:
  key: e
  display_name: E
  num_samples: 4
  task_specifications:
    - {task_key: t, model_key: m}
"""


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.jsonl").write_text(ROWS)
    (tmp_path / "task.yaml").write_text(TASK)

    def reader(text: str = TASK, **options: Any) -> list[TaskDefinition]:
        path = tmp_path / "file.yaml"
        path.write_text(text)
        return read_yaml_tasks(path, **options)

    return reader


def run(definitions: list[TaskDefinition], model: Any, folder: Path, **config: Any) -> Leaderboard:
    config = {"include_per_example": True, **config}
    return run_evaluation(definitions, RunConfig(**config), model=model, folder=folder).leaderboard


def specification(text: str) -> str:
    return RUN.replace("    - {task_key: t, model_key: m}\n", text)


def test_a_task_becomes_plain_data(read: Read) -> None:
    (definition,) = read(config={"word": "hi"})
    assert definition.name == "t"
    assert definition.format == "declarative"
    assert definition.metric == "accuracy"
    assert (definition.dataset.use, definition.dataset.size) == ("table", 6)
    assert definition.solver.options["input_builder"]["input_messages"][0]["content"] == "hi {{ sample.q }}"
    assert [(part.key, part.use) for part in definition.scorers] == [("string_equals", "string_equals")]
    (aggregate,) = definition.aggregates
    assert (aggregate.key, aggregate.use) == ("string_equals.mean", "mean")
    assert aggregate.options == {"scorer": "string_equals", "field": "is_correct", "name": "accuracy"}


def test_flags_become_the_kind_their_parameter_wants(read: Read) -> None:
    (definition,) = read(config={"word": 3})  # the command line read a number
    assert definition.metadata["config"] == {"word": "3"}


def test_an_unknown_parameter_is_a_warning_and_an_ill_typed_one_an_error(read: Read) -> None:
    assert "no parameter `wrod`" in read(config={"wrod": 1})[0].metadata["warnings"][0]
    with pytest.raises(UsageError, match="must be text"):
        read(config={"word": ["a"]})


def test_repeated_scorers_and_metrics_get_names_of_their_own(read: Read) -> None:
    text = TASK + (
        '    - {type: string_equals, ground_truth: "x", metrics: ['
        "{type: mean, field: is_correct}, {type: mean, field: is_correct, name: b}, {type: max, field: is_correct}]}\n"
        '    - {type: string_equals, ground_truth: "y", key: named}\n'
    )
    (definition,) = read(text)
    assert [part.key for part in definition.scorers] == ["string_equals", "string_equals_2", "named"]
    assert [part.key for part in definition.aggregates] == [
        "string_equals.mean",
        "string_equals_2.mean",
        "string_equals_2.mean_2",
        "string_equals_2.max",
        "named.mean",
    ]


@pytest.mark.parametrize(
    ("change", "place", "says"),
    [
        (("{key: data}", "{key: dta}"), ":7:", "there is no dataset `dta`"),
        (("<< config.word >>", "<< config.wrod >>"), ":12:", "Did you mean `word`"),
        (("string_equals, ground_truth", "bleu, ground_truth"), None, None),
        (
            ("{type: string_equals, ground_truth: ", "{type: labeler_via_model, model_key: who, user_prompt: "),
            ":14:",
            "--model-for 'who=MODEL'",
        ),
        (
            (
                "{type: string_equals, ground_truth: ",
                "{type: python, compute_scores_snippet: 'def f(:', display_name: ",
            ),
            ":14:",
            "line 1 of the snippet",
        ),
    ],
)
def test_what_is_named_must_exist(read: Read, change: tuple[str, str], place: str | None, says: str | None) -> None:
    text = TASK.replace(*change)
    if says is None:
        read(text)
        return
    with pytest.raises(UsageError) as caught:
        read(text)
    assert says in str(caught.value)
    assert f"file.yaml{place}" in str(caught.value)


def test_datasets_and_models_are_found_in_the_folders_around(read: Read, tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "models").mkdir()
    (tmp_path / "datasets" / "any.yaml").write_text(
        "key: elsewhere\ndisplay_name: E\nsource: {type: local, file_path: ../data.jsonl, columns: [q, a]}\n"
    )
    (tmp_path / "models" / "any.yml").write_text(
        "key: who\ndisplay_name: W\n"
        "config: {url: 'http://127.0.0.1:9/v1/chat/completions', model_key: x, api_key: $SOME_KEY}\n"
    )
    (tmp_path / "models" / "broken.yaml").write_text("key: [")
    text = (
        TASK.replace("{key: data}", "{key: elsewhere}")
        + "    - {type: labeler_via_model, model_key: who, user_prompt: x}\n"
    )
    (definition,) = read(text)
    assert definition.dataset.options["columns"] == ["q", "a"]
    assert definition.scorers[1].options["model"] == {
        "model": "openai:x",
        "options": {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "SOME_KEY"},
    }


def test_a_key_written_into_a_model_file_is_refused(read: Read, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yaml").write_text(
        "key: who\ndisplay_name: W\nconfig: {url: 'http://127.0.0.1:9/v1', api_key: sk-abcdef}\n"
    )
    with pytest.raises(UsageError, match="never written into a file") as caught:
        read(TASK + "    - {type: labeler_via_model, model_key: who, user_prompt: x}\n")
    assert "sk-abcdef" not in str(caught.value)


def test_a_data_file_outside_the_project_is_refused_unless_allowed(read: Read, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.jsonl"
    outside.write_text(ROWS)
    source = f"datasets:\n  - {{key: data, display_name: D, source: {{type: local, file_path: {outside}}}}}\n"
    text = source + RUN[RUN.index("models:") :].replace("  - {key: other, ", "  - {key: x, ")
    with pytest.raises(UsageError, match="outside the project"):
        read(text)
    assert read(text, allow_outside=True)[0].dataset.size == 4


@pytest.mark.parametrize("linked", ["datasets/far.jsonl", "datasets"])
def test_a_data_file_found_by_its_key_may_be_no_link_out_of_the_project(
    read: Read, tmp_path: Path, linked: str
) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-{Path(linked).stem}"
    outside.mkdir()
    (outside / "far.jsonl").write_text(ROWS)
    (tmp_path / linked).parent.mkdir(exist_ok=True)
    (tmp_path / linked).symlink_to(outside / "far.jsonl" if linked.endswith("jsonl") else outside)
    text = TASK.replace("{key: data}", "{key: far}")
    with pytest.raises(UsageError, match=r"datasets/far.jsonl` leads outside the project"):
        read(text)
    assert read(text, allow_outside=True)[0].dataset.size == 6


def test_a_run_file_brings_everything_along(read: Read) -> None:
    (definition,) = read(RUN)
    assert definition.name == "t"
    assert definition.dataset.size == 4  # the evaluation's num_samples
    assert definition.metadata["model"] == {
        "key": "m",
        "model": "toy",
        "options": {},
        "requests_per_minute": 90,
        "concurrency": 2,
    }


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
    assert definitions[1].metadata["model"]["model"] == "openai:gpt-4.1-nano"
    assert definitions[3].dataset.use == "inline"
    assert "model" not in definitions[3].metadata


def test_later_run_files_configure_the_evaluation(read: Read) -> None:
    text = RUN.replace("  num_samples: 4\n", "  config_spec: [{type: model, key: who, display_name: W}]\n")
    text = (
        text.replace("model_key: m}", 'model_key: "<< config.who >>"}')
        + "config: {who: m}\nrun_config: {num_samples: 3}\n"
    )
    (definition,) = read(text)
    assert definition.metadata["model"]["key"] == "m"
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
        ("    - {key: a, task_key: t, model_key: m}\n    - {key: a, task_key: t, model_key: m}\n", "given twice"),
        ("    - {task_key: t, model_key: m, num_samples: 0}\n", "at least 1"),
    ],
)
def test_bad_specifications_are_refused(read: Read, spec: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        read(specification(spec))
    assert "file.yaml:" in str(caught.value) or "no model" in str(caught.value)


def test_files_of_other_kinds_are_told_apart(read: Read, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is a dataset file"):
        read("key: d\ndisplay_name: D\nsource: {type: inline, samples: []}\n")
    assert check_yaml_file(tmp_path / "file.yaml")[0] == "dataset file"
    (tmp_path / "file.yaml").write_text(RUN)
    assert check_yaml_file(tmp_path / "file.yaml")[:2] == ("run file", 1)


def test_validating_a_task_needs_neither_its_dataset_nor_its_model(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(TASK.replace("{key: data}", "{key: nowhere}"))
    assert check_yaml_file(path) == ("task file", 1, [])
    path.write_text(TASK.replace("config.word", "config.wrod"))
    with pytest.raises(UsageError, match="names no parameter"):
        check_yaml_file(path)


# --- whole runs, worked out by hand ------------------------------------------------------------------------------

PYTHON = """\
key: t
display_name: T
description: d
definition:
  dataset: {key: data}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.n }}"}]}
  scorers:
    - type: python
      key: p
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            n = sample["n"]
            if n == 5:
                raise ValueError("five")
            return {"scores": {"value": n, "gt": n % 2 == 0, "pred": str(n < 3), "label": "low" if n < 2 else "high",
                               "tp": n, "fp": 1, "fn": 2}, "metadata": {"said": str(solver_output.output)}}
      metrics:
        - {type: mean, field: value}
        - {type: max, field: value}
        - {type: min, field: value, name: least}
        - {type: std_dev, field: value}
        - {type: frequency, field: label}
        - {type: binary-classification, field_gt: gt, field_pred: pred, positive_answer: true, negative_answer: false}
        - {type: multiclass-classification, key: multi, field_gt: gt, field_pred: pred}
        - {type: recall, num_true_positives_field: tp, num_false_negatives_field: fn}
        - {type: precision, num_true_positives_field: tp, num_false_positives_field: fp, name: p1}
        - type: f1_score
          num_true_positives_field: tp
          num_false_positives_field: fp
          num_false_negatives_field: fn
        - {type: weighted_average, field: label, weights: {low: 1, high: 3}}
        - type: python
          compute_metrics_snippet: |
            def compute_metrics(scores):
                assert scores[0].metadata["said"] == "answer 0"
                return {"total": sum(score.values["value"] for score in scores), "n": len(scores)}
  actions:
    - key: not-four
      action: exclude_from_metrics
      filter: {op: greater_or_equal, expression: "{{ scores.p.value }}", value: 4}
"""


def test_every_metric_by_hand_with_one_failed_and_one_excluded(read: Read, tmp_path: Path) -> None:
    board = run(read(PYTHON), lambda prompt: f"answer {prompt}", tmp_path / "run")
    row = board.tasks[0]
    # samples 0 to 3 count: 4 is excluded by the rule, 5 broke its scorer
    assert (row.scored, row.excluded, row.failed, row.complete) == (4, 1, 1, False)
    found = {summary.name: summary.value for summary in row.aggregates}
    assert found == pytest.approx(
        {
            "value_mean": 1.5,
            "value_max": 3.0,
            "least": 0.0,
            "value_std_dev": 1.25**0.5,  # of the population
            "label_low": 0.5,
            "label_high": 0.5,
            # gt is true for 0 and 2, pred for 0, 1 and 2: tp 2, fp 1, fn 0, tn 1
            "binary-classification_accuracy": 3 / 4,
            "precision": 2 / 3,
            "binary-classification_recall": 1.0,
            "binary-classification_f1_score": 4 / 5,
            "multi_accuracy": 3 / 4,
            "True_precision": 2 / 3,
            "True_recall": 1.0,
            "False_precision": 1.0,
            "False_recall": 1 / 2,
            "recall_recall": 6 / 14,  # tp sum to 6, fn to 8
            "p1": 6 / 10,
            "f1_score_f1_score": 12 / (12 + 4 + 8),
            "label_weighted_average": 2.0,
            "total": 6.0,
            "n": 4.0,
        }
    )


def test_names_that_collide_are_told_apart_by_their_metric(read: Read, tmp_path: Path) -> None:
    board = run(read(PYTHON), lambda prompt: f"answer {prompt}", tmp_path / "run")
    names = [summary.name for summary in board.tasks[0].aggregates]
    assert len(set(names)) == len(names)
    assert {"binary-classification_accuracy", "multi_accuracy", "recall_recall", "f1_score_f1_score"} <= set(names)


def test_python_metrics_are_kept_and_never_run_by_a_report(read: Read, tmp_path: Path) -> None:
    run(read(PYTHON), lambda prompt: f"answer {prompt}", tmp_path / "run")
    again = build_leaderboard(tmp_path / "run")
    assert {s.name: s.value for s in again.tasks[0].aggregates}["total"] == 6.0
    (tmp_path / "run" / "python_metrics.json").unlink()
    without = {s.name: s for s in build_leaderboard(tmp_path / "run").tasks[0].aggregates}
    assert without["python"].value is None
    assert "has not been run" in (without["python"].reason or "")


def test_python_metrics_of_strangers_are_left_alone(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definitions = read(PYTHON)
    run(definitions, lambda prompt: f"answer {prompt}", tmp_path / "run")
    kept = tmp_path / "run" / "python_metrics.json"
    kept.unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    asyncio.run(run_python_metrics(tmp_path / "run", definitions))
    assert not kept.exists()
    asyncio.run(run_python_metrics(tmp_path / "run", definitions, trust=True))
    assert kept.exists()


def test_a_second_run_goes_on_with_what_failed(read: Read, tmp_path: Path) -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return f"answer {prompt}"

    definitions = read(PYTHON)
    run(definitions, model, tmp_path / "run")
    run(definitions, model, tmp_path / "run")
    assert sorted(asked) == ["0", "1", "2", "3", "4", "5", "5"]


SYSTEM = """\
key: s
display_name: S
description: ""
config_spec: [{type: float, key: x, display_name: X, default_value: 2}]
definition:
  type: system_task
  compute_evidence_snippet: |
    async def compute_evidence():
        return {"metrics": {"twice": {"value": 2 * << config.x >>, "reason": "doubled"}, "one": {"value": 1}}}
"""


def test_a_system_task_gives_its_evidence(read: Read, tmp_path: Path) -> None:
    board = run(read(SYSTEM, config={"x": 4}), lambda prompt: "", tmp_path / "run")
    assert {s.name: s.value for s in board.tasks[0].aggregates} == {"one": 1.0, "twice": 8.0}
    with pytest.raises(UsageError, match="takes no dataset"):
        read(SYSTEM, dataset="data")


def test_a_dataset_task_needs_a_dataset_and_no_model(read: Read, tmp_path: Path) -> None:
    text = (
        "key: d\ndisplay_name: D\ndescription: ''\ndefinition:\n  evaluated_entity_type: dataset\n  scorers:\n"
        '    - {type: string_equals, ground_truth: "{{ sample.a }}", value: "{{ sample.n }}"}\n'
    )
    with pytest.raises(UsageError, match="--dataset KEY"):
        read(text)
    asked: list[str] = []
    board = run(read(text, dataset="data"), asked.append, tmp_path / "run")
    assert board.tasks[0].score == pytest.approx(0.5)  # 0, 1 and 2 equal themselves, 3, 4 and 5 do not
    assert asked == []


def test_a_judge_is_cached_limited_and_counted_apart(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "judges.py").write_text(
        "from assay import Completion\n"
        "class Judge:\n"
        "    name = 'judge'; settings = {}; cacheable = True; asked = 0\n"
        "    async def generate(self, request):\n"
        "        Judge.asked += 1\n"
        "        return Completion(text='good', tokens_in=10, tokens_out=1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    text = TASK + "    - {type: labeler_via_model, key: l, model_key: j, user_prompt: '{{ sample.q }}'}\n"
    definitions = read(text, models={"j": "judges:Judge"})
    board = run(definitions, lambda prompt: "1", tmp_path / "run")
    row = board.tasks[0]
    assert (row.judge_tokens_in, row.judge_tokens_out) == (60, 6)
    assert row.tokens_in == 0
    run(definitions, lambda prompt: "2", tmp_path / "other")
    import judges  # type: ignore[import-not-found]

    assert judges.Judge.asked == 6  # the second run took its verdicts from the cache


JUDGES = [
    "    - {type: labeler_via_model, key: l, model_key: j, user_prompt: '{{ sample.q }}'}\n",
    "    - {type: evaluator, key: l, model_key: j, objective: be good}\n",
]


@pytest.mark.parametrize("scorer", JUDGES)
def test_the_limits_of_a_judges_model_file_hold_and_are_no_part_of_the_task(
    read: Read, tmp_path: Path, scorer: str
) -> None:
    limits = "rate_limit: 90\nmax_concurrent_requests: 2\n"
    model = "key: j\ndisplay_name: J\nconfig: {url: 'http://127.0.0.1:1/v1', model_key: q}\n"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "j.yaml").write_text(model)
    (unlimited,) = read(TASK + scorer)
    (tmp_path / "models" / "j.yaml").write_text(model + limits)
    (limited,) = read(TASK + scorer)
    assert task_fingerprint(limited) == task_fingerprint(unlimited)
    asked: list[dict[str, Any]] = []

    def model_for(name: str, options: dict[str, Any], **pace: Any) -> Any:
        asked.append({"name": name, **options, **pace})
        return ToyModel()

    build_task(limited, context=BuildContext(model_for=model_for))
    for each in asked:
        each.pop("timeout_seconds", None)  # what an evaluator's judge may take
    assert asked == [
        {
            "name": "openai:q",
            "base_url": "http://127.0.0.1:1/v1",
            "api_key_env": NO_KEY,
            "requests_per_minute": 90,
            "concurrency": 2,
        }
    ]


def test_a_failing_action_is_a_failure_at_its_stage(read: Read, tmp_path: Path) -> None:
    text = (
        TASK
        + "  actions: [{key: x, action: exclude_from_metrics, filter: {op: is_true, expression: '{{ sample.q }}'}}]\n"
    )
    board = run(read(text), lambda prompt: "1", tmp_path / "run")
    assert board.tasks[0].failures == {"action/filter": 6}
    assert board.tasks[0].score is None or board.tasks[0].scored == 0


@pytest.mark.parametrize(
    ("expression", "excluded"),
    [
        ("{{ sample.n }}", 0),
        ("{{ solver_output.output }}", 6),
        ("{{ scores.string_equals.is_correct }}", 0),
        ("solver_output.messages[0].content | length", 0),
    ],
)
def test_actions_see_sample_answer_and_scores(read: Read, tmp_path: Path, expression: str, excluded: int) -> None:
    rule = f"{{op: equals, expression: '{expression}', value: 77}}"
    text = TASK + f"  actions: [{{key: x, action: exclude_from_metrics, filter: {rule}}}]\n"
    board = run(read(text), lambda prompt: "77", tmp_path / "run")
    assert board.tasks[0].excluded == excluded
