"""Options of one's own parts are checked with everything else in the file, without importing the parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.tasks.own_parts import DATASET, TASK, Project

from assay.core.errors import UsageError
from assay.formats.declarative.load import check_yaml_file
from assay.formats.declarative.own_options import own_option_faults

WRONG = (
    TASK.replace('suffix: "!"', "sufix: 3")
    .replace("least: 2", "least: two\n      loud: true")
    .replace("field: score, times: 0.5", "times: x")
)


def faults(path: Path) -> list[str]:
    """What `assay validate` reports: lines, without columns, which the module's name shifts."""
    with pytest.raises(UsageError) as refused:
        check_yaml_file(path)
    module = next(path.parent.glob("own_parts_*.py")).stem
    lines = [line.removeprefix(f"{path}:").replace(module, "M") for line in str(refused.value).splitlines()]
    return [re.sub(r"^(.*?\d+):\d+(?=: )", r"\1", line, count=1) for line in lines]


def test_all_of_them_are_reported_at_once_and_nothing_is_imported(
    project: Project, imported: Callable[[], bool]
) -> None:
    folder = project(task=WRONG, dataset=DATASET.replace("letters: [a, b, c]", "letters: 3, more: 1"))
    of_dataset = [
        "3: source.letters: the option `letters` of the dataset reader `M:Letters` must be list[str], got 3",
        "3: source.more: unknown option of the dataset reader `M:Letters` `more`. Known: letters",
    ]
    assert faults(folder / "task.yaml") == [
        "6: definition.solver: the solver `M:Twice` needs the option `suffix`",
        "6: definition.solver.sufix: unknown option of the solver `M:Twice` `sufix`. Did you mean `suffix`?",
        "9: definition.scorers[0].least: the option `least` of the scorer `M:Shouts` must be int, got the text `two`",
        "10: definition.scorers[0].loud: unknown option of the scorer `M:Shouts` `loud`. Known: least",
        "13: definition.scorers[0].metrics[1]: the aggregate `M:share_of_best` needs the option `field`",
        "13: definition.scorers[0].metrics[1].times: the option `times` of the aggregate `M:share_of_best` must be "
        "float, got the text `x`",
        *(f"{folder / 'letters.yaml'}:{fault}" for fault in of_dataset),
    ]
    assert faults(folder / "letters.yaml") == of_dataset
    assert not imported()


def test_a_value_that_is_still_to_be_configured_is_of_no_type_yet(project: Project) -> None:
    spec = "config_spec: [{type: int, key: n, display_name: N}]\ndefinition:"
    folder = project(task=TASK.replace("least: 2", "least: << config.n >>").replace("definition:", spec))
    assert check_yaml_file(folder / "task.yaml")[:2] == ("task file", 1)


def test_source_of_this_project_says_nothing_about_files_outside_of_it(project: Project) -> None:
    folder = project(task=WRONG, inside=False)
    assert check_yaml_file(folder / "task.yaml")[:2] == ("task file", 1)


def test_a_part_is_given_the_model_behind_a_key_and_no_postprocessor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_judges.py").write_text("def judge(key, *, model_key, model): ...\ndef solve(*, n=1): ...\n")
    assert own_option_faults("scorer", "own_judges:judge", {"model_key": "j"}) == []
    assert [fault.option for fault in own_option_faults("scorer", "own_judges:judge", {"model_key": None})] == [
        *("model_key", "model")
    ]
    assert own_option_faults("solver", "own_judges:solve", {"postprocessor": {}, "n": None}) == []
    assert own_option_faults("solver", "own_judges:nobody", {"n": 1}) == []  # whoever imports it says so
