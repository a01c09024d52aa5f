"""Searches beside GEPA called directly: evaluator calls until the target is reached, and CPU per evaluation in process.

Four problems with a scripted proposer that reads nothing but the feedback it is shown: words that must be in a text, a
number to be found, tickets to be labelled by hints, and the same tickets with six retrieved passages each. Calls are
counted in the evaluator itself, the median and the range over the seeds; a search that does not arrive within its
budget counts as its budget. Proposer, minibatch, budget and target are the same for both, all else is the default.

CPU per evaluation is the slope: the same problem with sixteen times its records, less the problem as it is, over the
evaluations that makes more. What a search costs besides, the intercept, is the rest: assay's has the folder, the files
that are synced to disk, the summary and the page, of which GEPA called directly writes nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
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
LARGER = 16
"""So many times the records, for the slope: with fewer it is lost in the noise of a small search."""
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
    target: float


def problems(times: int = 1) -> list[Problem]:
    """`times` as many records as usual, which are no harder."""
    words = [{"word": WORDS[n % len(WORDS)], "number": n} for n in range(20 * times)]
    numbers = [{"wanted": 40 + n % 5, "number": n} for n in range(10 * times)]
    tickets = [
        {"ticket": f"{word} again, number {n}", "label": label, "word": word}
        for n in range(3 * times)
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


def calls_of_assay(problem: Problem, seed: int) -> int:
    from assay.optimize.run import SearchSettings, optimize

    evaluator = _InProcess(problem)
    with tempfile.TemporaryDirectory() as folder:
        optimize(
            SearchSettings(
                seed=problem.seed,
                dataset=problem.records,
                holdout=0.0,
                budget=BUDGET,
                target_score=problem.target,
                random_seed=seed,
                minibatch=MINIBATCH,
            ),
            evaluator,
            _Proposer(),
            folder=Path(folder) / "run",
            probe=False,
        )
    return evaluator.calls


class _InProcess:
    name = "in process"
    identity: ClassVar = {"bench": 1}

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.calls = 0

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Any:
        from assay.evaluators import Evaluation

        self.calls += 1
        score, reason = self._problem.score(candidate, dict(example))
        return Evaluation(score=score, side_info={"reasoning": reason})

    async def close(self) -> None: ...


class _Proposer:
    name = "scripted"

    async def generate(self, request: Any) -> Any:
        from assay.core.types import Completion

        return Completion(text=propose(request.text()))


def calls_of_gepa(problem: Problem, seed: int) -> int:
    from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything
    from gepa.utils.stop_condition import ScoreThresholdStopper

    calls = 0

    def evaluate(candidate: str, example: Any) -> tuple[float, dict[str, Any]]:
        nonlocal calls
        calls += 1
        score, reason = problem.score(candidate, example)
        return score, {"reasoning": reason}

    config = GEPAConfig(
        engine=EngineConfig(seed=seed, max_metric_calls=BUDGET, parallel=False),
        reflection=ReflectionConfig(reflection_lm=propose, reflection_minibatch_size=MINIBATCH),
        stop_callbacks=[ScoreThresholdStopper(problem.target)],
    )
    with contextlib.redirect_stdout(io.StringIO()):
        optimize_anything(problem.seed, evaluator=evaluate, dataset=problem.records, config=config)
    return calls


class Cpu(NamedTuple):
    """Of a search, in milliseconds."""

    per_evaluation: float
    besides: float


def cpu(run: Callable[[Problem, int], int], small: Problem, large: Problem) -> Cpu:
    few, many = _least(run, small), _least(run, large)
    per_evaluation = (many[1] - few[1]) / (many[0] - few[0])
    return Cpu(per_evaluation, few[1] - few[0] * per_evaluation)


def _least(run: Callable[[Problem, int], int], problem: Problem) -> tuple[int, float]:
    """Evaluations and the least milliseconds of several runs; loading the program is not counted."""
    calls = run(problem, 0)
    found = []
    for _ in range(7):
        began = time.process_time()
        run(problem, 0)
        found.append((time.process_time() - began) * 1000)
    return calls, min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print("| problem | evaluator calls, assay | GEPA | CPU ms per evaluation, assay | GEPA | ratio | besides | GEPA |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for problem, large in zip(problems(), problems(LARGER), strict=True):
        calls = [
            _range([run(problem, seed) for seed in range(options.seeds)]) for run in (calls_of_assay, calls_of_gepa)
        ]
        ours, theirs = cpu(calls_of_assay, problem, large), cpu(calls_of_gepa, problem, large)
        each = [f"{ours.per_evaluation:.3f}", f"{theirs.per_evaluation:.3f}"]
        ratio = f"{ours.per_evaluation / theirs.per_evaluation:.1f}"
        row = [problem.name, *calls, *each, ratio, f"{ours.besides:.0f}", f"{theirs.besides:.0f}"]
        print(f"| {' | '.join(row)} |", flush=True)


def _range(calls: list[int]) -> str:
    return f"{statistics.median(calls):g} ({min(calls)}–{max(calls)})"


if __name__ == "__main__":
    main()
