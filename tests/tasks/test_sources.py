"""A package of a stranger adds a format of tasks with flags; claims that meet are refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.tasks.load import load_tasks

EXAMPLES = Path(__file__).parents[2] / "examples" / "declarative"
QUIZ = '''\
"""Quiz files: `question = answer` on each line."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from assay import DatasetSpec, PartSpec, TaskDefinition, UsageError, fingerprint


class Options(Struct, frozen=True):
    first: Annotated[int | None, Meta(description="only so many questions")] = None
    case: Literal["keep", "fold"] = "keep"
    shout: Annotated[bool, Meta(description="ask in capitals")] = False


class Quiz:
    Options = Options

    def read(self, text, options, context):
        path = Path(text.removeprefix("quiz:"))
        if path.stem == "odd":
            raise KeyError("lines")
        lines = path.read_text().splitlines()[: options.first]
        samples = []
        for number, line in enumerate(lines, 1):
            question, equals, answer = line.partition(" = ")
            if not equals:
                raise UsageError(f"{path}:{number}: expected `question = answer`")
            asked = question.upper() if options.shout else question
            samples.append({"id": str(number), "prompt": asked, "targets": [answer], "metric": "exact_match"})
        dataset = DatasetSpec(
            use="task_folder", options={"examples": samples}, sha256=fingerprint(samples), size=len(samples)
        )
        scorer = PartSpec(key="exact_match", use="metric", options={"metric": "exact_match"})
        solver = PartSpec(key="single_turn", use="single_turn")
        mean = PartSpec(key="score", use="mean", options={"field": "score", "bounds": [0.0, 1.0]})
        return [TaskDefinition(name=path.stem, format="quiz", dataset=dataset, solver=solver, scorers=(scorer,),
                               aggregates=(mean,), metric="exact_match", source=str(path))]
'''


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    install(tmp_path, site, "quiz-format")
    (tmp_path / "demo.quiz").write_text("2 + 3 = 5\n4 + 4 = 8\n1 + 1 = 2\n")
    return site


def install(folder: Path, site: Path, name: str) -> None:
    """Install a package that claims `quiz:` and `.quiz`, from its sources and without a network."""
    module = name.replace("-", "_")
    package = folder / name
    package.mkdir()
    (package / f"{module}.py").write_text(QUIZ)
    (package / "pyproject.toml").write_text(
        f'[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        f'[project]\nname = "{name}"\nversion = "1.0"\n[tool.hatch.build]\ninclude = ["{module}.py"]\n'
        f'[project.entry-points."assay.sources"]\nquiz = "{module}:Quiz"\n".quiz" = "{module}:Quiz"\n'
    )
    options = ("--no-index", "--no-build-isolation", "--no-deps", "--quiet", "--disable-pip-version-check")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(site), "--upgrade", str(package)], check=True
    )


def assay(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay", *words],
        cwd=site.parent,
        env={"PYTHONPATH": ":".join([str(site), *sys.path]), "HOME": str(site.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


def test_a_package_adds_a_format_with_flags(packages: Path) -> None:
    done = assay(packages, "run", "demo.quiz", "--model", "toy", "--quiz-first", "2", "--run-dir", "run")
    assert done.returncode == 0, done.stderr
    (task,) = json.loads((packages.parent / "run" / "leaderboard.json").read_text())["tasks"]
    assert (task["task"], task["total"]) == ("demo", 2)
    shown = assay(packages, "show", "quiz:demo.quiz", "--sample", "1", "--quiz-shout")
    assert shown.returncode == 0, shown.stderr
    assert "2 + 3" in shown.stdout
    helped = assay(packages, "run", "demo.quiz", "--help")
    assert "--quiz-first FIRST" in helped.stdout
    assert "only so many questions" in helped.stdout
    checked = assay(packages, "validate", "demo.quiz")
    assert checked.returncode == 0, checked.stderr
    assert "demo.quiz: quiz file, 3 good, 0 bad" in checked.stderr


def test_what_is_wrong_with_a_flag_or_a_file_is_said_by_name(packages: Path) -> None:
    done = assay(packages, "run", "demo.quiz", "--quiz-first", "two")
    assert done.returncode == 2
    assert "--quiz-first two: expected `int | null`" in done.stderr
    done = assay(packages, "run", "demo.quiz", "--quiz-case", "folds")
    assert "--quiz-case folds: must be keep or fold" in done.stderr
    (packages.parent / "bad.quiz").write_text("2 + 3\n")
    for verb in ("run", "validate", "check"):
        done = assay(packages, verb, "bad.quiz")
        assert done.returncode == 2
        assert "bad.quiz:1: expected `question = answer`" in done.stdout + done.stderr
    assert "Did you mean `quiz:`?" in assay(packages, "run", "quizz:demo.quiz").stderr


def test_a_source_that_breaks_is_named_with_its_package(packages: Path) -> None:
    (packages.parent / "odd.quiz").write_text("")
    done = assay(packages, "run", "odd.quiz")
    assert done.returncode == 2
    assert "the task source `.quiz` of the package quiz-format broke: KeyError: 'lines'" in done.stderr
    module = packages / "quiz_format.py"
    module.write_text(module.read_text().replace("int | None, Meta(", "int | None, Meta(ge=1, "))
    broken = assay(packages, "run", "demo.quiz")
    assert broken.returncode == 2
    assert "the task source `.quiz` of the package quiz-format broke: TypeError: Can only set `ge`" in broken.stderr


def test_two_packages_with_one_claim_are_named(packages: Path) -> None:
    install(packages.parent, packages, "other-quiz")
    done = assay(packages, "run", "demo.quiz")
    assert done.returncode == 2
    assert "two packages claim `.quiz`: other-quiz and quiz-format" in done.stderr


def test_a_misspelt_prefix_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean `lm-eval:`"):
        load_tasks(["lm-evl:piqa"])


def test_options_of_a_source_that_no_task_is_from_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--include-path: only for lm-eval tasks: `lm-eval:NAME`"):
        load_tasks(["starter"], source_options={"lm-eval": {"include_path": "x"}})


@pytest.mark.parametrize("task", ["starter", "matrix.yaml"])
def test_a_run_that_names_no_foreign_source_imports_no_bridge(tmp_path: Path, task: str) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "pyproject.toml").write_text("")
    code = (
        f"import sys; from assay.cli.main import main; assert main(['run', '{task}', '--limit', '1']) == 0; "
        "print([name for name in sys.modules if name.startswith('assay.bridges')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
