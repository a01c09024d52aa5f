"""What a task names by key: datasets and models of the folders around."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.nearby_projects import library, project_in

from assay.core.errors import UsageError
from assay.formats.declarative.reading_options import ReadingOptions


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return project_in(tmp_path, monkeypatch)


def test_datasets_and_models_are_found_by_the_key_inside_the_file(project: Path) -> None:
    around = library(project)
    assert around.dataset("rows").size == 1
    assert around.other_model("judge") == {"model": "toy", "options": {}}
    assert around.paces == {"judge": {"requests_per_minute": 60, "label": "J"}}
    assert [path.name for path in around.nearby.used] == ["any.yaml", "any.yaml"]


def test_an_unknown_key_is_reported_with_where_it_was_looked_for(project: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no dataset `row`.*datasets"):
        library(project).dataset("row")
    with pytest.raises(UsageError, match=r"there is no model `jugde`.*--model-for"):
        library(project).model("jugde")


def test_a_misspelt_key_of_a_model_file_is_refused_with_the_nearest(project: Path) -> None:
    refusal = "unknown model `jugde`. Did you mean `judge`, the key of a model file"
    with pytest.raises(UsageError, match=refusal):
        library(project).file_of_model("jugde")
    with pytest.raises(UsageError, match=refusal):
        library(project, ReadingOptions(models={"other": "jugde"}))
    assert library(project).file_of_model("oepnai") is None, "what is nearer to another name is that one's"


def test_a_model_file_can_be_put_behind_a_key(project: Path) -> None:
    around = library(project, ReadingOptions(models={"grader": "judge", "judge": "judge", "other": "openai:m@h:1"}))
    assert around.other_model("grader") == around.other_model("judge") == {"model": "toy", "options": {}}
    assert around.other_model("other") == {"model": "openai:m@h:1", "options": {}}
    assert around.typed_models == ["other"]  # what a file describes is the file's, whoever chose it
