"""The keys of scorers and metrics: given, or made of their types."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count


def scorer_keys(scorers: Sequence[tuple[str | None, str]]) -> list[str]:
    """The key of every scorer, given as key and type; one without is called by its type, numbered on repeats."""
    taken = {key for key, _ in scorers if key}
    names: list[str] = []
    for key, kind in scorers:
        name = key or free_name(short_name(kind), taken)
        taken.add(name)
        names.append(name)
    return names


def short_name(use: str) -> str:
    """The default key of a part: its type, without the module of a custom one or the hash of a function."""
    return use.rpartition(":")[2].partition("@")[0]


def free_name(wanted: str, taken: set[str]) -> str:
    """The name itself, or with `_2`, `_3`, … when it is taken."""
    numbered = (f"{wanted}_{number}" for number in count(2))
    return next(name for name in chain([wanted], numbered) if name not in taken)
