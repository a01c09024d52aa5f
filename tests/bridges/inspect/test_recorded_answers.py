"""What becomes of Inspect's answers about a task, without Inspect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.bridges.recorded_library import RecordedLibrary

from assay.bridges.inspect import inspect_source
from assay.bridges.inspect.inspect_source import InspectSource, read_inspect
from assay.core.errors import UsageError
from assay.formats.task_source import NoOptions

MATCH = {"name": "match", "graded": False}
GRADED = {"name": "model_graded_qa", "graded": True}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "project"
    (here / ".git").mkdir(parents=True)
    monkeypatch.chdir(here)
    (here / "own.py").write_text("")
    (tmp_path / "theirs.py").write_text("")
    (tmp_path / "more.py").write_text("")
    return here


def library(monkeypatch: pytest.MonkeyPatch, main: str, *scorers: dict[str, Any], epochs: int = 1) -> RecordedLibrary:
    built = {"name": "sums", "epochs": epochs, "task_version": "2", "scorers": list(scorers)}
    built |= {"path": "/cache/sums.jsonl", "size": 4, "sha256": "ab"}
    more = str(Path("../more.py").resolve())
    seen = {"main": main, "code": f"{main}: its task", "files": [main, more], "version": "0.3"}
    recorded = RecordedLibrary({"describe": seen, "build": built})
    monkeypatch.setattr(inspect_source, "LIBRARY", recorded)
    return recorded


def test_a_task_has_a_scorer_and_a_mean_for_each_of_inspects(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = library(monkeypatch, str(project / "own.py"), MATCH, {"name": "includes", "graded": False})
    definition = read_inspect("inspect:own.py@sums", arguments={"count": 4}, data={"": "rows"})
    asked = {"name": "sums", "file": "own.py", "arguments": {"count": "4"}, "data": {"": "rows"}}
    assert recorded.orders == [("describe", asked), ("build", asked)]
    assert [(part.key, part.options["scorer"]) for part in definition.scorers] == [("match", 0), ("includes", 1)]
    assert [(part.key, part.use, part.options) for part in definition.aggregates] == [
        (name, "mean", {"scorer": name, "field": "score", "name": name}) for name in ("match", "includes")
    ]
    assert (definition.metric, definition.dataset.size, definition.plan.trials) == ("match", 4, None)
    assert definition.provenance.files == (str(project.parent / "more.py"),)
    assert definition.provenance.versions == {"inspect_ai": "0.3", "task": "2"}


@pytest.mark.parametrize(("epochs", "trials"), [(1, None), (2, 2)])
def test_epochs_are_attempts(project: Path, monkeypatch: pytest.MonkeyPatch, epochs: int, trials: int | None) -> None:
    library(monkeypatch, str(project / "own.py"), MATCH, epochs=epochs)
    assert read_inspect("inspect:own.py@sums").plan.trials == trials


def test_a_grader_is_the_model_that_is_named_and_never_the_evaluated_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library(monkeypatch, str(project / "own.py"), MATCH, GRADED)
    without = read_inspect("inspect:own.py@sums")
    assert "name it with --model-for grader=MODEL" in str(without.plan.refused)
    assert "model" not in without.scorers[1].options
    named = read_inspect("inspect:own.py@sums", models={"grader": "toy"})
    assert (named.plan.refused, named.plan.typed_models) == (without.plan.__class__().refused, ("grader",))
    assert named.scorers[1].options["model"] == {"model": "toy"}
    assert "model_key" not in named.scorers[0].options


@pytest.mark.parametrize(
    ("source", "file", "named"),
    [
        ("inspect:own.py@sums", "own.py", False),
        ("inspect:../theirs.py@sums", "../theirs.py", True),
        ("inspect:evals/sums", "own.py", True),
    ],
)
def test_code_of_others_is_named_before_it_is_built(
    project: Path, monkeypatch: pytest.MonkeyPatch, source: str, file: str, named: bool
) -> None:
    main = str((project / file).resolve())
    recorded = library(monkeypatch, main, MATCH)
    shown = read_inspect(source, only_looks=True)
    assert shown.scorers[0].options["code"] == ([f"{main}: its task"] if named else [])
    assert shown.name == "sums"
    if named:
        with pytest.raises(UsageError, match="its task"):
            read_inspect(source)
    assert [order for order, _ in recorded.orders] == ["describe"] * (2 if named else 1)


def test_a_task_without_a_name_is_refused(project: Path) -> None:
    with pytest.raises(UsageError, match="name an Inspect task"):
        read_inspect("inspect:own.py@")


def test_names_are_listed_and_none_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = RecordedLibrary({"names": {"names": {"evals/sums": "Sums."}}})
    monkeypatch.setattr(inspect_source, "LIBRARY", recorded)
    assert InspectSource().names("su", NoOptions()) == {"evals/sums": "Sums."}
    recorded.answers = {"names": {"names": {}}}
    with pytest.raises(UsageError, match="no installed package has an Inspect task whose name holds `x`; "):
        InspectSource().names("x", NoOptions())
    with pytest.raises(UsageError, match="no installed package has an Inspect task; "):
        InspectSource().names("", NoOptions())
