"""Files of the folders around: found by key, each read once, and never outside the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calls import calls_of
from tests.formats.declarative.nearby_projects import library, project_in
from tests.formats.declarative.reading import read_yaml_tasks
from tests.formats.declarative.yaml_tasks import ROWS, RUN, TASK, Read

from assay.core.errors import UsageError
from assay.formats.declarative.yaml_reader import read_yaml

ABOUT_ROWS = """\
key: {key}
display_name: T
description: ""
definition:
  evaluated_entity_type: dataset
  dataset: {{key: rows}}
  scorers: [{{type: bleu, ground_truth: x, value: y}}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return project_in(tmp_path, monkeypatch)


def test_a_key_may_be_a_variable(project: Path) -> None:
    file = project / "datasets" / "any.yaml"
    file.write_text(file.read_text().replace("key: rows", "key: $NAMED"))
    assert library(project, NAMED="rows").dataset("rows").size == 1
    with pytest.raises(UsageError, match="there is no dataset `rows`"):
        library(project, NAMED="others").dataset("rows")


def test_a_file_that_cannot_be_read_is_passed_over(project: Path) -> None:
    (project / "datasets" / "a.yaml").write_text("key: [")
    assert library(project).dataset("rows").size == 1


def test_the_tasks_of_a_folder_do_not_read_one_another_again_and_again(project: Path) -> None:
    tasks = [project / f"task{number:02}.yaml" for number in range(20)]
    for path in tasks:
        path.write_text(ABOUT_ROWS.format(key=path.stem))

    def read() -> None:
        for path in tasks:
            assert read_yaml_tasks(path)[0].dataset.size == 1

    # each task itself, the dataset for each of them, and all of it once to see which file is which
    assert calls_of(read_yaml, read) <= 3 * len(tasks) + 2


def test_a_data_file_outside_the_project_is_refused_unless_allowed(read: Read, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.jsonl"
    outside.write_text(ROWS)
    source = f"datasets:\n  - {{key: data, display_name: D, source: {{type: local, file_path: {outside}}}}}\n"
    text = source + RUN[RUN.index("models:") :].replace("  - {key: other, ", "  - {key: x, ")
    with pytest.raises(UsageError, match="outside the project"):
        read(text)
    assert read(text, allow_outside=True)[0].dataset.size == 4


@pytest.mark.parametrize("linked", ["datasets/far.jsonl", "datasets"])
def test_a_data_file_found_by_its_key_may_be_no_link_out_of_the_project(
    read: Read, tmp_path: Path, linked: str
) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-{Path(linked).stem}"
    outside.mkdir()
    (outside / "far.jsonl").write_text(ROWS)
    (tmp_path / linked).parent.mkdir(exist_ok=True)
    (tmp_path / linked).symlink_to(outside / "far.jsonl" if linked.endswith("jsonl") else outside)
    text = TASK.replace("{key: data}", "{key: far}")
    with pytest.raises(UsageError, match=r"datasets/far.jsonl` leads outside the project"):
        read(text)
    assert read(text, allow_outside=True)[0].dataset.size == 6


@pytest.mark.parametrize("ending", [".yaml", ".jsonl"])
def test_a_dataset_beside_the_task_and_one_with_its_key_in_the_folder_of_datasets(project: Path, ending: str) -> None:
    text = (project / "datasets" / "any.yaml").read_text() if ending == ".yaml" else '{"q": 1}\n'
    for folder in (project, project / "datasets"):
        (folder / f"twice{ending}").write_text(text.replace("key: rows", "key: twice"))
    with pytest.raises(UsageError, match=f"`twice` is given twice: in .*twice{ending} and in .*datasets/twice{ending}"):
        library(project).dataset("twice")


def test_datasets_may_lie_in_folders_of_their_folder(project: Path) -> None:
    inner = project / "datasets" / "geo" / "europe"
    inner.mkdir(parents=True)
    (inner / "rivers.jsonl").write_text('{"q": 1}\n{"q": 2}\n')
    (inner / "lakes.yaml").write_text(
        (project / "datasets" / "any.yaml").read_text().replace("key: rows", "key: lakes")
    )
    assert [library(project).dataset(key).size for key in ("rivers", "lakes")] == [2, 1]
    (project / "datasets" / "rivers.jsonl").write_text('{"q": 1}\n')
    with pytest.raises(UsageError, match="`rivers` is given twice"):
        library(project).dataset("rivers")
