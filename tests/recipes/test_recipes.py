"""Recipes: from original files to task folders whose gold answers score full marks, and empty answers nothing."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.model_stack import close_model
from assay.core.task import Task
from assay.core.types import Completion, Request
from assay.evaluation import run_evaluation
from assay.recipes.recipe import NAMES, find_recipe, write_tasks
from assay.tasks.build import build_task
from assay.tasks.check import TaskCheck, check_task
from assay.tasks.load import load_tasks

DATA = Path(os.environ.get("ASSAY_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
with_data = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmarks' original files are not here")

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


def made(name: str, out: Path, **options: Any) -> Path:
    write_tasks(find_recipe(name), DATA / name, out, **{"variant": None, "shots": None, **options})
    return out


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
    found = checked(build_task(definition, limit=8))
    if any(finding.problem == "cannot_run_here" for finding in found.findings):
        pytest.skip(found.findings[0].detail)
    assert (found.gold_checked, [each for each in found.findings if each.error]) == (8, [])


@with_data
def test_the_published_solution_of_mbpp_123_has_the_time_it_needs(tmp_path: Path) -> None:
    lines = (made("mbpp", tmp_path / "all") / "mbpp.jsonl").read_text().splitlines()
    (line,) = [line for line in lines if '"mbpp-123"' in line]
    (tmp_path / "mbpp-123.jsonl").write_text(line + "\n")
    (definition,) = load_tasks([str(tmp_path / "mbpp-123.jsonl")])
    found = checked(build_task(definition))
    if any(finding.problem == "cannot_run_here" for finding in found.findings):
        pytest.skip(found.findings[0].detail)
    assert (found.gold_checked, [each for each in found.findings if each.error]) == (1, [])


@with_data
def test_a_gold_answer_that_ran_out_of_time_is_named_as_such(tmp_path: Path) -> None:
    row = {"id": "1", "prompt": "Loop.", "targets": [], "metric": "code_exec"}
    extras = {"tests": ["assert f() == 1"], "solution": "def f():\n    while True: pass", "cpu_seconds": 0.2}
    (tmp_path / "loop.jsonl").write_text(json.dumps({**row, "extras": extras}))
    (definition,) = load_tasks([str(tmp_path / "loop.jsonl")])
    found = checked(build_task(definition))
    if any(finding.problem == "cannot_run_here" for finding in found.findings):
        pytest.skip(found.findings[0].detail)
    assert "timeout: more than 0.2 s of processor time" in found.findings[0].detail


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
@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("ASSAY_FULL_RECIPES") != "1", reason="a minute of sandbox; set ASSAY_FULL_RECIPES=1")
@pytest.mark.parametrize(("name", "variant"), [("humaneval", None), ("mbpp", None), ("mbpp", "sanitized")])
def test_every_reference_solution_passes_in_the_sandbox(name: str, variant: str | None, tmp_path: Path) -> None:
    (definition,) = load_tasks([str(made(name, tmp_path, variant=variant))])
    found = checked(build_task(definition))
    assert (found.gold_checked, [each for each in found.findings if each.error]) == (found.samples, [])


def checked(task: Task) -> TaskCheck:
    """The task proved with its gold answers, and its sandbox ended, which other tests would find running."""

    async def check_and_close() -> TaskCheck:
        try:
            return await check_task(task)
        finally:
            for scorer in task.scorers.values():
                await close_model(scorer)

    return asyncio.run(check_and_close())


class Oracle:
    """Finds the right letter likeliest, or no letter at all."""

    name = "oracle"
    scores_continuations = True

    def __init__(self, right: dict[str, str]) -> None:
        self._right = right

    async def generate(self, request: Request) -> Completion:
        likely = request.continuation == f" {self._right.get(str(request.prompt))}"
        return Completion(text="", logprob=-0.1 if likely else -5.0)


@with_data
def test_mmlu_by_likelihood_knows_the_right_letter(tmp_path: Path) -> None:
    definitions = load_tasks([str(made("mmlu", tmp_path / "tasks") / "mmlu-global-facts.jsonl")])
    samples = list(build_task(definitions[0]).dataset)
    right = {sample.prompt: sample.targets[0] for sample in samples}
    board = run_evaluation(definitions, RunConfig(), model=Oracle(right), folder=tmp_path / "run").leaderboard
    assert board.tasks[0].score == 1.0
    blind = run_evaluation(definitions, RunConfig(), model=Oracle({}), folder=tmp_path / "blind").leaderboard
    first_letter = sum(sample.targets[0] == "A" for sample in samples) / len(samples)
    assert blind.tasks[0].score == pytest.approx(first_letter)  # ties go to the first choice


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


def test_worked_examples_come_first_and_targets_are_plain_numbers(sums: Path, tmp_path: Path) -> None:
    write_tasks(find_recipe("gsm8k"), sums, tmp_path / "out", variant=None, shots=1, accept_unknown=True)
    (definition,) = load_tasks([str(tmp_path / "out")])
    first, second = build_task(definition).dataset
    assert first.prompt.startswith("Question: What is 3 + 3?\nAnswer: 3 + 3 = 6.\n#### 6\n\nQuestion: What is 3 + 3?")
    assert second.targets == ("1400",)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("make", "gsm9k"), "Did you mean `gsm8k`"),
        (("make", "gsm8k"), "--data PATH"),
        (("make",), "needs a name"),
        (("make", "gsm8k", "--data", "nowhere"), "no such file or folder"),
        (("make", "gsm8k", "--data", ".", "--variant", "zero"), "Did you mean `zero-shot`"),
        (("make", "svamp", "--data", "."), "SVAMP.json"),
        (("make", "gsm8k", "--data", ".", "--shots", "-1"), "at least 0"),
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


def test_list_and_show_tell_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in NAMES)
    for name in NAMES:
        assert main(["recipe", "show", name]) == 0
        told = capsys.readouterr().out
        assert "licence:" in told
        assert "source:" in told


EXEMPLARS = """\
This file is for tests: keep it out of training data.
-----
Say whether a number is even.

