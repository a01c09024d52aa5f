"""Multiple choice with letters, as benchmarks print it, and a fixed shuffle where the right answer comes first."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from string import ascii_uppercase


def lettered(choices: Sequence[str], form: str = "{letter}. {choice}") -> str:
    """The choices below each other, each with its letter."""
    return "\n".join(form.format(letter=ascii_uppercase[place], choice=each) for place, each in enumerate(choices))


def letter_at(place: int, choices: Sequence[str]) -> str:
    """The letter of a choice; an index out of range, such as -1 for a label that is not public, is an error."""
    if not 0 <= place < len(choices):
        raise ValueError(f"the right choice is number {place}, counted from 0, of {len(choices)}")
    return ascii_uppercase[place]


def shuffled(right: str, wrong: Sequence[str], seed_text: str) -> tuple[list[str], str]:
    """All choices in an order that depends on the question alone, and the letter of the right one."""
    choices = [right, *wrong]
    order = list(range(len(choices)))
    seed = int.from_bytes(hashlib.sha256(seed_text.encode()).digest()[:8], "big")
    random.Random(seed).shuffle(order)
    return [choices[place] for place in order], ascii_uppercase[order.index(0)]
