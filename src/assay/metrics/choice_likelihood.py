"""Which of several choices a model finds likeliest, under each of the field's normalisations. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Item = Mapping[str, Any]
"""`choice`, its `logprob` after the prompt, optionally its `unconditional_logprob`, and the `text` that was scored
where that is not the choice itself."""


def pick(items: Sequence[Item], normalize: str = "raw") -> int:
    """The index of the likeliest choice; the first one wins a tie.

    Misleads when choices differ in length: `raw` favours short ones, `per_character` and `per_byte` undo most of
    that, `unconditional` asks instead how much likelier the prompt made each.
    Example: pick([{"choice": "no", "logprob": -2.0}, {"choice": "certainly", "logprob": -3.0}], "per_character") == 1
    Reference: `raw`, `per_character`, `unconditional`: Brown et al. 2020, section 2.4; Holtzman et al. 2021.
    """
    values = [NORMALIZATIONS[normalize](item) for item in items]
    return values.index(max(values))


def probability_of(items: Sequence[Item], right: Iterable[int]) -> float:
    """The share of the probability of all choices that falls on the right ones.

    Misleads when choices differ in length: long ones are unlikely, right or wrong.
    Example: probability_of([{"choice": "a", "logprob": -900.0}, {"choice": "b", "logprob": -900.0}], {1}) == 0.5
    Reference: Lin et al. 2022, TruthfulQA, MC2.
    """
    highest = max(float(item["logprob"]) for item in items)  # or all of them underflow
    if highest == -math.inf:
        return 0.0
    shares = [math.exp(float(item["logprob"]) - highest) for item in items]
    return min(1.0, sum(shares[place] for place in set(right)) / sum(shares))


def _scored(item: Item) -> str:
    return str(item.get("text", item["choice"]))


NORMALIZATIONS: dict[str, Callable[[Item], float]] = {
    "raw": lambda item: float(item["logprob"]),
    "per_character": lambda item: float(item["logprob"]) / max(1, len(_scored(item))),
    "per_byte": lambda item: float(item["logprob"]) / max(1, len(_scored(item).encode("utf-8", "surrogatepass"))),
    "unconditional": lambda item: float(item["logprob"]) - float(item["unconditional_logprob"]),
}


def target_place(target: str, choices: Sequence[str]) -> int | None:
    """Which choice a target means: its text, else its letter (A is the first), else its number (0 is the first).

    Example: target_place("B", ["red", "blue"]) == 1
    """
    if target in choices:
        return choices.index(target)
    text = target.strip()
    place = ord(text.upper()) - ord("A") if len(text) == 1 and text.isascii() and text.isalpha() else -1
    if text.isascii() and text.isdigit():
        place = int(text)
    return place if 0 <= place < len(choices) else None
