"""Tasks of an installed Inspect, by name: asked and scored by its own code, run by ours."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.inspect.own_tasks import write_own_tasks
from tests.servers.fake_openai import fake_openai
from tests.tasks.model_files import write_model_file

from assay.bridges.inspect.inspect_source import InspectSource, read_inspect
from assay.bridges.inspect.log_files import log_header
from assay.bridges.inspect.log_run import run_of_log
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.types import DatasetSpec, PartSpec, Record, TaskDefinition
from assay.formats.task_source import NoOptions
from assay.results.board.leaderboard import read_leaderboard
from assay.runs.evaluate import RunOptions, run_all
from assay.runs.plan import make_config, plan_runs, read_tasks
from assay.runs.preview import preview_sample
from assay.runs.progress import run_blocking
from assay.task_records import Provenance
from assay.tasks.load import load_tasks
from assay.trust.consent import reaches

INSTALLED = "inspect_ai" in packages_distributions()
# Inspect asks our server with the one, and reads documents of the hub with the other
MISSING = [name for name in ("inspect_ai", "openai", "datasets") if name not in packages_distributions()]
needs_inspect = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
ANSWERS = (
    "ANSWER: A",
    "I think.\n\nANSWER: B",
    "ANSWER: C",
    "answer: a, c",
    "5",
    "The answer is 7.",
    "red",
    "blue",
    "",
)
VERDICTS = ("GRADE: C", "It is not.\nGRADE: I", "no grade")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    file = write_own_tasks(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return f"inspect:{file.name}@"


@pytest.mark.skipif(INSTALLED, reason="inspect_ai is installed")
def test_without_the_package_a_sentence_says_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"pip install 'assay-eval\[inspect-ai\]'"):
        read_inspect("inspect:some/task")


def test_a_run_folder_trusts_no_python_of_inspect() -> None:
    part = PartSpec(key="x", use="inspect", options={"library": {"name": "p/t"}, "code": []})
    definition = TaskDefinition(
        name="t",
        format="inspect",
        dataset=DatasetSpec(use="built"),
        solver=PartSpec(key="x", use="single_turn"),
        scorers=(part,),
        aggregates=(),
        metric="",
        provenance=Provenance(lists_code=True),
    )
    assert reaches(definition) == []
    assert [each.what for each in reaches(definition, out_of_a_run=True)] == ["inspect:p/t"]


def test_flags_of_other_tasks_are_refused(own: str) -> None:
    with pytest.raises(UsageError, match="--chat-template: only for lm-eval tasks"):
        load_tasks([f"{own}sums"], data={"test": "rows.jsonl"}, source_options={"lm-eval": {"chat_template": True}})
    with pytest.raises(UsageError, match=r"--num-fewshot 2: .*has few-shot examples of its own"):
        load_tasks([f"{own}sums"], num_fewshot=2)
    with pytest.raises(UsageError, match=r"nowhere\.py: no such file"):
        read_inspect("inspect:nowhere.py@sums")


@needs_inspect
def test_what_it_asks_is_what_inspect_would_ask(own: str) -> None:
    (definition,) = read_tasks([f"{own}sums"], make_config(task_config={"count": "4"})).definitions
    assert (definition.dataset.size, [each.key for each in definition.scorers]) == (4, ["match", "includes"])
    shown = preview_sample(definition, "2")
    assert shown is not None
    sample, (request,) = shown
    assert sample.metadata == {"kind": "odd"}
    assert [(each.role, each.content) for each in request.messages or ()] == [
        ("system", "You add odd numbers."),
        ("user", "Q: What is 1 + 1?\nA:"),
    ]
    assert (request.max_tokens, request.temperature, request.seed, request.stop) == (20, 0.5, 3, ("END",))
    assert request.extra == {"frequency_penalty": 0.25}


@needs_inspect
@pytest.mark.parametrize(
    ("task", "needs"),
    [
        ("with_tools", r"a sandbox \(docker\); tools or an agent \(`use_tools`\)"),
        ("with_own_parts", r"the solver `own_solver`; the solver `self_critique`; the scorer `own_scorer`"),
        ("with_files", "a sandbox for its samples"),
        ("with_schema", "the generation setting `num_choices` is not supported"),
        ("sum", r"has no Inspect task called `sum`. Did you mean `inspect:own.py@sums`"),
        ("of_the_hub", "its documents are on the hub, which cannot be reached"),
    ],
)
def test_what_is_not_supported_is_refused_with_what_it_needs(own: str, task: str, needs: str) -> None:
    with pytest.raises(UsageError, match=needs):
        read_inspect(f"{own}{task}")


@needs_inspect
def test_parameters_that_a_task_does_not_have_are_refused(own: str) -> None:
    with pytest.raises(UsageError, match="--config nonsense: the task `sums` has no such parameter; it has: count"):
        read_inspect(f"{own}sums", arguments={"nonsense": "1"})
    with pytest.raises(UsageError, match="shuffles while it asks"):
        read_inspect(f"{own}letters", arguments={"shuffle": "true"})


@needs_inspect
def test_documents_come_from_files_next_to_it_or_in_place_of_the_hub(own: str) -> None:
    assert read_inspect(f"{own}with_a_file").dataset.size == 2
    given = read_inspect(f"{own}of_the_hub", data={"test": "rows.jsonl"})
    assert preview_sample(given, "2")[0].targets == ("two",)  # type: ignore[index]
    with pytest.raises(UsageError, match="reads the split `test` of some/where: --data test=FILE"):
        read_inspect(f"{own}of_the_hub", data={"train": "rows.jsonl"})


@needs_inspect
def test_a_strangers_python_is_named_and_does_not_run(
    own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyproject.toml").write_text("")
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + (tmp_path / "own.py").read_text())
    monkeypatch.chdir(elsewhere)
    with pytest.raises(UsageError, match=r"own.py:sums.*rerun with --trust, or .*`assay trust inspect:../own.py@sums`"):
        read_inspect("inspect:../own.py@sums")
    assert not (tmp_path / "ran").exists()
    assert read_inspect("inspect:../own.py@sums", trust=True).dataset.size == 12


@needs_inspect
def test_a_grader_must_be_named(own: str) -> None:
    definitions = [read_inspect(f"{own}graded")]
    with pytest.raises(UsageError, match="its scorer calls a model: name it with --model-for grader=MODEL"):
        plan_runs(definitions, make_config(), ["stub:x"])


@needs_inspect
def test_a_grader_may_be_the_key_of_a_model_file_and_is_not_asked_again(
    own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model_file("strict", "constant:GRADE: C")
    typed = ["run", f"{own}graded", "--trust", "--model", "stub:x", "--model-for", "grader=strict", "--quiet"]
    assert main([*typed, "--judge-retries", "3"]) == 2
    assert "--judge-retries has no effect here: the scorers of these tasks read" in capsys.readouterr().err
    assert main([*typed, "--run-dir", "run"]) == 0, capsys.readouterr().err
    assert "The strict" in Path("run/leaderboard.json").read_text()


@needs_inspect
def test_installed_packages_are_listed_by_their_source() -> None:
    if "inspect_evals" not in packages_distributions():
        pytest.skip("inspect_evals is not installed")
    names = InspectSource().names("arc_", NoOptions())
    assert "ARC-Easy" in names["inspect_evals/arc_easy"]
    assert read_inspect("inspect:inspect_evals/arc_easy", only_looks=True).source.endswith("arc.py")


def answer(prompt: str) -> str:
    """Another answer to another question, whoever asks it."""
    share = hashlib.sha256(prompt.encode()).digest()[0]
    said = VERDICTS if "[BEGIN DATA]" in prompt else ANSWERS
    return said[share % len(said)]


async def both(task: str, folder: Path) -> tuple[Path, Path, list[Any], list[Any]]:
    """The run of Inspect's own program and ours, over one server, and what each of them sent."""
    async with fake_openai(answer) as server:
        server.keep_requests = True
        environment = {**os.environ, "LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": "none"}
        words = ["eval", f"own.py@{task}", "--model", "openai-api/local/m", "--display", "none", "--log-dir", "logs"]
        words += ["--log-format", "json", "--no-log-realtime", "--max-connections", "1"]
        if task == "graded":  # a model that the task names goes before the role: ours is called in its place
            (folder / "own.py").write_text((folder / "own.py").read_text().replace('model="openai/gpt-9"', ""))
            words += ["--model-role", "grader=openai-api/local/g"]
        peer = await asyncio.create_subprocess_exec(sys.executable, "-m", "inspect_ai", *words, env=environment)
        assert await peer.wait() == 0
        theirs, server.bodies = server.bodies, []
        graders = {"grader": f"openai:g@{server.base_url}"} if task == "graded" else {}
        (definition,) = read_tasks([f"inspect:own.py@{task}"], make_config(), models=graders).definitions
        (planned,) = plan_runs([definition], make_config(cache=False), [f"openai:m@{server.base_url}"])
        await run_all([planned], RunOptions(folder=folder / "run"))
    (log,) = (folder / "logs").glob("*.json")
    return log, folder / "run", theirs, server.bodies


