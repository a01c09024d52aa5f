"""Searches beside GEPA called directly: evaluator calls until the target is reached, and CPU per evaluation in process.

Four problems with a scripted proposer that reads nothing but the feedback it is shown: words that must be in a text, a
number to be found, tickets to be labelled by hints, and the same tickets with six retrieved passages each. Calls are
counted in the evaluator itself, the median and the range over the seeds; a search that does not arrive within its
budget counts as its budget. Proposer, minibatch, budget and target are the same for both, all else is the default.

CPU per evaluation is the CPU of a whole search over its evaluator calls, with everything in it but imports: assay's
also the folder, the journal, the summary and the page, of which GEPA called directly writes nothing. Two problems that
no budget here solves, one whose proposals are nearly all accepted (each record wants a word of its own) and one whose
scores are noise; several numbers of records and budgets; the two by turns, the median over the seeds. The last line is
what one more evaluation costs: the difference between the smallest search and the one with ten times its budget.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import io
import itertools
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

BUDGET = 6000
MINIBATCH = 3
SIZES = ((20, 200), (50, 500), (100, 1000), (200, 2000), (20, 2000))
"""Records and budgets of the searches whose CPU is measured."""
WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet"]
LABELS = {
    "billing": ["charged", "receipt", "invoice", "refund"],
    "outage": ["timeout", "dashboard", "login", "offline"],
    "praise": ["great", "thanks", "lovely", "helpful"],
}
Score = Callable[[str, dict[str, Any]], tuple[float, str]]


@dataclass(frozen=True)
class Problem:
    name: str
    seed: str
    records: list[dict[str, Any]]
    score: Score
    """Of a text on a record: a number, and what would help."""
    target: float | None
    budget: int = BUDGET


def problems() -> list[Problem]:
    words = [{"word": WORDS[n % len(WORDS)], "number": n} for n in range(20)]
    numbers = [{"wanted": 40 + n % 5, "number": n} for n in range(10)]
    tickets = [
        {"ticket": f"{word} again, number {n}", "label": label, "word": word}
        for n in range(3)
        for label, listed in LABELS.items()
        for word in listed
    ]
    passage = "some words of context that retrieval has found. " * 40
    rag = [{"contexts": [f"{n}: {passage}" for n in range(6)], **ticket} for ticket in tickets]
    return [
        Problem("keyword", "[[ ]]", words, lambda text, row: _has(text, row["word"]), 1.0),
        Problem("numeric", "[[ 0 ]]", numbers, _near, 0.4),
        Problem("ticket", "[[ ]]", tickets, lambda text, row: _has(text, f"{row['label']}={row['word']}"), 1.0),
        Problem("RAG ticket", "[[ ]]", rag, lambda text, row: _has(text, f"{row['label']}={row['word']}"), 1.0),
    ]


def unsolved(records: int, budget: int) -> list[Problem]:
    """Problems that are not solved within the budget, so that both searches use it up."""
    rows = [{"word": f"word{n}", "number": n} for n in range(records)]
    found = [Problem("noise", "[[ ]]", rows, _noise, None, budget)]
    if budget <= 10 * records:  # else every word is found
        found.insert(0, Problem("a word each", "[[ ]]", rows, lambda text, row: _has(text, row["word"]), None, budget))
    return found


def _noise(text: str, row: dict[str, Any]) -> tuple[float, str]:
    digest = hashlib.blake2b(f"{text}/{row['number']}".encode(), digest_size=4).digest()
    number = int.from_bytes(digest, "big")
    return number / 2**32, f"NEED:{number}"  # so that every proposal is another number


def _has(text: str, word: str) -> tuple[float, str]:
    return (1.0, "fine") if word in text.split() else (0.0, f"NEED:{word}")


def _near(text: str, row: dict[str, Any]) -> tuple[float, str]:
    found = re.search(r"-?\d+(?:\.\d+)?", text)
    distance = abs(float(found[0]) - row["wanted"]) if found else 100.0
    return 1 / (1 + distance), f"NEED:{row['wanted']}"


def propose(prompt: str) -> str:
    """Adds the first thing that is needed; a number moves half of the way."""
    current = re.search(r"\[\[(.*?)\]\]", prompt, re.DOTALL)
    needs = re.findall(r"NEED:([\w=]+)", prompt)
    inside = current[1].strip() if current else ""
    if needs and needs[0].isdigit():
        inside = f"{(float(inside or 0) + float(needs[0])) / 2:.2f}"
    elif needs:
        inside = f"{inside} {needs[0]}".strip()
    return f"```\n[[ {inside} ]]\n```"


def calls_of_assay(problem: Problem, seed: int, folder: Path) -> int:
    from assay.optimize.run import SearchSettings, optimize

    evaluator = _InProcess(problem)
    optimize(
        SearchSettings(
            seed=problem.seed,
            dataset=problem.records,
            holdout=0.0,
            budget=problem.budget,
            target_score=problem.target,
            random_seed=seed,
            minibatch=MINIBATCH,
        ),
        evaluator,
        _Proposer(),
        folder=folder,
        probe=False,
    )
    return evaluator.calls


class _InProcess:
    name = "in process"
    identity: ClassVar = {"bench": 1}

    def __init__(self, problem: Problem) -> None:
        from assay.evaluators import Evaluation

        self._evaluation = Evaluation
        self._problem = problem
        self.calls = 0

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Any:
        self.calls += 1
        score, reason = self._problem.score(candidate, example)
        return self._evaluation(score=score, side_info={"reasoning": reason})

    async def close(self) -> None: ...


class _Proposer:
    name = "scripted"

    async def generate(self, request: Any) -> Any:
        from assay.core.types import Completion

        return Completion(text=propose(request.text()))


def calls_of_gepa(problem: Problem, seed: int, folder: Path) -> int:
    from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything
    from gepa.utils.stop_condition import ScoreThresholdStopper

    calls = 0

    def evaluate(candidate: str, example: Any) -> tuple[float, dict[str, Any]]:
        nonlocal calls
        calls += 1
        score, reason = problem.score(candidate, example)
        return score, {"reasoning": reason}

    config = GEPAConfig(
        engine=EngineConfig(seed=seed, max_metric_calls=problem.budget, parallel=False),
        reflection=ReflectionConfig(reflection_lm=propose, reflection_minibatch_size=MINIBATCH),
        stop_callbacks=None if problem.target is None else [ScoreThresholdStopper(problem.target)],
    )
    with contextlib.redirect_stdout(io.StringIO()):
        optimize_anything(problem.seed, evaluator=evaluate, dataset=problem.records, config=config)
    return calls


class Searches(NamedTuple):
    """Evaluator calls of some searches, and what each of those cost in ms of CPU."""

    calls: list[int]
    cpu: list[float]


def by_turns(problem: Problem, seeds: int) -> list[Searches]:
    """Of assay and of GEPA, which begin by turns."""
    found = [Searches([], []), Searches([], [])]
    runs = list(enumerate((calls_of_assay, calls_of_gepa)))
    with tempfile.TemporaryDirectory() as folder:
        names = (Path(folder) / str(number) for number in itertools.count())
        for _, run in runs:
            run(problem, 0, next(names))  # loads the program
        for seed in range(seeds):
            for at, run in runs if seed % 2 else runs[::-1]:
                gc.collect()
                began = _cpu_seconds()
                calls = run(problem, seed, next(names))
                found[at].calls.append(calls)
                found[at].cpu.append((_cpu_seconds() - began) * 1000 / calls)
    return found


def _cpu_seconds() -> float:
    """Of this process and of children it has had, if there were any."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    _head("problem", "evaluator calls, assay", "GEPA")
    for problem in problems():
        _row(problem.name, *(_range(each.calls) for each in by_turns(problem, options.seeds)))
    print()
    _head("problem", "records", "evaluator calls, assay", "GEPA", "CPU ms per evaluation, assay", "GEPA", "ratio")
    by_size: dict[tuple[str, int, int], list[Searches]] = {}
    for records, budget in SIZES:
        for problem in unsolved(records, budget):
            both = by_size[problem.name, records, budget] = by_turns(problem, options.seeds)
            calls = [f"{statistics.median(each.calls):g}" for each in both]
            _row(problem.name, f"{records}", *calls, *_compared([statistics.median(each.cpu) for each in both]))
    small, large = by_size["noise", 20, 200], by_size["noise", 20, 2000]
    _row("noise, one more", "20", "", "", *_compared([_one_more(*both) for both in zip(small, large, strict=True)]))


def _one_more(small: Searches, large: Searches) -> float:
    totals = [[cpu * calls for cpu, calls in zip(each.cpu, each.calls, strict=True)] for each in (small, large)]
    more = statistics.median(large.calls) - statistics.median(small.calls)
    return (statistics.median(totals[1]) - statistics.median(totals[0])) / more


def _compared(cpu: list[float]) -> list[str]:
    return [f"{cpu[0]:.3f}", f"{cpu[1]:.3f}", f"{cpu[0] / cpu[1]:.1f}"]


def _head(*names: str) -> None:
    _row(*names)
    print(f"| --- |{' ---: |' * (len(names) - 1)}")


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _range(calls: list[int]) -> str:
    return f"{statistics.median(calls):g} ({min(calls)}–{max(calls)})"


if __name__ == "__main__":
    main()
