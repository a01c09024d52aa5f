"""`assay init`: starter projects and copies of examples run as they are, and nothing that is there is touched."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, leaderboard, without_capabilities

from assay.cli.init import FIRST_SEARCH
from assay.cli.main import main

KINDS = ["conversation", "dataset-quality", "exact-answer", "function-calls", "judged-answer", "rag"]


def test_a_starter_project_runs_as_it_is(tmp_path: Path) -> None:
    assert assay("init", "project", cwd=tmp_path).returncode == 0
    project = tmp_path / "project"
    checked = assay("check", "tasks", cwd=project)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = assay("run", "tasks", "--model", "my_model:MyModel", "--run-dir", "run", cwd=project)
    assert done.returncode == 0, done.stderr
    assert leaderboard(project / "run")["overall_score"] == 1.0


def test_a_starter_search_runs_offline_and_finds_a_better_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--optimize", "project"]) == 0
    made = sorted(path.name for path in (tmp_path / "project").iterdir())
    assert made == [".gitignore", "README.md", "label-tickets.yaml", "stand_in.py", "tickets.jsonl"]
    assert FIRST_SEARCH in capsys.readouterr().err
    done = assay(*FIRST_SEARCH.split()[1:], "--json", "--quiet", cwd=tmp_path / "project")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["testset"]["seed"]["mean"], result["testset"]["best"]["mean"]) == (0.0, 1.0)


@pytest.fixture(scope="module")
def yaml_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("yaml") / "project"
    assert main(["init", "--yaml", str(project)]) == 0
    return project


def test_the_yaml_project_has_a_task_of_each_common_kind(yaml_project: Path) -> None:
    assert sorted(path.stem for path in (yaml_project / "tasks").iterdir()) == KINDS
    top = sorted(path.name for path in yaml_project.iterdir())
    assert top == [".gitignore", "README.md", "datasets", "models", "run.yaml", "stand_ins.py", "tasks"]


def test_every_command_of_the_yaml_projects_readme_runs_offline(yaml_project: Path) -> None:
    readme = (yaml_project / "README.md").read_text()
    first_block = readme.split("```")[1]
    commands = [shlex.split(line, comments=True)[1:] for line in first_block.strip().splitlines()]
    assert [command[0] for command in commands] == ["check", "show", "run", "run", "view"]
    for command in commands[:-1]:  # a server that serves until it is ended is tried elsewhere
        done = assay(*command, "--json", cwd=yaml_project)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        if command[0] == "check":
            assert all(not check["findings"] for check in json.loads(done.stdout)), done.stdout
    boards = [leaderboard(run) for run in (yaml_project / "runs").iterdir()]
    scores = {row["task"]: row["score"] for board in boards for row in board["tasks"]}  # type: ignore[attr-defined]
    assert scores == {
        "exact-answer": 0.75,
        "judged-answer": 0.5,
        "conversation": 1.0,
        "rag": 0.75,
        "function-calls": 0.5,
        "dataset-quality": 0.75,
    }


def test_the_stand_ins_of_the_yaml_project_cost_nothing_and_fit_into_a_budget(yaml_project: Path) -> None:
    options = ("--model", "stand_ins:Assistant", "--run-dir", "runs/budget", "--budget-cost", "2")
    done = assay("run", "tasks", *options, cwd=yaml_project)
    assert done.returncode == 0, done.stderr
    assert leaderboard(yaml_project / "runs" / "budget")["judge_cost"]["amount"] == 0


def test_an_example_is_copied_into_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--example", "evaluators", "copy"]) == 0
    assert (tmp_path / "copy" / "score.sh").stat().st_mode & 0o100, "a program stays one"
    (tmp_path / "here" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert main(["init", "--example", "frozen_spec"]) == 0
    assert (tmp_path / "here" / "tasks.jsonl").is_file(), "without a folder, into the current one"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--yaml", "full"], "full: not an empty folder (`mine.txt` is there); nothing was written"),
        (["--yaml", "full/mine.txt"], "full/mine.txt: is a file, not a folder; nothing was written"),
        (["--yaml"], ".: not an empty folder (`full` is there)"),
        (["--yaml", "hidden"], "hidden: not an empty folder (`.gitignore` is there)"),
        (["--example", "declarativ", "x"], "unknown example `declarativ`. Did you mean `declarative`?"),
        (["--yaml", "full/mine.txt/x"], "full/mine.txt/x"),
    ],
)
def test_nothing_is_written_where_something_is(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("full/mine.txt", "hidden/.gitignore"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("mine")
    assert main(["init", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".gitignore", "full", "hidden", "mine.txt"]


def test_two_kinds_of_project_are_not_written_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["init", "--yaml", "--optimize", str(tmp_path / "x")])
    assert ended.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    done = assay("init", "--yaml", "closed/project", cwd=tmp_path, before=without_capabilities())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == "assay init: closed/project: Permission denied"


def test_the_skill_file_goes_into_a_project_that_is_there_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work.py").write_text("x = 1\n")
    assert main(["init", "--skill"]) == 0
    skill = tmp_path / "skill-assay.md"
    assert skill.read_text().startswith("---\nname: assay\n")
    assert len(skill.read_text().splitlines()) < 150
    assert main(["init", "--skill", "."]) == 0  # the same file again is fine
    skill.write_text("mine\n")
    assert main(["init", "--skill"]) == 2
    assert "exists with different content" in capsys.readouterr().err
    assert skill.read_text() == "mine\n"
