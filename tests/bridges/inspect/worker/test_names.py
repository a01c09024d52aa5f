"""Tasks are found in the source of packages and files, and nothing of that runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.bridges.inspect.own_tasks import write_own_tasks

from assay.bridges.inspect.worker import names
from assay.bridges.inspect.worker.names import describe, list_names, tasks_of_file
from assay.bridges.process.problem import BridgeError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package whose import would be noticed."""
    folder = tmp_path / "made_up_evals"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (folder / "inner" / "one.py").write_text(
        "import inspect_ai\n@inspect_ai.task\ndef one(*, a=1, **more):\n    '''The first.'''\n"
    )
    (folder / "inner" / "broken.py").write_text("@task\ndef (:\n")
    described = tmp_path / "made_up_evals-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up-evals\nVersion: 1\n")
    (described / "entry_points.txt").write_text("[inspect_ai]\nmade_up_evals = made_up_evals._registry\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(names, "_refuse_without_inspect", lambda: None)
    monkeypatch.setattr(names, "version", lambda _: "0")
    return folder


def test_functions_are_found_with_their_names_and_parameters(tmp_path: Path) -> None:
    found = {each.name: each for each in tasks_of_file(write_own_tasks(tmp_path))}
    assert found["sums"].summary == "Sums after a system message."
    assert found["sums"].parameters == ("count",)
    assert "renamed" in found
    assert "called_otherwise" not in found


def test_a_package_is_listed_and_described_without_being_imported(package: Path) -> None:
    listed = list_names({"search": "MADE_UP"})["names"]
    assert listed == {"made_up_evals/one": "The first."}
    seen = describe({"name": "made_up_evals/one", "arguments": {"anything": "1"}})
    assert seen["code"] == "made_up_evals/inner/one.py:one"
    assert [Path(each).name for each in seen["files"]] == ["broken.py", "one.py"]


def test_an_unknown_name_says_what_there_is(package: Path) -> None:
    with pytest.raises(BridgeError, match="Did you mean `inspect:made_up_evals/one`"):
        describe({"name": "made_up_evals/ones"})
    with pytest.raises(BridgeError, match=r"PACKAGE/TASK or FILE.py@TASK. .*made_up_evals"):
        describe({"name": "one"})


def test_a_parameter_that_the_function_does_not_have_is_refused(tmp_path: Path, package: Path) -> None:
    file = str(write_own_tasks(tmp_path))
    with pytest.raises(BridgeError, match="--config cuont: the task `sums` has no such parameter; it has: count"):
        describe({"name": "sums", "file": file, "arguments": {"cuont": "2"}})
