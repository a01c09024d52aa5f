"""What every log is given, and how a package that is not there is answered."""

from __future__ import annotations

import posixpath
from pathlib import Path

import pytest
from tests.runs.log_to.conftest import answer

import assay
from assay.core.errors import UsageError
from assay.runs import log_to
from assay.runs.log_to.facts import metrics_of, package, portable


def test_a_number_that_there_is_not_is_not_logged(task: str) -> None:
    board = assay.evaluate(task, lambda prompt: answer("raise"), retries=0).leaderboard
    found = metrics_of(board)
    assert (found["failed"], found["sums: easy/scored"]) == (3, 0)
    assert not {"overall_score", "sums: easy/score", "sums: easy/low"} & {*found}


def test_a_package_that_is_not_there_is_answered_with_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"^--log-to wandb needs no_such_package: pip install 'assay-eval\[wandb\]'$"):
        package("no_such_package", "wandb")


def test_a_name_is_made_of_what_every_log_takes() -> None:
    assert portable("sums: easy/数学") == "sums_3a_ easy/数学"


def test_different_names_stay_different() -> None:
    names = ["a:b", "a;b", "a_b", "a/b", "a//b", "../b", "..b", "/b", "b/", "x" * 300, "x" * 301, ".", "数学", "文学"]
    found = [portable(name) for name in names]
    assert len({*found}) == len(names)
    for name in found:
        assert len(name) <= 250
        assert posixpath.normpath(name) == name
        assert not name.startswith((".", "/"))


@pytest.mark.parametrize("name", ["mlflow", "wandb", "otel"])
def test_a_listener_is_small_enough_to_be_read_in_one_go(name: str) -> None:
    assert len((Path(log_to.__path__[0]) / f"{name}.py").read_text().splitlines()) <= 60
