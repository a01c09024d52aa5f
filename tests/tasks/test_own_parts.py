"""Scorers, solvers, aggregates and datasets of other people in task files: run when trusted, never imported before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.tasks.own_parts import DATASET, TASK, Project, run

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.results.board.leaderboard import build_leaderboard
from assay.tasks.built_tasks import build_task
from assay.trust.consent import reaches


def test_a_task_file_takes_parts_of_ones_own_for_everything(project: Project, tmp_path: Path) -> None:
    """The toy model writes `a!`, the solver shouts it, and two letters are enough."""
    folder = project()
    assert run(folder / "task.yaml", tmp_path / "run") == {"score_mean": 1.0, "best": 0.5}
    again = build_leaderboard(tmp_path / "run")
    assert {each.name: each.value for each in again.tasks[0].aggregates} == {"score_mean": 1.0, "best": 0.5}


def test_a_line_of_a_task_folder_takes_a_scorer_of_ones_own(project: Project, tmp_path: Path) -> None:
    assert run(project() / "lines.jsonl", tmp_path / "run") == {"score_mean": 1.0}


def test_a_line_of_a_task_folder_takes_a_function_that_makes_a_scorer(project: Project, tmp_path: Path) -> None:
    assert run(with_metric(project(), "shouting"), tmp_path / "run") == {"score_mean": 1.0}


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ("short", "the metric `MODULE:short` must take (prediction, targets, extras): too many positional arguments"),
        ("Unnamed", "the scorer `MODULE:Unnamed` has the `name` `mine`; it must be the `key`, here `MODULE:Unnamed`"),
    ],
)
def test_what_could_score_nothing_is_refused_before_a_model_is_called(
    project: Project, metric: str, says: str, tmp_path: Path
) -> None:
    path = with_metric(project(), metric)
    with pytest.raises(UsageError) as told:
        run(path, tmp_path / "run")
    assert says.replace("MODULE", next(path.parent.glob("own_parts_*.py")).stem) in str(told.value)


def with_metric(folder: Path, name: str) -> Path:
    path = folder / "lines.jsonl"
    path.write_text(path.read_text().replace("Shouts", name))
    return path


READING = (
    ["validate", "task.yaml"],
    ["validate", "lines.jsonl"],
    ["show", "task.yaml"],
    ["show", "lines.jsonl"],
    ["list", "task.yaml"],
    ["trust", "task.yaml", "--show"],
)
REFUSING = (
    ["run", "task.yaml"],
    ["run", "lines.jsonl"],
    ["run", "task.yaml", "--dry-run"],
    ["check", "task.yaml"],
)


@pytest.mark.parametrize("command", [*READING, *REFUSING], ids=" ".join)
def test_parts_of_a_strangers_file_are_never_imported(
    project: Project, imported: Callable[[], bool], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project(inside=False)
    verb, name, *flags = command
    status = main([verb, str(folder / name), *flags])
    told = capsys.readouterr().err
    assert not imported()
    if command in REFUSING:
        assert status == 2
        assert "--trust" in told
        for part in ("Shouts",) if name == "lines.jsonl" else ("Shouts", "Twice", "share_of_best", "Letters"):
            assert part in told
    else:
        assert status == 0


def test_a_run_folder_of_a_stranger_shows_its_numbers_without_importing_what_made_them(
    project: Project, imported: Callable[[], bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project()
    run(folder / "task.yaml", tmp_path / "elsewhere" / "run")
    module = next(folder.glob("own_parts_*.py")).stem
    (tmp_path / "imported").unlink()
    sys.modules.pop(module)
    monkeypatch.chdir(tmp_path / "elsewhere")
    for command in (
        ["report", "run"],
        ["leaderboard", "run"],
        ["show", "run"],
        ["verify", "run"],
        ["diff", "run", "run"],
    ):
        assert main(command) == 0
    assert not imported()
    (tmp_path / "elsewhere" / "run" / "python_metrics.json").unlink()
    best = build_leaderboard(tmp_path / "elsewhere" / "run").tasks[0].aggregates[1]
    assert best.value is None
    assert "has not been run over these scores" in (best.reason or "")


ENTRY_POINTS = """\
[assay.scorers]
loud = MODULE:Shouts
[assay.solvers]
twice = MODULE:Twice
[assay.aggregates]
best = MODULE:share_of_best
[assay.datasets]
letters = MODULE:Letters
"""


@pytest.fixture
def installed(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The same parts, published by an installed package."""

    def make(*, inside: bool = True) -> Path:
        task = TASK.replace("MODULE:Twice", "twice").replace("MODULE:Shouts", "loud")
        folder = project(
            task=task.replace("MODULE:share_of_best", "best"),
            dataset=DATASET.replace("MODULE:Letters", "letters"),
            inside=inside,
        )
        module = next(folder.glob("own_parts_*.py")).stem
        about = tmp_path / "site" / "own_parts-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-parts\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(ENTRY_POINTS.replace("MODULE", module))
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        (folder / "lines.jsonl").write_text('{"id": "1", "prompt": "write: HI", "targets": [], "metric": "loud"}\n')
        return folder

    return make


def test_a_task_file_takes_parts_that_a_package_publishes(installed: Project, tmp_path: Path) -> None:
    folder = installed()
    assert run(folder / "task.yaml", tmp_path / "run") == {"score_mean": 1.0, "best": 0.5}
    assert run(folder / "lines.jsonl", tmp_path / "other") == {"score_mean": 1.0}


@pytest.mark.parametrize(
    ("file", "name", "typed"),
    [
        ("task.yaml", '"twice"', '"twicee"'),
        ("task.yaml", '"loud"', '"lowd"'),
        ("task.yaml", '"best"', '"bestt"'),
        ("letters.yaml", '"letters", letters', '"lettters", letters'),
    ],
)
def test_a_mistyped_name_of_a_published_part_is_answered_with_the_nearest(
    installed: Project, tmp_path: Path, file: str, name: str, typed: str
) -> None:
    folder = installed()
    path = folder / file
    path.write_text(path.read_text().replace(name, typed))
    with pytest.raises(UsageError, match=f"Did you mean `{name.split(chr(34))[1]}`"):
        run(folder / "task.yaml", tmp_path / "run")


def test_a_strangers_file_gives_no_options_to_parts_of_an_installed_package(
    installed: Project, imported: Callable[[], bool], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = installed(inside=False)
    assert main(["show", str(folder / "task.yaml")]) == 0
    assert main(["run", str(folder / "task.yaml")]) == 2
    assert "--trust" in capsys.readouterr().err
    assert not imported()


@pytest.mark.parametrize(
    "changes",
    [
        {"scorers": (PartSpec(key="s", use="mine:Scorer"),)},
        {"solver": PartSpec(key="s", use="mine:Solver")},
        {"aggregates": (PartSpec(key="s", use="mine:aggregate"),)},
        {"dataset": DatasetSpec(use="mine:Dataset")},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_each_kind_of_part_is_code_that_a_definition_reaches_for(changes: dict[str, object]) -> None:
    plain = {
        "scorers": (),
        "aggregates": (),
        "solver": PartSpec(key="s", use="single_turn"),
        "dataset": DatasetSpec(use="inline", options={"samples": [{}]}, size=1),
    }
    definition = TaskDefinition(name="t", format="declarative", metric="m", **{**plain, **changes})  # type: ignore[arg-type]
    assert [each.kind for each in reaches(definition)] == ["code"]
    with pytest.raises(UsageError, match="--trust"):
        build_task(definition, out_of_a_run=True)
