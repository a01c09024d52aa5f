"""Searches among texts that are all alike, and with evaluators that fail now and then: what is called better."""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.core.types import Completion, Request
from assay.evaluators import Evaluation
from assay.evaluators.payload import failed
from assay.optimize.run import SearchSettings, optimize

Score = Callable[[str, Any], tuple[float, dict[str, Any]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=200)
    on_pure_noise(parser.parse_args().searches)
    with_a_flaky_evaluator(100)


class FunctionEvaluator:
    """A function as an evaluator."""

    name = "function"
    identity = {"version": 1}  # noqa: RUF012 - nobody changes it

    def __init__(self, score: Score) -> None:
        self._score = score

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
        score, side_info = self._score(candidate, example)
        return Evaluation(score=score, side_info=side_info)

    async def close(self) -> None:
        pass


class FunctionProposer:
    """A function of the prompt as a proposer."""

    name = "function"

    def __init__(self, propose: Callable[[str], str]) -> None:
        self._propose = propose

    async def generate(self, request: Request) -> Completion:
        return Completion(text=self._propose(request.text()), finish_reason="stop")


NOISE = {
    "dataset": {"dataset": [{"n": number} for number in range(30)]},
    "dataset and valset": {
        "dataset": [{"n": number} for number in range(15)],
        "valset": [{"n": number} for number in range(100, 130)],
    },
    "testset": {
        "dataset": [{"n": number} for number in range(30)],
        "testset": [{"n": number} for number in range(100, 120)],
    },
    "nothing held out": {"dataset": [{"n": number} for number in range(30)], "holdout": 0.0},
    "one text": {},
}


def says_better_on_noise(mode: str, number: int, *, binary: bool, budget: int = 150) -> bool:
    """Whether a search among texts that are all alike says that it found a better one."""

    def score(text: str, example: Any) -> tuple[float, dict[str, Any]]:
        chance = _chance(f"{mode} {number} {text} {example}")
        return float(chance < 0.5) if binary else chance, {}

    written = iter(range(10_000))
    with tempfile.TemporaryDirectory() as folder:
        result = optimize(
            SearchSettings(seed="seed", budget=budget, random_seed=number, **NOISE[mode]),  # type: ignore[arg-type]
            FunctionEvaluator(score),
            FunctionProposer(lambda prompt: f"```\ntext {next(written)}\n```"),
            folder=Path(folder) / "run",
            probe=False,
        )
    return result.better is True or "better by" in result.verdict


def on_pure_noise(searches: int) -> None:
    print(f'\n| pure noise | said "better" of {searches}, graded scores | right or wrong |\n| --- | ---: | ---: |')
    for mode in NOISE:
        found = [
            sum(says_better_on_noise(mode, number, binary=binary) for number in range(searches))
            for binary in (False, True)
        ]
        print(f"| {mode} | {found[0]} | {found[1]} |", flush=True)


def best_of_a_flaky_evaluator(number: int, *, share: float = 0.1, budget: int = 200) -> tuple[float, float]:
    """The true score of the text that was called best, and of the best one that was kept, with failing calls."""
    valset = [{"n": each} for each in range(100, 120)]
    calls = iter(range(1_000_000))

    def truth(text: str, example: Any) -> float:
        quality = _chance(f"quality {number} {text}")
        return float(_chance(f"{number} {text} {example}") < quality)

    def score(text: str, example: Any) -> tuple[float, dict[str, Any]]:
        if _chance(f"failure {number} {next(calls)}") < share:
            raise failed("flaky", "bad_output", "unreadable this time")
        return truth(text, example), {}

    written = iter(range(10_000))
    with tempfile.TemporaryDirectory() as folder:
        result = optimize(
            SearchSettings(
                seed="seed",
                budget=budget,
                random_seed=number,
                dataset=[{"n": each} for each in range(15)],
                valset=valset,
                holdout=0.0,
            ),
            FunctionEvaluator(score),
            FunctionProposer(lambda prompt: f"```\ntext {next(written)}\n```"),
            folder=Path(folder) / "run",
            probe=False,
        )
    true = {each.text: statistics.fmean(truth(each.text, example) for example in valset) for each in result.lineage}
    return true[result.best], max(true.values())


def with_a_flaky_evaluator(searches: int) -> None:
    print("\n| calls that fail | searches in which a worse text won |\n| ---: | ---: |")
    for share in (0.05, 0.1, 0.2):
        worse = sum(best < most for best, most in (best_of_a_flaky_evaluator(n, share=share) for n in range(searches)))
        print(f"| {share:.0%} | {worse} of {searches} |", flush=True)


def _chance(text: str) -> float:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) / 2**64


if __name__ == "__main__":
    main()
