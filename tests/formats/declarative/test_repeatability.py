"""Repeatability: a task several times, in the specification itself or over those of another evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.yaml_tasks import RUN, Read, run

from assay.core.errors import UsageError

AGAIN = """\
evaluation:
  key: again
  display_name: A
  task_specifications:
    - {type: repeatability, key: steady, repeatability_config: {num_runs: 3}, num_samples: 2, inputs: [INPUT]}
"""


def again(given: str) -> str:
    return AGAIN.replace("INPUT", given)


def test_a_specification_is_run_so_many_times_with_its_consistency(read: Read, tmp_path: Path) -> None:
    text = RUN.replace("{task_key: t, model_key: m}", "{task_key: t, model_key: m, repeatability: {num_runs: 2}}")
    (definition,) = read(text)
    assert definition.plan.trials == 2
    board = run([definition], lambda prompt: "0", tmp_path / "run", repeat=2)
    assert board.tasks[0].total == 8
    repeated = {number.name: number.value for number in board.tasks[0].repetitions}
    assert repeated["consistency"] == 1.0


def test_specifications_of_a_file_beside_it_are_run_again(read: Read, tmp_path: Path) -> None:
    (tmp_path / "original.yaml").write_text(RUN)
    (definition,) = read(again("{evaluation_key: e}"))
    assert (definition.name, definition.plan.trials, definition.dataset.size) == ("steady", 3, 2)
    assert definition.plan.model.key == "m"
    assert sorted(path.rpartition("/")[2] for path in definition.provenance.files) == [
        "file.yaml",
        "original.yaml",
        "task.yaml",
    ]


def test_several_specifications_of_the_same_file_have_names_of_their_own(read: Read, tmp_path: Path) -> None:
    more = "    - {key: second, task_key: t, model_key: m}\n    - {task_key: rows, dataset_key: other}\n"
    repeated = (
        "    - {type: repeatability, repeatability_config: {num_runs: 2}, inputs: [{evaluation_key: e}]}\n"
        "    - {type: repeatability, key: one, repeatability_config: {num_runs: 4},"
        " inputs: [{evaluation_key: e, task_specification_key: second}]}\n"
    )
    definitions = read(RUN + more + repeated)
    assert [(each.name, each.plan.trials) for each in definitions] == [
        ("t", None),
        ("second", None),
        ("rows", None),
        ("repeatability-t", 2),
        ("repeatability-second", 2),
        ("repeatability-rows", 2),
        ("one", 4),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (again("{evaluation_key: ee}"), "5:.*there is no evaluation `ee` in this file or in a run file next to it"),
        (again("{evaluation_key: e, task_specification_key: tt}"), "5:.*has no task specification `tt`.*`?t`?"),
        (again("{evaluation_key: e}").replace("num_runs: 3", "num_runs: 1"), "at least 2"),
        (again("{evaluation_key: e}").replace("repeatability_config: {num_runs: 3}, ", ""), "repeatability_config"),
        (again("{evaluation_key: e}").replace("type: repeatability", "type: repeat"), "unknown task specification"),
        (
            RUN.replace(
                "{task_key: t, model_key: m}",
                "{task_key: t, model_key: m, repeatability: {num_runs: 2}, trials: {num_trials: 2}}",
            ),
            "keep one of the two",
        ),
    ],
)
def test_what_cannot_be_run_again_is_refused_at_its_place(read: Read, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "original.yaml").write_text(RUN)
    with pytest.raises(UsageError, match=says):
        read(text)
