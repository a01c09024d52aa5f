"""The project file in force is the one that the user named, else that of the project around the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.formats.project import discovery


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "evals"
    (folder / "tasks" / "geo").mkdir(parents=True)
    (folder / "assay.yaml").write_text("version: 1\nname: ours\n")
    return folder


def test_it_is_found_from_folders_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, path in ((project, "assay.yaml"), (project / "tasks" / "geo", "../../assay.yaml")):
        monkeypatch.chdir(folder)
        assert discovery.project_file() == Path(path)
        found = discovery.current_project()
        assert found is not None
        assert found.name == "ours"


def test_the_search_stops_at_the_top_of_a_repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = project / "vendored"
    (inner / ".git").mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert discovery.current_project() is None


def test_without_one_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert discovery.current_project() is None


def test_the_user_may_name_another(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_PROJECT", "evals")
    assert discovery.project_file() == Path("evals/assay.yaml")
    other = tmp_path / "other.yaml"
    other.write_text("version: 1\nname: other\n")
    with discovery.using(other):
        found = discovery.current_project()
        assert found is not None
        assert found.name == "other"
    monkeypatch.setenv("ASSAY_PROJECT", "nowhere")
    with pytest.raises(UsageError, match="ASSAY_PROJECT nowhere: there is no project file"):
        discovery.project_file()


def test_a_changed_file_is_read_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert discovery.current_project() is discovery.current_project()
    Path("assay.yaml").write_text("version: 1\nname: renamed\n")
    found = discovery.current_project()
    assert found is not None
    assert found.name == "renamed"