@needs_inspect
@pytest.mark.parametrize("task", ["sums", "letters", "several", "written", "graded"])
def test_requests_scores_and_means_are_those_of_inspect_itself(own: str, task: str, tmp_path: Path) -> None:
    log, run, theirs, ours = asyncio.run(both(task, tmp_path))
    assert sorted(map(sent, theirs)) == sorted(map(sent, ours))
    converted = run_of_log(log)
    assert values(read_records(converted / "journal.jsonl")) == values(read_records(run / "journal.jsonl"))
    header = log_header(log)
    assert header.results is not None
    reported = {each.name: each.metrics for each in header.results.scores}
    found = {each.name: each.value for each in read_leaderboard(run).tasks[0].aggregates if each.name in reported}
    assert found
    for name, value in found.items():
        mean = reported[name].get("accuracy") or reported[name]["mean"]
        assert value == pytest.approx(mean["value"], abs=1e-9)


def sent(body: dict[str, Any]) -> str:
    """The request without what says nothing about the question."""
    return str(sorted((name, str(value)) for name, value in body.items() if name not in ("stream", "user")))


def values(records: Any) -> dict[tuple[str, int], list[Any]]:
    found: dict[tuple[str, int], list[Any]] = {}
    each: Record
    for each in records:
        scores = sorted((score.name, score.values.get("score"), score.answer) for score in each.scores)
        found[each.sample_id, each.attempt] = [score for score in scores if score[1] is not None]
    return found


@needs_inspect
def test_a_run_is_scored_again_from_its_folder(own: str, tmp_path: Path) -> None:
    definition = read_inspect(f"{own}letters")
    (planned,) = plan_runs([definition], make_config(cache=False), ["stub:ANSWER: B"])
    (result,) = run_blocking(run_all([planned], RunOptions(folder=tmp_path / "run")))
    row = result.leaderboard.tasks[0]
    assert (row.metric, row.scored, row.failed) == ("choice", 18, 0)
    assert result.leaderboard.tasks[0].score == read_leaderboard(tmp_path / "run").tasks[0].score
