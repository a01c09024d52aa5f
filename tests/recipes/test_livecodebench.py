"""LiveCodeBench: hidden tests are read without loading their pickle, and every test must pass in the sandbox."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.recipes.shapes import packed, tasks_made
from tests.skips import skip_without_sandbox

from assay.core.errors import FailureError
from assay.core.seams import close_part
from assay.core.types import Trace
from assay.recipes import livecodebench
from assay.recipes.livecodebench import hidden_tests, pickled_text

TESTS = [{"input": "1\n", "output": "2\n", "testtype": "stdin"}]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("text", ["", "short", "é" * 300, "x" * 70_000])
def test_a_pickled_text_is_read_without_loading_it(protocol: int, text: str) -> None:
    assert pickled_text(pickle.dumps(text, protocol)) == text


class Attack:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/attacked",)


@pytest.mark.parametrize("value", [Attack(), ["text"], 7, None, ("a", "b"), b"bytes", {"a": 1}])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_any_other_pickle_is_refused(value: object, protocol: int) -> None:
    with pytest.raises(ValueError, match=r"not loaded|not of one text"):
        pickled_text(pickle.dumps(value, protocol))


@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps("a")[:-1], pickle.dumps("a") + pickle.dumps(Attack())])
def test_what_is_no_whole_pickle_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"pickle|opcode|bytes|exhausted|not enough data"):
        pickled_text(content)


def test_hidden_tests_are_json_or_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hidden_tests(json.dumps(TESTS)) == hidden_tests(packed(TESTS)) == TESTS
    with pytest.raises(ValueError, match="neither JSON nor base64"):
        hidden_tests("!")
    monkeypatch.setattr(livecodebench, "MAX_TEST_BYTES", 100)
    with pytest.raises(ValueError, match="larger than"):
        hidden_tests(base64.b64encode(zlib.compress(pickle.dumps("x" * 10_000))).decode())


def test_tests_too_large_for_a_line_are_left_out_the_largest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(livecodebench, "KEPT_TEST_BYTES", 60)
    tests = [{"input": "x" * size, "output": ""} for size in (10, 500, 20)]
    assert livecodebench._within(tests) == [tests[0], tests[2]]


def test_the_prompt_is_as_published(tmp_path: Path) -> None:
    functional, stdin = (next(iter(task.dataset)) for task in tasks_made("livecodebench", tmp_path))
    assert stdin.prompt.startswith("### Question:\nAdd.\n\n### Format: Read the inputs from stdin")
    assert "```python\n# YOUR CODE HERE\n```\n\n### Answer: (use the provided format with backticks)" in stdin.prompt
    assert "```python\nclass Solution:" in functional.prompt
    assert [message["role"] for message in stdin.extras["messages"]] == ["system", "user"]
    assert len(stdin.targets) == len(functional.extras["io_pairs"]) == 2


CLASS = "class Solution:\n    def add(self, xs, y):\n        return "
PROGRAMS = {
    "right": (f"{CLASS}sum(xs) + y", "a, b = map(int, input().split())\nprint(a + b)"),
    "wrong on a hidden test": (f"{CLASS}6", "print(3)"),
    "without a class, with names of the prelude": (
        "def add(xs: List[int], y):\n    return reduce(lambda a, b: a + b, xs, y)",
        "print(sum(map(int, stdin.read().split())))",
    ),
}
"""For the functional problem and for the one that reads its input."""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return tasks_made("livecodebench", tmp_path_factory.mktemp("livecodebench"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_test_must_pass(name: str, tasks: list[Any]) -> None:
    async def score() -> list[Any]:
        try:
            return [
                (await task.scorers["code_exec"](sample, Trace(prediction=f"So:\n```python\n{code}\n```"))).values
                for task, code in zip(tasks, PROGRAMS[name], strict=True)
                for sample in task.dataset
            ]
        finally:
            for task in tasks:
                await close_part(task.scorers["code_exec"])

    try:
        scores = asyncio.run(score())
    except FailureError as error:
        skip_without_sandbox(error.failure.message)
    wanted = 0.0 if name.startswith("wrong") else 1.0
    assert [values["score"] for values in scores] == [wanted, wanted]
