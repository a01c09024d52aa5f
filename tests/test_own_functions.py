"""Plain functions as models and metrics: what they are called, what distinguishes them, and what cannot be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.errors import UsageError
from assay.own_functions import code_sha256, name_of
from assay.run_file import read_run_file
from assay.runs.later.rescore import rescore


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [{"id": str(n), "prompt": f"compute: {n} + 1", "targets": [str(n + 1)]} for n in range(4)]
    Path("sums.jsonl").write_text("".join(json.dumps({**line, "metric": "exact_match"}) + "\n" for line in lines))
    return "sums.jsonl"


def shouts(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the answer is all capitals."""
    return float(prediction.isupper())


def test_a_function_that_can_be_imported_is_called_by_its_module() -> None:
    assert name_of(shouts) == f"{__name__}:shouts"


def test_lambdas_are_told_apart_by_their_code_and_by_what_they_close_over() -> None:
    def answering(answer: object) -> Callable[[str], object]:
        return lambda prompt: answer

    one, two = (lambda prompt: "1"), (lambda prompt: "2")
    assert code_sha256(one) != code_sha256(two)
    assert code_sha256(answering("1")) != code_sha256(answering("2"))
    assert code_sha256(answering("1")) == code_sha256(answering("1"))
    assert code_sha256(answering(object())) == code_sha256(answering(object()))  # no address in memory


def in_a_notebook(text: str, **values: Any) -> dict[str, Any]:
    """The names that a cell of this text leaves behind: no file holds them, and they cannot be imported."""
    names = {"__name__": "__main__", "assay": assay, **values}
    exec(text, names)
    return names


ASKING = "def ask(prompt):\n    return prefix + helper(prompt)\ndef helper(prompt):\n    return {body}\n"


def test_the_values_and_helpers_that_a_function_reads_tell_it_from_another() -> None:
    def sha256(prefix: object, body: str = "prompt") -> str:
        return code_sha256(in_a_notebook(ASKING.format(body=body), prefix=prefix)["ask"])

    assert sha256("a") == sha256("a")
    assert len({sha256("a"), sha256("b"), sha256(["a"]), sha256("a", body="prompt.upper()")}) == 4


def test_values_behind_helpers_of_helpers_tell_functions_apart() -> None:
    def calling(value: str) -> Callable[[str], str]:
        def reads(prompt: str) -> str:
            return value

        def helps(prompt: str) -> str:
            return reads(prompt)

        def asks(prompt: str) -> str:
            return helps(prompt)

        return asks

    assert name_of(calling("a")) == name_of(calling("a"))
    assert name_of(calling("a")) != name_of(calling("b"))


@pytest.mark.parametrize(
    "writing",
    [
        "log.append(prompt)",
        "log2[prompt] = 1",
        "global asked\n    asked += 1",
    ],
)
def test_what_a_function_writes_to_is_no_part_of_it_so_that_its_run_can_be_resumed(writing: str) -> None:
    values: dict[str, Any] = {"log": [], "log2": {}, "asked": 0}
    names = in_a_notebook(f"def ask(prompt):\n    {writing}\n    return 'x'\n", **values)
    before = code_sha256(names["ask"])
    names["ask"]("hello")
    assert names["log"] or names["log2"] or names["asked"]
    assert code_sha256(names["ask"]) == before


class Answers:
    """As small as an adapter can be, made with a text."""

    name = "answers"

    def __init__(self, word: str, *, api_key: str = "") -> None:
        self._word, self.api_key, self.asked = word, api_key, 0

    def generate(self, prompts: list[str]) -> list[str]:
        self.asked += len(prompts)
        return [self._word] * len(prompts)

    def answer(self, prompt: str) -> str:
        return self._word


class NativeAnswers(Answers):
    async def generate(self, request: assay.Request) -> assay.Completion:  # type: ignore[override]
        return assay.Completion(text=self._word)


def said(word: str, prompt: str) -> str:
    return word


MADE: dict[str, Callable[[str], Any]] = {
    "an adapter": Answers,
    "a native model": NativeAnswers,
    "a method": lambda word: Answers(word).answer,
    "a partial": lambda word: partial(said, word),
    "a method of a mapping": lambda word: dict.fromkeys([f"compute: {n} + 1" for n in range(4)], word).get,
    "a function of a notebook": lambda word: in_a_notebook(f"def ask(prompt):\n    return {word!r}")["ask"],
    "a class of a notebook": lambda word: in_a_notebook(
        f"class Ask:\n    name = 'ask'\n    word = {word!r}\n"
        "    async def generate(self, request):\n        return assay.Completion(text=self.word)\n"
    )["Ask"](),
}


@pytest.mark.parametrize("made", MADE)
def test_a_model_that_answers_otherwise_never_gets_the_run_of_another(task: str, made: str) -> None:
    folders = []
    for word, score in (("1", 0.25), ("nothing", 0.0), ("1", 0.25)):
        result = assay.evaluate(task, MADE[made](word))
        assert result.leaderboard.overall_score == score
        folders.append(result.folder)
    assert folders[0] == folders[2] != folders[1]


