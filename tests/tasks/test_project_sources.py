"""In a project tasks are read by name, with what the project says of them; without one nothing changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.shop import make_shop

from assay.core.errors import UsageError
from assay.core.task import task_fingerprint
from assay.tasks.load import load_tasks


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(make_shop(tmp_path))
    return tmp_path


def test_a_task_has_its_name_tags_owner_and_values_from_the_project(shop: Path) -> None:
    tasks = {each.name: each for each in load_tasks(["support"])}
    assert [*tasks] == ["support/intent", "support/legal/gdpr"]
    intent, gdpr = tasks.values()
    assert (intent.shown.tags, intent.shown.owner) == (("smoke", "pii"), "support")
    assert gdpr.shown.tags == ("slow",)
    assert intent.provenance.config == {"tone": "formal"}
    assert load_tasks(["support/intent"], config={"tone": "warm"})[0].provenance.config == {"tone": "warm"}


def test_a_path_and_a_name_are_the_same_task(shop: Path) -> None:
    by_path, by_name = load_tasks(["tasks/geo/lakes.yaml"]), load_tasks(["geo/lakes"])
    assert [task_fingerprint(each) for each in by_path] == [task_fingerprint(each) for each in by_name]


def test_a_task_that_several_names_stand_for_is_read_once(shop: Path) -> None:
    tasks = load_tasks(["geo/capitals", "geo", "@smoke", "tasks/geo/lakes.yaml"])
    assert [each.name for each in tasks] == ["geo/capitals", "geo/lakes", "support/intent"]


def test_an_excluded_task_runs_where_its_path_is_named(shop: Path) -> None:
    assert [each.name for each in load_tasks(["tasks/drafts/draft.yaml"])] == ["drafts/draft"]
    assert [each.name for each in load_tasks(["tasks/drafts"])] == ["drafts/draft"]


def test_a_folder_stands_for_what_lies_below(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop / "tasks" / "support")
    assert [each.name for each in load_tasks(["."])] == ["support/intent", "support/legal/gdpr"]
    assert [each.name for each in load_tasks(["geo/capitals"])] == ["geo/capitals"]


def test_a_task_that_was_named_is_not_left_out_in_silence(shop: Path) -> None:
    assert [each.name for each in load_tasks(["geo"], tagged=["!slow"])] == ["geo/capitals"]
    with pytest.raises(UsageError, match="geo/lakes is named, and -t !slow leaves it out"):
        load_tasks(["geo/lakes", "geo"], tagged=["!slow"])


def test_sizes_and_last_results_are_looked_up(shop: Path) -> None:
    assert [each.name for each in load_tasks(["."], tagged=["size:<3"])] == ["math/more", "math/sums"]
    assert len(load_tasks(["."], tagged=["status:never"])) == 6


def test_without_a_project_file_nothing_changes(shop: Path) -> None:
    (shop / "assay.yaml").unlink()
    (shop / ".git").mkdir()
    [task] = load_tasks(["tasks/geo/lakes.yaml"])
    assert (task.name, task.shown.owner, task.provenance.config) == ("lakes", None, {"tone": "plain"})
    assert [each.name for each in load_tasks(["tasks/geo"])] == ["capitals", "lakes"]
    with pytest.raises(UsageError, match="no task files"):
        load_tasks(["tasks"])
    with pytest.raises(UsageError, match=r"@smoke names a suite of a project, and there is no assay.yaml here"):
        load_tasks(["@smoke"])
    with pytest.raises(UsageError, match=r"-t smoke: is for the tasks of a project, and there is no assay.yaml here"):
        load_tasks(["tasks/geo"], tagged=["smoke"])


def test_a_broken_file_of_a_suite_names_itself_and_can_be_left_out(shop: Path) -> None:
    (shop / "tasks" / "geo" / "lakes.yaml").write_text("key: [\n")
    with pytest.raises(UsageError, match=r"lakes\.yaml:2:1: not valid YAML"):
        load_tasks(["@smoke"])
    tasks = load_tasks(["@smoke"], leave_out_broken=True)
    assert [each.name for each in tasks] == ["geo/capitals", "support/intent"]
    assert any("lakes.yaml" in warning for warning in tasks[0].provenance.warnings)
