"""A problem with few small changes to make: a regular expression of pieces, scored by how much of a number it finds.

The proposer changes a piece at random and does not read its prompt, so it repeats itself again and again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from assay.core.types import Completion, Request
from assay.evaluators import Evaluation
from assay.optimize.run import SearchSettings, optimize

PIECES = [r"[A-Z]", r"[A-Z]+", r"\d", r"\d+", r"\w+", "-", "/", r"\s", ".", r"\b", "[a-z]+", r"\#"]


class RegexSearch(NamedTuple):
    """What one search came to."""

    test_score: float
    """Of the best text, on examples that the search has not seen."""
    calls: int
    proposer_calls: int
    stop_reason: str


def regex_search(folder: Path, seed: int, **changes: Any) -> RegexSearch:
    """Search with a budget of 300 evaluations."""
    chance, proposer = Random(1000 + seed), _RandomEdits(seed)
    sets = {"dataset": _records(chance, 20), "valset": _records(chance, 20), "holdout": 0.0}
    settings = SearchSettings(seed=r"\w+", budget=300, random_seed=seed, **{**sets, **changes})
    result = optimize(settings, _Graded(), proposer, folder=folder, probe=False)
    test_score = fmean(_score(result.best, record) for record in _records(Random(5), 60))
    return RegexSearch(test_score, result.calls["used"], proposer.asked, result.stop_reason)


def _records(chance: Random, count: int) -> list[dict[str, str]]:
    records = []
    for _ in range(count):
        letters = "".join(chance.choices("ABCDEFGH", k=chance.randint(2, 4)))
        number = f"{letters}-{chance.randint(10, 99999)}/{chance.randint(0, 9)}"
        words = ["".join(chance.choices("abcdefgh", k=chance.randint(2, 6))) for _ in range(chance.randint(0, 3))]
        noise = chance.choice(["", "Order 12 ", "AB ", "X-ray 7/3 ", "#5 "])
        records.append({"text": f"{noise}{' '.join(words)} {number} and 42".strip(), "number": number})
    return records


def _score(candidate: str, record: Mapping[str, str]) -> float:
    """Characters that are found and wanted, as a share of those that are either."""
    found = re.search(candidate, record["text"], re.VERBOSE)
    if found is None or not found[0]:
        return 0.0
    first = record["text"].index(record["number"])
    last = first + len(record["number"])
    both = max(0, min(last, found.end()) - max(first, found.start()))
    return both / (max(last, found.end()) - min(first, found.start()))


class _Graded:
    name = "graded"
    identity: dict[str, Any] = {"name": name}  # noqa: RUF012

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
        return Evaluation(score=_score(candidate, example), side_info={})

    async def close(self) -> None: ...


class _RandomEdits:
    """One answer in four is the text as it was."""

    name = "edits"

    def __init__(self, seed: int) -> None:
        self.asked = 0
        self._chance = Random(seed)

    async def generate(self, request: Request) -> Completion:
        self.asked += 1
        shown = re.search(r"## Current Component.*?```\n(.*?)\n```", request.text(), re.DOTALL)
        assert shown is not None
        pieces = shown[1].split()
        if self._chance.random() >= 0.25:
            self._change(pieces)
        return Completion(text=f"```\n{' '.join(pieces)}\n```", finish_reason="stop")

    def _change(self, pieces: list[str]) -> None:
        change = self._chance.choice(["insert", "insert", "replace", "remove"])
        at = self._chance.randrange(len(pieces) + (change == "insert"))
        if change == "insert":
            pieces.insert(at, self._chance.choice(PIECES))
        elif change == "replace":
            pieces[at] = self._chance.choice(PIECES)
        elif len(pieces) > 1:
            del pieces[at]
