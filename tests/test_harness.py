"""The small harness API keeps its promises: the toy adapter scores 1.0, an adapter that says nothing 0.0."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.core.errors import UsageError


class Silent:
    name = "silent"

    def generate(self, prompts: list[str]) -> list[str]:
        return ["" for _ in prompts]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[assay.Example]]:
    folder = tmp_path_factory.mktemp("tasks")
    assay.seed_fixture_tasks(folder)
    return assay.load_all_tasks(folder)


def test_the_toy_adapter_scores_full_marks(tasks: dict[str, list[assay.Example]]) -> None:
    board = assay.run_leaderboard(tasks, assay.ToyAdapter(), batch_size=3)
    assert board.schema == "leaderboard.v1"
    assert len(board.tasks) == 5
    assert board.overall_score == 1.0


def test_an_adapter_that_says_nothing_scores_nothing(tasks: dict[str, list[assay.Example]]) -> None:
    board = assay.run_leaderboard(tasks, Silent(), batch_size=2)
    assert [row.score for row in board.tasks if row.refused is None] == [0.0] * sum(
        row.refused is None for row in board.tasks
    )
    assert board.overall_score == 0.0


def test_one_task_alone(tasks: dict[str, list[assay.Example]]) -> None:
    row = assay.run_task("arithmetic", tasks["arithmetic"], assay.ToyAdapter())
    assert (row.task, row.score, row.correct) == ("arithmetic", 1.0, row.total)


def test_a_task_without_examples_is_refused() -> None:
    with pytest.raises(UsageError, match="has no examples"):
        assay.run_task("nothing", [], assay.ToyAdapter())


def test_the_file_holds_predictions_only_when_asked(tasks: dict[str, list[assay.Example]], tmp_path: Path) -> None:
    board = assay.run_leaderboard({"arithmetic": tasks["arithmetic"]}, assay.ToyAdapter())
    path = tmp_path / "deep" / "leaderboard.json"
    assay.write_leaderboard(board, path, adapter_name="renamed")
    written = json.loads(path.read_text())
    assert (written["adapter"], written["schema"]) == ("renamed", "leaderboard.v1")
    assert "per_example" not in written["tasks"][0]
    assay.write_leaderboard(board, path, include_per_example=True)
    examples = json.loads(path.read_text())["tasks"][0]["per_example"]
    assert [example["id"] for example in examples] == [example.id for example in tasks["arithmetic"]]


def test_python_and_the_command_pin_the_same_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that `verify`, `diff` and `leaderboard` take what Python made together with what a command made."""
    monkeypatch.chdir(tmp_path)
    folder, by_python, by_command = Path("tasks"), Path("python.json"), Path("command.json")
    assay.seed_fixture_tasks(folder)
    with next(iter(folder.glob("*.jsonl"))).open("a") as file:
        file.write("# a remark\n\n")
    board = assay.run_leaderboard(assay.load_all_tasks(folder), assay.ToyAdapter())
    assay.write_leaderboard(board, by_python, include_per_example=True)
    assert main(["run", str(folder), "--model", "toy", "--output", str(by_command), "--include-per-example"]) == 0
    both = [by_command, by_python]
    for command in (["verify", by_python, folder], ["diff", *both], ["leaderboard", *both]):
        assert main([str(word) for word in command]) == 0, capsys.readouterr()
    assert "targets changed" not in capsys.readouterr().out


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_of_nothing_is_refused(tasks: dict[str, list[assay.Example]], batch_size: int) -> None:
    with pytest.raises(UsageError, match="must be 1 or more"):
        assay.run_leaderboard(tasks, assay.ToyAdapter(), batch_size=batch_size)


PROGRAMS = [
    ("def f(x): return x * 2", 1.0),
    ("def f(x): return 2", 0.5),
    ("import os\ndef f(x): return x * 2", 0.0),
    ("no program", 0.0),
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")
def test_the_metric_table_runs_programs_too() -> None:
    def scores() -> list[float]:
        return [assay.METRIC_FNS["code_exec"](code, ["ok"], {"io_pairs": [[1, 2], [3, 6]]}) for code, _ in PROGRAMS]

    async def in_a_notebook() -> list[float]:
        return scores()

    expected = [score for _, score in PROGRAMS]
    assert scores() == expected
    assert asyncio.run(in_a_notebook()) == expected
    assert {"exact_match", "rouge_l", "multiple_choice", "substring_contains", "code_exec"} <= set(assay.METRIC_FNS)


@pytest.mark.parametrize("adapter", [lambda: "", "openai:gpt", None])
def test_what_is_no_adapter_is_a_sentence(tasks: dict[str, list[assay.Example]], adapter: object) -> None:
    with pytest.raises(UsageError, match=r"an adapter is a function or has a `name`|must take one argument"):
        assay.run_leaderboard(tasks, adapter)


def test_what_is_not_a_metric_of_an_example_is_a_sentence() -> None:
    example = assay.Example(id="1", prompt="a", targets=("a",), metric=max)
    with pytest.raises(UsageError, match="is not a metric: give a function, or the name of one"):
        assay.run_leaderboard({"t": [example]}, assay.ToyAdapter())


def test_a_board_made_in_python_is_that_of_the_command_and_diff_finds_nothing_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    lines = [{"id": "東京", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": "exact_match"}]
    (tmp_path / "tasks" / "sums.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assay.write_leaderboard(assay.run_leaderboard(assay.load_all_tasks("tasks"), assay.ToyAdapter()), "python.json")
    assert main(["run", "tasks", "--run-dir", "run", "--quiet"]) == 0
    boards = [json.loads(Path(name).read_text()) for name in ("run/leaderboard.json", "python.json")]
    assert boards[0]["tasks"][0]["fingerprint"] == boards[1]["tasks"][0]["fingerprint"]
    capsys.readouterr()
    assert main(["diff", "run/leaderboard.json", "python.json", "--json"]) == 0
    [task] = json.loads(capsys.readouterr().out)["tasks"]
    assert [task[name] for name in ("content", "asking", "scoring", "other_parts")] == ["same"] * 4
