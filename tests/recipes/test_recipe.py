"""Recipes: from original files to task folders whose gold answers score full marks, and empty answers nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.recipes.made import checked, made, with_data
from tests.skips import skip_without_sandbox

from assay.checking.task_check import check_task
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.recipes.recipe import find_recipe, write_tasks
from assay.run_config import RunConfig
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks

SAMPLES = {
    "bbh": 247 * 5 + 175,
    "gsm8k": 1319,
    "humaneval": 164,
    "ifeval": 541,
    "mbpp": 500,
    "mmlu": 1723,
    "nq-open": 3605,
    "svamp": 1000,
}


@with_data
@pytest.mark.parametrize(("name", "samples"), SAMPLES.items())
def test_every_benchmark_becomes_valid_tasks(name: str, samples: int, tmp_path: Path) -> None:
    definitions = load_tasks([str(made(name, tmp_path))])
    assert sum(definition.dataset.size for definition in definitions) == samples
    told = json.loads((tmp_path / "recipe.json").read_text())
    assert told["recipe"] == name
    assert all(each["published"] and len(each["sha256"]) == 64 for each in told["files"])


@with_data
def test_a_task_names_its_own_files_and_no_others(tmp_path: Path) -> None:
    head = (made("mmlu", tmp_path) / "mmlu-miscellaneous.jsonl").read_text().partition("\n")[0]
    assert head.count("sha256") == 2
    assert "miscellaneous_dev.csv" in head


@with_data
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gsm8k", {}),
        ("gsm8k", {"variant": "zero-shot"}),
        ("svamp", {}),
        ("mmlu", {"variant": "generate"}),
        ("bbh", {}),
        ("bbh", {"variant": "direct"}),
        ("nq-open", {}),
    ],
)
def test_gold_answers_score_and_empty_ones_do_not(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    for definition in load_tasks([str(made(name, tmp_path, **options))]):
        found = asyncio.run(check_task(build_task(definition)))
        assert found.gold_checked == found.samples
        assert [finding for finding in found.findings if finding.error] == []


@with_data
@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_reference_solutions_pass_in_the_sandbox(name: str, tmp_path: Path) -> None:
    (definition,) = load_tasks([str(made(name, tmp_path))])
    found = checked(build_task(definition, config=RunConfig(limit=8)))
    if any(finding.problem == "cannot_run_here" for finding in found.findings):
        skip_without_sandbox(found.findings[0].detail)
    assert (found.gold_checked, [each for each in found.findings if each.error]) == (8, [])


CONTINUED = {
    "bbh": "\nQ:", "gsm8k": "\nQuestion:", "humaneval": "\ndef", "mbpp": "[DONE]", "nq-open": "\nQ:", "svamp": "\nQ:",
}  # fmt: skip


@with_data
@pytest.mark.parametrize(("name", "stop"), CONTINUED.items())
def test_a_model_that_only_continues_is_stopped(name: str, stop: str, tmp_path: Path) -> None:
    path = next(made(name, tmp_path).glob("*.jsonl"))
    generation = json.loads(path.read_text().splitlines()[1])["extras"]["generation"]
    assert stop in generation["stop"]
    assert len(generation["stop"]) <= 4
    assert 0 < generation["max_tokens"] <= 1024


@with_data
@pytest.mark.parametrize(("name", "variant"), [("gsm8k", "zero-shot"), ("humaneval", "chat")])
def test_a_model_that_ends_by_itself_is_not(name: str, variant: str, tmp_path: Path) -> None:
    path = next(made(name, tmp_path, variant=variant).glob("*.jsonl"))
    assert "generation" not in json.loads(path.read_text().splitlines()[1])["extras"]


@with_data
@pytest.mark.prove
@pytest.mark.parametrize(("name", "variant"), [("humaneval", None), ("mbpp", None), ("mbpp", "sanitized")])
def test_every_reference_solution_passes_in_the_sandbox(name: str, variant: str | None, tmp_path: Path) -> None:
    (definition,) = load_tasks([str(made(name, tmp_path, variant=variant))])
    found = checked(build_task(definition))
    assert (found.gold_checked, [each for each in found.findings if each.error]) == (found.samples, [])


@with_data
def test_prompts_are_as_published(tmp_path: Path) -> None:
    lines = (made("mmlu", tmp_path) / "mmlu-astronomy.jsonl").read_text().splitlines()
    prompt = json.loads(lines[1])["prompt"]
    assert prompt.startswith("The following are multiple choice questions (with answers) about astronomy.\n\n")
    assert prompt.count("\nAnswer:") == 6
    assert prompt.endswith("\nAnswer:")


# -- on files of our own, so that these run anywhere


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    lines = [{"question": f"What is {n} + {n}?", "answer": f"{n} + {n} = {2 * n}.\n#### {2 * n:,}"} for n in (3, 700)]
    (folder / "test.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, lines[:1])))
    return folder


def test_a_file_that_is_not_the_published_one_is_refused_unless_accepted(sums: Path, tmp_path: Path) -> None:
    recipe = find_recipe("gsm8k")
    with pytest.raises(UsageError, match=r"test\.jsonl: its sha256 is .*--accept-other-source"):
        write_tasks(recipe, sums, tmp_path / "out", variant="zero-shot", shots=None)
    assert not (tmp_path / "out").exists()
    said: list[str] = []
    options: dict[str, Any] = {"variant": "few-shot", "shots": 1, "accept_unknown": True, "say": said.append}
    assert write_tasks(recipe, sums, tmp_path / "out", **options) == {"gsm8k": 2}
    assert said[0].startswith("2 of 2 files are not among the published ones")
    told = json.loads((tmp_path / "out" / "recipe.json").read_text())
    assert [each["published"] for each in told["files"]] == [False, False]
    head, *rows = (tmp_path / "out" / "gsm8k.jsonl").read_text().splitlines()
    assert head.count("(not known as published)") == 2
    assert all(json.loads(row)["metadata"]["source_published"] is False for row in rows)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("make", "gsm9k"), "Did you mean `gsm8k`"),
        (("make", "gsm8k"), "--data PATH"),
        (("make",), "needs a name"),
        (("make", "gsm8k", "--data", "nowhere"), "no such file or folder"),
        (("make", "gsm8k", "--data", ".", "--variant", "zero"), "Did you mean `zero-shot`"),
        (("make", "svamp", "--data", "."), "SVAMP.json"),
        (("make", "gsm8k", "--data", ".", "--num-fewshot", "-1"), "must be 0 or more, got -1"),
    ],
)
def test_what_is_wrong_is_a_sentence(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["recipe", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_the_benchmark_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file of MMLU is here"):
        write_tasks(find_recipe("mmlu"), tmp_path, tmp_path / "out", variant=None, shots=None)
    assert not (tmp_path / "out").exists()


SCENE = {"ind": 1, "endings": ["a", "b", "c", "d"], "activity_label": "x", "ctx_a": "a", "ctx_b": "b"}
BLANK = {"qID": "1", "sentence": "_ ran.", "option1": "a", "option2": "b"}
CHOICES = {"question_id": 1, "question": "q", "options": ["a"], "answer": "A"}


@pytest.mark.parametrize(
    ("name", "file", "content", "said"),
    [
        ("truthfulqa", "mc_task.json", [{"question": "q", "mc1_targets": {"a": 0}}], "not in the format"),
        ("hellaswag", "hellaswag_val.jsonl", {**SCENE, "label": -1}, "number -1"),
        ("winogrande", "dev.jsonl", {**BLANK, "answer": "0"}, "number -1"),
        ("winogrande", "dev.jsonl", {**BLANK, "answer": "1", "sentence": "She ran."}, "no blank"),
        ("aime", "exam.jsonl", {"problem": "p", "answer": None}, "None is not a whole number"),
        ("mmlu-pro", "test.jsonl", {**CHOICES, "category": "/../../away"}, "not a valid task name"),
        ("gpqa", "gpqa_diamond.csv", [], "it has no samples"),
    ],
)
def test_data_that_would_give_wrong_targets_or_files_elsewhere_is_refused(
    name: str, file: str, content: Any, said: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / file).write_text(json.dumps(content))
    with pytest.raises(UsageError, match=said):
        write_tasks(find_recipe(name), tmp_path / "in", tmp_path / "o", variant=None, shots=0, accept_unknown=True)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
