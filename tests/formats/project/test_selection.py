"""Names add and `-t` narrows; unknown words and empty selections are refused with the nearest right word."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.shop import PROJECT, make_shop

from assay.core.errors import UsageError
from assay.formats.project.discovery import current_project
from assay.formats.project.name_patterns import matches
from assay.formats.project.selection import ProjectTasks, named_tasks, narrowed, project_tasks


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectTasks:
    monkeypatch.chdir(make_shop(tmp_path))
    return tasks_here()


def tasks_here() -> ProjectTasks:
    project = current_project()
    assert project is not None
    return project_tasks(project)


@pytest.mark.parametrize(
    ("pattern", "name", "matching"),
    [
        ("geo", "geo/capitals", True),
        ("geo/", "geo/capitals", True),
        ("geo", "geography/capitals", False),
        ("*", "support/legal/gdpr", True),
        ("support/*", "support/legal/gdpr", True),
        ("support/**", "support/intent", True),
        ("*/gdpr", "support/legal/gdpr", False),
        ("**/gdpr", "support/legal/gdpr", True),
        ("math/t0[0-3]", "math/t02", True),
        ("math/t0[!0-3]", "math/t02", False),
        ("math/t?", "math/t2/x", True),
        ("a.b", "axb", False),
    ],
)
def test_a_pattern_that_matches_a_folder_matches_what_is_below(pattern: str, name: str, matching: bool) -> None:
    assert matches(pattern, name) is matching


def test_tasks_are_called_by_their_folder_and_key(tasks: ProjectTasks) -> None:
    assert [*tasks.by_name] == [
        "geo/capitals",
        "geo/lakes",
        "math/more",
        "math/sums",
        "support/intent",
        "support/legal/gdpr",
    ]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("geo", ["geo/capitals", "geo/lakes"]),
        ("geo/cap*", ["geo/capitals"]),
        ("math/sums", ["math/sums"]),
        ("@smoke", ["geo/capitals", "support/intent"]),
        ("@nightly", ["geo/capitals", "geo/lakes", "support/intent"]),
    ],
)
def test_a_name_is_a_task_a_folder_a_pattern_or_a_suite(tasks: ProjectTasks, name: str, names: list[str]) -> None:
    assert [file.name for file in named_tasks(tasks, name)] == names


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        (["smoke"], ["geo/capitals", "geo/lakes", "support/intent"]),
        (["smoke,slow"], ["geo/capitals", "geo/lakes", "support/intent", "support/legal/gdpr"]),
        (["smoke", "!slow"], ["geo/capitals", "support/intent"]),
        (["pii"], ["support/intent"]),
        (["owner:support", "!pii"], ["support/legal/gdpr"]),
        (["kind:jsonl"], ["math/more", "math/sums"]),
        (["scorer:string_equals", "geo"], ["geo/capitals", "geo/lakes"]),
        (["scorer:right", "dataset:rows", "slow"], ["geo/lakes", "support/legal/gdpr"]),
    ],
)
def test_terms_narrow(tasks: ProjectTasks, terms: list[str], names: list[str]) -> None:
    assert [file.name for file in narrowed(tasks, list(tasks.by_name.values()), terms)] == names


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["smoek"], "unknown tag `smoek` (4 tags). Did you mean `smoke`?"),
        (["smoke,smoek"], "unknown tag `smoek` (4 tags). Did you mean `smoke`?"),
        (["!smoek"], "unknown tag `smoek`"),
        (["slow", "!slow"], "no task is left: 2 have `slow`, then `!slow` removes 2"),
        (["team:search"], "unknown filter `team:`; known: owner, scorer, dataset, judge, kind, size, status"),
        (["owner:suport"], "no task has the owner `suport`. Did you mean `support`?"),
        (["size:few"], "size:few: expected a number of samples"),
        (["status:fialed"], "unknown status `fialed`. Did you mean `failed`?"),
        ([","], "expected a tag"),
    ],
)
def test_a_word_that_nothing_has_is_refused(tasks: ProjectTasks, terms: list[str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        narrowed(tasks, list(tasks.by_name.values()), terms)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gep/*", "no task `gep/*`. Did you mean `geo/*` (2)?"),
        ("geo/capitels", "no task `geo/capitels`. Did you mean `geo/capitals`?"),
        ("@nigthly", "unknown suite `@nigthly`. Did you mean `@nightly`?"),
        ("drafts", "no task `drafts` in assay.yaml: `assay list` shows its tasks"),
    ],
)
def test_a_name_of_nothing_is_refused_with_the_nearest(tasks: ProjectTasks, name: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        named_tasks(tasks, name)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"support/**"', '"suport/**"', "`suport/**` matches no task. Did you mean `support/**`?"),
        ('["!pii"]', '["!pij"]', "`support/legal/gdpr` has no tag `pij` to take away"),
        ("[smoke, ", "[smoek, ", "unknown tag `smoek`"),
        ("{tone: formal}", "{tnoe: formal}", "no task here has the parameter `tnoe`. Did you mean `tone`?"),
        ("select: [geo,", "select: [gep,", "no task `gep`. Did you mean `geo` (2)?"),
        ('where: [smoke, "!slow"]', "weights: {safety: 3}", "`safety` has a weight, and @smoke selects none of it"),
        ("tasks/drafts/**", 'tasks/drafts/**"]\ntasks: ["taks', "there is no file or folder taks"),
    ],
)
def test_what_a_project_names_in_vain_has_its_place(tasks: ProjectTasks, old: str, new: str, message: str) -> None:
    assert old in PROJECT
    Path("assay.yaml").write_text(PROJECT.replace(old, new))
    with pytest.raises(UsageError) as refused:
        named_tasks(tasks_here(), "@nightly") and tasks_here().of("support/legal/gdpr")
    assert message in str(refused.value)
    assert str(refused.value).startswith("assay.yaml:")


def test_two_tasks_of_one_name_are_refused(tasks: ProjectTasks) -> None:
    path = Path("tasks/geo/caps.yaml")
    path.write_text(Path("tasks/geo/lakes.yaml").read_text().replace("key: lakes", "key: capitals"))
    with pytest.raises(UsageError, match=r"`geo/capitals` is .*capitals.yaml and .*caps.yaml \(key: capitals\)"):
        tasks_here()


def test_inner_projects_and_abstract_parents_are_left_out(tasks: ProjectTasks) -> None:
    inner = Path("tasks/shared")
    inner.mkdir()
    (inner / "assay.yaml").write_text("version: 1\n")
    (inner / "other.yaml").write_text(Path("tasks/geo/lakes.yaml").read_text())
    parent = Path("tasks/geo/_base.yaml")
    parent.write_text("abstract: true\n" + Path("tasks/geo/lakes.yaml").read_text())
    found = tasks_here()
    assert [*found.by_name] == [*tasks.by_name]
    assert found.files.notes == ("tasks/shared: is a project of its own (assay.yaml); left out",)


def test_rows_beside_tasks_are_data_and_broken_files_stay_tasks(tasks: ProjectTasks) -> None:
    Path("tasks/geo/rows.jsonl").write_text('{"prompt": "a column", "b": 3}\n')
    Path("tasks/geo/both.jsonl").write_text('{"id": "1", "prompt": "x", "targets": ["4"], "metric": "exact_match"}\n')
    Path("tasks/geo/broken.yaml").write_text("key: [\n")
    Path("tasks/geo/set.yaml").write_text("key: set\ndisplay_name: Set\nsource: {type: inline, samples: [{a: 1}]}\n")
    assert set(tasks_here().by_name) - set(tasks.by_name) == {"geo/both", "geo/broken"}
