"""What a task names by key: found in the folders around, each of whose files is read once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calls import calls_of

from assay.core.errors import UsageError
from assay.tasks.declarative.library import Library, provider_key
from assay.tasks.declarative.load import read_yaml_tasks
from assay.tasks.declarative.yaml_reader import read_yaml

TASK = """\
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
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "any.yaml").write_text(
        "key: rows\ndisplay_name: R\nsource: {type: inline, samples: [{q: 1}]}\n"
    )
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "any.yaml").write_text(
        "key: judge\ndisplay_name: J\nrate_limit: 60\nconfig: {connection_type: assay, model: toy}\n"
    )
    return tmp_path


def library(home: Path, **environ: str) -> Library:
    return Library(home=home, root=home, environ=environ)


def test_datasets_and_models_are_found_by_the_key_inside_the_file(project: Path) -> None:
    around = library(project)
    assert around.dataset("rows").size == 1
    assert around.other_model("judge") == {"model": "toy", "options": {}}
    assert around.paces == {"judge": {"requests_per_minute": 60}}
    assert [path.name for path in around.files] == ["any.yaml", "any.yaml"]


def test_a_key_that_nobody_holds_is_told_with_where_it_was_looked_for(project: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no dataset `row`.*datasets"):
        library(project).dataset("row")
    with pytest.raises(UsageError, match=r"there is no model `jugde`.*--model-for"):
        library(project).model("jugde")


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
        path.write_text(TASK.format(key=path.stem))

    def read() -> None:
        for path in tasks:
            assert read_yaml_tasks(path)[0].dataset.size == 1

    # each task itself, the dataset for each of them, and all of it once to see which file is which
    assert calls_of(read_yaml, read) <= 3 * len(tasks) + 2


def test_a_provider_is_the_first_part_of_its_models_name() -> None:
    assert provider_key("openai/gpt-4.1-nano") == ("openai$gpt-4-1-nano", "openai", "gpt-4.1-nano")
    assert provider_key("together/a/b") == ("together$a-b", "together", "a/b")


def test_settings_of_a_connection_that_are_not_used_are_told(project: Path) -> None:
    (project / "models" / "any.yaml").write_text(
        "key: judge\ndisplay_name: J\nconfig: {url: 'http://127.0.0.1:9/v1', custom_headers: {X-Team: a}}\n"
    )
    around = library(project)
    around.model("judge")
    assert "config.custom_headers: is not used" in around.warnings[0]