A number is even when two divides it.

Q: Is 4 even?
Options:
- Yes
- No
A: Let's think step by step.
4 = 2 * 2. So the answer is Yes.

Q: Is 5 even?
A: Let's think step by step.
5 = 2 * 2 + 1. So the answer is No.

Q: Is 6 even?
A: Let's think step by step.
6 = 2 * 3. So the answer is Yes.
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """In the layout of the original one: tasks, exemplars, and what other models answered."""
    place = tmp_path / "BIG-Bench-Hard"
    for folder in ("bbh", "cot-prompts", "some-model-outputs"):
        (place / folder).mkdir(parents=True)
    examples = [{"input": f"Is {n} even?", "target": "No" if n % 2 else "Yes"} for n in range(10, 15)]
    (place / "bbh" / "even_numbers.json").write_text(json.dumps({"canary": "", "examples": examples}))
    (place / "cot-prompts" / "even_numbers.txt").write_text(EXEMPLARS)
    (place / "some-model-outputs" / "even_numbers.json").write_text("[]")
    return place


def bbh_rows(repository: Path, out: Path, **options: Any) -> list[dict[str, Any]]:
    settings = {"variant": None, "shots": None, "accept_unknown": True, **options}
    write_tasks(find_recipe("bbh"), repository, out, **settings)
    lines = (out / "bbh-even-numbers.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if not line.startswith("#")]


def test_bbh_takes_the_published_exemplars_where_they_are(repository: Path, tmp_path: Path) -> None:
    rows = bbh_rows(repository, tmp_path / "out")
    assert len(rows) == 5  # none is spent on examples
    before = EXEMPLARS.partition("-----\n")[2]
    assert rows[0]["prompt"] == f"{before}\nQ: Is 10 even?\nA: Let's think step by step."
    told = json.loads((tmp_path / "out" / "recipe.json").read_text())
    assert {each["name"] for each in told["files"]} == {"even_numbers.json", "even_numbers.txt"}
    assert not any("no cot-prompts/" in remark for remark in told["remarks"])


def test_bbh_without_reasoning_shows_the_same_questions_with_their_answers(repository: Path, tmp_path: Path) -> None:
    rows = bbh_rows(repository, tmp_path / "out", variant="direct", shots=2)
    assert rows[0]["prompt"].endswith("- No\nA: Yes\n\nQ: Is 5 even?\nA: No\n\nQ: Is 10 even?\nA:")


def test_bbh_without_the_exemplars_says_so_and_records_it(repository: Path, tmp_path: Path) -> None:
    (repository / "cot-prompts" / "even_numbers.txt").unlink()
    said: list[str] = []
    rows = bbh_rows(repository, tmp_path / "out", say=said.append)
    assert len(rows) == 2
    assert rows[0]["prompt"].startswith("Q: Is 10 even?\nA: So the answer is Yes.\n\nQ: Is 11 even?")
    assert rows[0]["metadata"]["exemplars"] == "first questions"
    assert "cot-prompts" in said[0]
    assert json.loads((tmp_path / "out" / "recipe.json").read_text())["remarks"] == said


def test_exemplars_in_another_form_are_a_sentence(repository: Path, tmp_path: Path) -> None:
    (repository / "cot-prompts" / "even_numbers.txt").write_text("-----\nQ: what?\n")
    with pytest.raises(UsageError, match=r"cot-prompts/even_numbers\.txt: not in the form"):
        bbh_rows(repository, tmp_path / "out")


def test_a_folder_without_the_benchmark_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file of MMLU is here"):
        write_tasks(find_recipe("mmlu"), tmp_path, tmp_path / "out", variant=None, shots=None)
    assert not (tmp_path / "out").exists()