def test_neither_a_key_nor_a_count_makes_an_object_another(task: str) -> None:
    model = Answers("1", api_key="one")
    first = assay.evaluate(task, model)
    assert assay.evaluate(task, model).folder == first.folder
    assert model.asked == 4
    assert assay.evaluate(task, Answers("1", api_key="two")).folder == first.folder


def test_a_metric_that_reads_another_value_is_another_metric(task: str) -> None:
    for wanted, score in (("1", 0.25), ("nothing", 0.0)):
        names = in_a_notebook("def same(said, targets, extras):\n    return float(said == wanted)", wanted=wanted)
        assert assay.evaluate(task, "toy", scorer=names["same"]).leaderboard.overall_score == score


def test_two_lambdas_of_one_file_are_two_models_and_one_is_resumed(task: str) -> None:
    asked = count()

    def remember(prompt: str) -> str:
        next(asked)
        return "1"

    runs = [assay.evaluate(task, model) for model in (lambda prompt: "1", lambda prompt: "2")]
    assert len({run.folder for run in runs}) == 2
    assert [run.leaderboard.adapter for run in runs] == ["lambda", "lambda"]
    assert [run.leaderboard.overall_score for run in runs] == [0.25, 0.25]
    for _ in range(2):
        assay.evaluate(task, remember)
    assert next(asked) == 4


def test_functions_of_prompts_lists_and_requests_plain_and_async_are_models(task: str) -> None:
    async def later(prompt: str) -> str:
        return "1"

    def many(prompts: list[str]) -> list[str]:
        return ["1" for _ in prompts]

    async def native(request: assay.Request) -> assay.Completion:
        return assay.Completion(text="1")

    result = assay.evaluate(task, [later, many, native, lambda prompt: "1"])
    assert [run.leaderboard.overall_score for run in result] == [0.25] * 4


def test_a_lambda_is_a_metric_and_the_run_file_says_which(task: str) -> None:
    result = assay.evaluate(task, "toy", scorer=lambda said, targets, extras: float(int(said) > 2))
    row = result.leaderboard.tasks[0]
    assert row.score == 0.5
    assert row.metric.startswith("here:lambda@")
    [definition] = read_run_file(result.folder).definitions
    assert definition.scorers[0].options["metric"] == row.metric
    assert "int(said) > 2" in definition.provenance.functions[row.metric]


def test_another_function_is_another_run(task: str) -> None:
    def always(value: float) -> Callable[..., float]:
        return lambda said, targets, extras: value

    kept = [assay.evaluate(task, "toy", scorer=always(value)) for value in (0.0, 1.0)]
    assert [result.leaderboard.overall_score for result in kept] == [0.0, 1.0]
    assert kept[0].folder != kept[1].folder


def test_an_importable_function_is_scored_again_by_anybody(task: str) -> None:
    result = assay.evaluate(task, lambda prompt: "YES", scorer=shouts)
    assert result.leaderboard.overall_score == 1.0
    assert rescore(result.folder).leaderboard.overall_score == 1.0


def test_scoring_again_elsewhere_says_that_the_function_is_gone(task: str) -> None:
    result = assay.evaluate(task, "toy", scorer=lambda said, targets, extras: 1.0)
    assert rescore(result.folder).leaderboard.overall_score == 1.0  # here it is still known
    command = [sys.executable, "-m", "assay", "rescore", str(result.folder), "--run-dir", "again"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "was a function that a Python program passed to its run" in done.stderr
    assert "Put it into a file and name it `module:function`" in done.stderr
    assert not Path("again").exists()
    command = [sys.executable, "-m", "assay", "verify", str(result.folder)]
    assert subprocess.run(command, capture_output=True, text=True).returncode == 0


def test_the_small_api_takes_functions_as_adapter_and_as_metric() -> None:
    example = assay.Example(id="1", prompt="x", targets=("X",), metric=shouts)  # type: ignore[arg-type]
    assert assay.run_task("loud", [example], lambda prompt: prompt.upper()).score == 1.0


def a_pair(prediction: str, targets: Sequence[str]) -> float:
    return 1.0


async def waits(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        (a_pair, r"the metric `a_pair` must take \(prediction, targets, extras\)"),
        (waits, "the metric `waits` is `async`"),
        (3, "int 3 is not a metric"),
        ("exact_mach", "unknown metric `exact_mach`. Did you mean `exact_match`"),
    ],
)
def test_what_is_not_a_metric_is_refused_before_anything_runs(task: str, metric: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        assay.evaluate(task, "toy", scorer=metric)
    assert not Path("runs").exists()


def test_a_metric_that_raises_keeps_where(task: str) -> None:
    result = assay.evaluate(task, "toy", scorer=lambda said, targets, extras: 1 / 0)
    row = result.leaderboard.tasks[0]
    assert (row.score, row.failed) == (None, 4)
    assert "(test_own_functions.py:" in row.failure_examples["metric/exception"]


def test_a_file_cannot_name_a_function_that_was_handed_over(task: str) -> None:
    name = name_of(lambda said, targets, extras: 1.0)
    Path("t.jsonl").write_text(json.dumps({"id": "1", "prompt": "x", "targets": ["y"], "metric": name}) + "\n")
    with pytest.raises(UsageError, match="unknown metric"):
        assay.evaluate("t.jsonl", "toy")
