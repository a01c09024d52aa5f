"""Few-shot demonstrations as a component of the candidate: picked from the dataset, never from what is selected on.

They are not written by the proposer: a rewriting is another pick, half of it from the examples of the minibatch that
went worst, the rest by chance.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from assay.core.fingerprint import fingerprint
from assay.evaluators.payload import CandidateParts
from assay.optimize.journal import ONE

COMPONENT = "demonstrations"
SHOWN_HERE = "{demonstrations}"
"""Where they go in the text; without it they come before it."""


class Demonstrations:
    """Picks a number of records, always the same ones for the same question."""

    def __init__(self, records: Sequence[dict[str, Any]], count: int, random_seed: int) -> None:
        self._records = records
        self._count = min(count, len(records))
        self._random_seed = random_seed

    def first(self) -> str:
        return self.pick("first", ())

    def pick(self, question: str, worst_first: Sequence[dict[str, Any]]) -> str:
        """The text of a pick; `worst_first` are examples that the current one was tried on."""
        chance = random.Random(fingerprint([self._random_seed, question]))
        picked = list(worst_first[: self._count // 2])
        others = [record for record in self._records if record not in picked]
        picked += chance.sample(others, min(self._count - len(picked), len(others)))
        chance.shuffle(picked)
        return "\n\n".join(map(demonstration_of, picked))


def demonstration_of(record: dict[str, Any]) -> str:
    """A record as the model is shown it: the prompt and its answer, or the record as it is."""
    prompt, targets = record.get("prompt"), record.get("targets")
    if isinstance(prompt, str) and isinstance(targets, list) and targets:
        return f"{prompt}\n{targets[0]}"
    return json.dumps(record, ensure_ascii=False)


def with_demonstrations(candidate: str) -> str:
    """A text and its demonstrations as one text; any other candidate as it is."""
    if not isinstance(candidate, CandidateParts) or set(candidate.components) != {ONE, COMPONENT}:
        return candidate
    text, shown = candidate.components[ONE], candidate.components[COMPONENT]
    return text.replace(SHOWN_HERE, shown) if SHOWN_HERE in text else f"{shown}\n\n{text}"
