"""Objects passed as models that cannot be told apart: never is the score of one shown as that of another."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import assay
from assay.core.errors import UsageError


class Loads:
    """What it was made with, it does not keep."""

    def __init__(self, path: str) -> None:
        self._answer = {"a": "Paris", "b": "Rome"}[path]

    def __call__(self, prompt: str) -> str:
        return self._answer


class Keeps(Loads):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Named(Loads):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.name = f"named-{path}"

    def generate(self, prompts: list[str]) -> list[str]:
        return [self(prompt) for prompt in prompts]


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    line = {"id": "1", "prompt": "Capital of France?", "targets": ["Paris"], "metric": "exact_match"}
    Path("capitals.jsonl").write_text(json.dumps(line) + "\n")
    return "capitals.jsonl"


def test_two_models_of_one_call_that_cannot_be_told_apart_are_refused(task: str) -> None:
    with pytest.raises(UsageError, match=r"two of the models are called `Loads` .* cannot be told apart.* `name`"):
        assay.evaluate(task, [Loads("a"), Loads("b")])
    assert not Path("runs").exists()


@pytest.mark.parametrize("kind", [Keeps, Named])
def test_what_an_object_keeps_or_is_called_tells_it_from_others(task: str, kind: type[Loads]) -> None:
    result = assay.evaluate(task, [kind("a"), kind("b")])
    assert [run.leaderboard.overall_score for run in result] == [1.0, 0.0]


def test_the_same_object_twice_is_one_run(task: str) -> None:
    model = Loads("a")
    assert len(assay.evaluate(task, [model, model]).runs) == 1


def test_a_run_that_another_object_began_is_resumed_with_a_warning(task: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "assay"):
        for path in "ab":
            assay.evaluate(task, Loads(path))
    [message] = [record.message for record in caplog.records]
    assert "another `Loads`" in message
    assert "`fresh=True`" in message


def test_so_is_one_of_a_function_that_calls_another_object(task: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "assay"):
        for path in "ab":
            loaded = Loads(path)
            assay.evaluate(task, lambda prompt: loaded(prompt).strip())  # noqa: B023 - called at once
    assert "another `Loads`" in caplog.text


def test_nothing_is_said_where_nothing_can_be_confused(task: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "assay"):
        loaded = Loads("a")
        for _ in range(2):
            assay.evaluate(task, loaded)  # the same object
            assay.evaluate(task, Keeps("a"))
            assay.evaluate(task, lambda prompt: "Paris")
            assay.evaluate(task, lambda prompt: loaded(prompt).strip())
        assay.evaluate(task, Loads("b"), fresh=True)
        assay.evaluate(task, Loads("b"), folder="another")
    assert not caplog.records
