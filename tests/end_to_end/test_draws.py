"""A draw is a draw: as many answers are requested as a solver, the repetitions and the samples ask for."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from tests.servers.fake_openai import fake_openai

import assay

VOTE = """
from assay import Request, Trace


class Vote:
    def __init__(self, *, n=3, number=False, together=False):
        self._n, self._number, self._together = n, number, together

    async def __call__(self, sample, model):
        import asyncio

        own = [{"attempt": i + 1} if self._number else {} for i in range(self._n)]
        asked = [model.generate(Request(prompt=sample.row["q"], **each)) for each in own]
        answers = await asyncio.gather(*asked) if self._together else [await each for each in asked]
        return Trace(prediction=" | ".join(each.text for each in answers), completions=tuple(answers))
"""

SNIPPET = """
async def run_solver(sample, model, trace):
    said = [await model.predict(sample["q"]) for _ in range(3)]
    return " | ".join(answer.text for answer in said)
"""

SOLVERS: dict[str, dict[str, Any]] = {
    "one after the other": {"type": "vote:Vote"},
    "numbered by the solver": {"type": "vote:Vote", "number": True},
    "all at once": {"type": "vote:Vote", "together": True},
    "python": {"type": "python", "run_solver_snippet": SNIPPET},
}
ONE_TURN = {"type": "single_turn_solver", "input_builder": {"type": "generic", "template": '{"prompt": "q"}'}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "vote.py").write_text(VOTE)
    return tmp_path


def task(solver: dict[str, Any], samples: int = 1, **scorer: Any) -> str:
    definition = {
        "dataset": {"key": "samples"},
        "solver": solver,
        "scorers": [scorer or {"type": "string_equals", "ground_truth": "none"}],
    }
    dataset = {"type": "inline", "samples": [{"id": str(n), "q": "q"} for n in range(samples)]}
    Path("t.yaml").write_text(
        json.dumps({"key": "t", "display_name": "t", "description": "", "definition": definition})
    )
    Path("samples.yaml").write_text(json.dumps({"key": "samples", "display_name": "samples", "source": dataset}))
    return "t.yaml"


async def answers_of(runs: list[dict[str, Any]]) -> list[list[str]]:
    """The answers of runs one after the other against a server that gives a new answer to each request."""
    count = itertools.count(1)
    found = []
    async with fake_openai(lambda prompt: f"{next(count)}") as server:
        for number, given in enumerate(runs):
            settings = dict(given)
            model = f"openai:m@{server.base_url}"
            settings["model_options"] = {"cache": settings.pop("cached")}
            (run,) = await assay.aevaluate("t.yaml", model, folder=f"run-{number}", **settings)
            found.append([record["trace"]["prediction"] for record in journal(run.folder)])
    return found


def journal(folder: Path) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    return sorted(records, key=lambda record: (record["index"], record.get("attempt", 1)))


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_three_answers_in_three_repetitions_are_nine_requests(project: Path, solver: Any, cached: bool) -> None:
    task(solver)
    (answers,) = asyncio.run(answers_of([{"repeat": 3, "temperature": 1.0, "cached": cached}]))
    assert sorted(int(answer) for each in answers for answer in each.split(" | ")) == [*range(1, 10)]
    assert [len(each.split(" | ")) for each in answers] == [3, 3, 3]


@pytest.mark.parametrize("temperature", [None, 0.7])
def test_samples_with_the_same_prompt_are_so_many_draws(project: Path, temperature: float | None) -> None:
    task(SOLVERS["one after the other"] | {"n": 1}, samples=4)
    (answers,) = asyncio.run(answers_of([{"temperature": temperature, "cached": True}]))
    assert sorted(answers) == ["1", "2", "3", "4"]


def test_a_greedy_answer_may_stand_for_equal_requests(project: Path) -> None:
    task(SOLVERS["one after the other"])
    (answers,) = asyncio.run(answers_of([{"temperature": 0.0, "cached": True, "repeat": 2}]))
    assert answers == ["1 | 1 | 1", "2 | 2 | 2"]


def test_the_same_draws_are_found_again_in_the_cache(project: Path) -> None:
    task(SOLVERS["one after the other"])
    first, second = asyncio.run(answers_of([{"repeat": 2, "temperature": 1.0, "cached": True}] * 2))
    assert first == second


def test_verdicts_of_a_judge_are_draws_too(project: Path) -> None:
    judge = {"type": "model_as_a_judge_scorer", "model_key": "judge", "score_max": 100}
    task(ONE_TURN, samples=2, **judge, system_prompt="Grade.", user_prompt="Grade it.")
    count = itertools.count(1)

    async def verdicts() -> list[int]:
        async with fake_openai(lambda prompt: f"{next(count)}") as server:
            Path("models").mkdir()
            judge_file = {"key": "judge", "display_name": "J", "cache": True, "config": {"url": server.base_url}}
            Path("models", "judge.yaml").write_text(json.dumps(judge_file))
            (run,) = await assay.aevaluate("t.yaml", "stub:a", folder="run", repeat=2)
        return [record["scores"][0]["metadata"]["raw_score"] for record in journal(run.folder)]

    assert sorted(asyncio.run(verdicts())) == [1, 2, 3, 4]
