"""Evaluators and proposers that follow a script, so that a search is the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Request
from assay.evaluators import Evaluation
from assay.evaluators.payload import failed

WORDS = ["clear", "short", "kind", "exact", "calm"]


class WordEvaluator:
    """The share of the wanted words that the text uses; the example may want others."""

    name = "words"

    def __init__(self, score: Callable[[str, Any], float] | None = None) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.closed = 0
        self._score = score or word_share

    @property
    def identity(self) -> dict[str, Any]:
        return {"words": WORDS, "score": self._score.__qualname__}

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
        self.asked.append((candidate, example))
        score = self._score(candidate, example)
        return Evaluation(score=score, side_info={"missing": missing(candidate, example)})

    async def close(self) -> None:
        self.closed += 1


def wanted(example: Any) -> list[str]:
    return WORDS if example is None else list(example.get("words", WORDS))


def missing(candidate: str, example: Any) -> list[str]:
    return [word for word in wanted(example) if word not in candidate]


def word_share(candidate: str, example: Any) -> float:
    return 1.0 - len(missing(candidate, example)) / len(wanted(example))


def breaking(candidate: str, example: Any) -> float:
    """Worse than nothing where the text is long: it fails."""
    if "boom" in candidate:
        raise failed("words", "exit_code", "the program crashed")
    return word_share(candidate, example) - 5.0


class AddingProposer:
    """Adds the first missing word that the feedback names; says the same to the same prompt."""

    name = "adding"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def generate(self, request: Request) -> Completion:
        prompt = request.text()
        self.asked.append(prompt)
        text = re.search(r"## Current Component.*?```\n(.*?)\n```", prompt, re.DOTALL)
        if text is None:
            return Completion(text="```\nBe clear.\n```", finish_reason="stop")
        lacking = re.search(r"## missing\n### Item 1\n(\w+)", prompt)
        return Completion(text=f"```\n{text[1]} {lacking[1] if lacking else 'well'}\n```", finish_reason="stop")


class SayingProposer:
    """Says its lines one after another, and then the last one again and again. A failure is a line, too."""

    name = "saying"

    def __init__(self, *lines: str | Failure) -> None:
        self._lines = list(lines)
        self.asked: list[str] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request.text())
        line = self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]
        if isinstance(line, Failure):
            raise FailureError(line)
        return Completion(text=line, finish_reason="stop")


def fenced(text: str) -> str:
    return f"```\n{text}\n```"


def refused(kind: str = "refused", message: str = "403: no key") -> Failure:
    return Failure(stage="model", kind=kind, part="saying", message=message)
