"""`--num-fewshot` and `--fewshot-as-turns`, for every format that has few-shot examples; an error for the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.types import Sample
from assay.tasks.built_tasks import build_dataset
from assay.tasks.load import load_tasks

EXAMPLES = [{"prompt": f"Question: {number} + 1\nAnswer:", "completion": str(number + 1)} for number in range(3)]
RECORD = {
    "task_id": "a", "category": "arithmetic", "prompt": "Question: 38 + 27\nAnswer:", "targets": ["65"],
    "metric_name": "exact_match", "post_process": "strip_whitespace", "few_shot_examples": EXAMPLES,
}  # fmt: skip
YAML = """\
key: sums
display_name: Sums
description: Sums.
evaluated_entity_type: model
definition:
  type: declarative_task
  dataset: {key: questions}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.question }}"}]}
    FEW_SHOT
  scorers:
    - type: string_equals
      ground_truth: "{{ sample.answer }}"
      metrics: [{type: mean, field: is_correct}]
"""
FEW_SHOT = 'few_shot: {dataset: {key: train}, count: 1, style: text, assistant: "{{ sample.answer }}"}'


@pytest.fixture
def spec(tmp_path: Path) -> str:
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(RECORD) + "\n")
    return str(path)


def asked(source: str, **told: object) -> Sample:
    (definition,) = load_tasks([source], **told)  # type: ignore[arg-type]
    return next(iter(build_dataset(definition)))


@pytest.mark.parametrize(
    ("count", "before"), [(0, ""), (2, "Question: 0 + 1\nAnswer: 1\n\nQuestion: 1 + 1\nAnswer: 2\n\n")]
)
def test_a_record_is_prompted_with_so_many_of_its_own_examples(spec: str, count: int, before: str) -> None:
    assert asked(spec, num_fewshot=count).prompt == before + RECORD["prompt"]  # type: ignore[operator]


def test_the_examples_of_a_record_become_turns(spec: str) -> None:
    turns = asked(spec, num_fewshot=1, fewshot_as_turns=True).extras["messages"]
    assert [(each["role"], each["content"]) for each in turns] == [
        ("user", "Question: 0 + 1\nAnswer:"),
        ("assistant", "1"),
        ("user", RECORD["prompt"]),
    ]


def test_the_number_of_examples_is_part_of_what_a_task_is(spec: str) -> None:
    datasets = [load_tasks([spec], num_fewshot=each)[0].dataset for each in (None, 1, 2)]
    assert len({json.dumps(each.options) for each in datasets}) == 3


def yaml_task(folder: Path, few_shot: str) -> str:
    for name in ("questions", "train"):
        rows = [{"question": f"{name} {number}", "answer": str(number)} for number in range(4)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
        (folder / f"{name}.yaml").write_text(f"key: {name}\ndisplay_name: {name}\nfile_path: {name}.jsonl\n")
    (folder / "pyproject.toml").write_text("")
    (folder / "task.yaml").write_text(YAML.replace("FEW_SHOT", few_shot))
    return str(folder / "task.yaml")


@pytest.fixture
def yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return yaml_task(tmp_path, FEW_SHOT)


def test_a_yaml_task_is_prompted_with_another_number_and_style(yaml: str) -> None:
    (usual,) = load_tasks([yaml])
    (more,) = load_tasks([yaml], num_fewshot=3, fewshot_as_turns=True)
    (none,) = load_tasks([yaml], num_fewshot=0)
    assert (usual.solver.options["few_shot"]["count"], usual.solver.options["few_shot"]["style"]) == (1, "text")
    assert (more.solver.options["few_shot"]["count"], more.solver.options["few_shot"]["style"]) == (3, "turns")
    assert len(more.solver.options["few_shot"]["examples"]) == 4
    assert "few_shot" not in none.solver.options


def test_what_a_task_does_not_have_is_refused_in_a_sentence(spec: str, yaml: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--num-fewshot 5: a record of `arithmetic` has 3 few_shot_examples"):
        load_tasks([spec], num_fewshot=5)
    with pytest.raises(UsageError, match=r"task.yaml:.*--num-fewshot 5: the task's `few_shot` has 4 rows"):
        load_tasks([yaml], num_fewshot=5)
    with pytest.raises(UsageError, match=r"few_shot.count: 5 few-shot examples are wanted: .* has 4 rows"):
        load_tasks([yaml_task(tmp_path, FEW_SHOT.replace("count: 1", "count: 5"))])
    with pytest.raises(UsageError, match=r"few_shot.count: 4 few-shot examples are wanted: .* has 3 rows"):
        load_tasks([yaml_task(tmp_path, FEW_SHOT.replace("train}, count: 1", "questions}, count: 4"))])
    with pytest.raises(UsageError, match=r"few_shot.count: 2 are wanted, and there are 1 `examples`"):
        load_tasks([yaml_task(tmp_path, "few_shot: {examples: [{question: a}], count: 2, assistant: b}")])
    with pytest.raises(UsageError, match=r"--fewshot-as-turns: the task's solver has no `few_shot`"):
        load_tasks([yaml_task(tmp_path, "")], fewshot_as_turns=True)
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"id": "1", "prompt": "Say 4.", "targets": ["4"], "metric": "exact_match"}\n')
    with pytest.raises(UsageError, match=r"plain.jsonl: --num-fewshot 5: the prompts of a task folder"):
        load_tasks([str(plain)], num_fewshot=5)
    assert load_tasks([str(plain)], num_fewshot=0)
