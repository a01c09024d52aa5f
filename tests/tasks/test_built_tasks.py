"""Parts built by name: options are checked against their own signature."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tasks.own_parts import DATASET, TASK, Project, run

from assay.core.errors import UsageError
from assay.tasks.load import load_tasks


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (
            TASK.replace("least: 2", "leest: 2"),
            "unknown option of the scorer `MODULE:Shouts` `leest`. Did you mean `least`?",
        ),
        (
            TASK.replace('Shouts"\n      least: 2', 'Loud"\n      leest: 2'),
            "unknown option of the scorer `MODULE:Loud` `leest`. Did you mean `least`?",
        ),
        (TASK.replace(', suffix: "!"', ""), "the solver `MODULE:Twice` needs the option `suffix`"),
        (
            TASK.replace("times: 0.5", "time: 0.5"),
            "unknown option of the aggregate `MODULE:share_of_best` `time`. Did you",
        ),
        (TASK.replace("Shouts", "Shuts"), "unknown name in the module `MODULE`: `Shuts`. Did you mean `Shouts`?"),
        (TASK.replace("Shouts", "no_scorer"), "the scorer `MODULE:no_scorer` takes no options, and `least` was given"),
        (
            TASK.replace('Shouts"\n      least: 2', 'no_scorer"'),
            "makes a object, which has no `name` and no `__call__`",
        ),
        (TASK.replace('Shouts"\n      least: 2', 'Blocking"'), "makes a Blocking whose `__call__` is not `async`"),
    ],
)
def test_an_option_is_checked_against_the_parts_own_signature(
    project: Project, task: str, says: str, tmp_path: Path
) -> None:
    folder = project(task=task)
    module = next(folder.glob("own_parts_*.py")).stem
    with pytest.raises(UsageError) as told:
        run(folder / "task.yaml", tmp_path / "run")
    assert says.replace("MODULE", module) in str(told.value)
    assert str(folder / "task.yaml") in str(told.value)


@pytest.mark.parametrize("solver", ["Twice", "asking_twice"])
def test_a_solver_is_an_object_or_an_async_function(project: Project, solver: str, tmp_path: Path) -> None:
    folder = project(task=TASK.replace("Twice", solver))
    assert run(folder / "task.yaml", tmp_path / "run")["best"] == 0.5


@pytest.mark.parametrize(
    ("task", "line", "says"),
    [
        (
            TASK.replace("least: 2", "least: two"),
            9,
            "definition.scorers[0].least: the option `least` of the scorer `MODULE:Shouts` must be int, "
            "got the text `two`",
        ),
        (
            TASK.replace('Shouts"\n      least: 2', 'Loud"\n      least: two'),
            9,
            "definition.scorers[0].least: the option `least` of the scorer `MODULE:Loud` must be int, "
            "got the text `two`",
        ),
        (
            TASK.replace('suffix: "!"', "suffix: 3"),
            6,
            "definition.solver.suffix: the option `suffix` of the solver `MODULE:Twice` must be str, got 3",
        ),
        (
            TASK.replace("times: 0.5", "times: [0.5]"),
            12,
            "definition.scorers[0].metrics[1].times: the option `times` of the aggregate "
            "`MODULE:share_of_best` must be float, got a list",
        ),
    ],
)
def test_an_option_is_checked_against_the_annotation_of_its_parameter(
    project: Project, task: str, line: int, says: str, tmp_path: Path
) -> None:
    folder = project(task=task)
    module = next(folder.glob("own_parts_*.py")).stem
    with pytest.raises(UsageError) as told:
        run(folder / "task.yaml", tmp_path / "run")
    place, _, message = str(told.value).partition(": ")
    assert place.startswith(f"{folder / 'task.yaml'}:{line}:")
    assert message == says.replace("MODULE", module)


def test_an_option_of_a_dataset_is_placed_in_the_file_of_the_dataset(project: Project) -> None:
    folder = project(dataset=DATASET.replace("[a, b, c]", "[a, 2, c]"))
    with pytest.raises(UsageError) as told:
        load_tasks([str(folder / "task.yaml")])
    assert str(told.value).startswith(f"{folder / 'letters.yaml'}:3:")
    assert ": source.letters: the option `letters` of the dataset reader" in str(told.value)
    assert "must be list[str], got a list (Expected `str`, got `int` - at `$[1]`)" in str(told.value)


def test_a_dataset_of_ones_own_is_named_with_its_wrong_option(project: Project) -> None:
    folder = project(dataset=DATASET.replace("letters: [", "leters: ["))
    with pytest.raises(UsageError, match=r"unknown option of the dataset reader .*`leters`. Did you mean `letters`\?"):
        load_tasks([str(folder / "task.yaml")])
