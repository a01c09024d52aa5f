"""One colour and one shape per model, the same on every page: given by its name, not by its place in a list."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

COLOURS = 7
"""As many as `charts.css` has: told apart by people who see no red or no green, on light and on dark ground."""
SHAPES = 5
SLOTS = COLOURS * SHAPES
"""Colour and shape together; 7 and 5 share no factor, so neighbours differ in both."""


def colours_of(names: Iterable[str]) -> dict[str, int]:
    """A slot for every name: the one its hash asks for, or the next free one. More names than slots share them.

    Whoever was there first by the alphabet keeps the place, so the same set of names has the same colours everywhere.
    """
    found: dict[str, int] = {}
    taken: set[int] = set()
    for name in sorted(set(names)):
        wanted = int.from_bytes(blake2b(name.encode(errors="replace"), digest_size=4).digest(), "big") % COLOURS
        order = [(wanted + step) % COLOURS + COLOURS * turn for turn in range(SHAPES) for step in range(COLOURS)]
        slot = next((each for each in order if each not in taken), wanted)
        taken.add(slot)
        found[name] = slot
    return found
