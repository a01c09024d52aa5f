"""One colour and one shape per model: chosen by its name, and used by no other of the models shown together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from types import MappingProxyType

COLOURS = 20
"""As many as `charts.css` has: distinguishable with red-green colour blindness, on light and on dark backgrounds."""
FIRST = 10
"""The first of them differ most; the others are for more models than that."""
SHAPES = 5
SLOTS = COLOURS * SHAPES
"""Colour and shape together, as `colour_of` and `shape_of` read them."""


def colour_of(slot: int) -> int:
    return slot % COLOURS


def shape_of(slot: int) -> int:
    return slot // COLOURS % SHAPES


def colours_of(names: Iterable[str], fixed: Mapping[str, int] = MappingProxyType({})) -> dict[str, int]:
    """A slot for every name; those in `fixed` keep theirs, so that pages about some of the names agree with all others.

    A name has the colour of its hash, unless one before it in the alphabet has that one: then the next free
    one. Only where no colour is free, after twenty names, do names share one, with another shape each.
    """
    wanted = sorted(set(names))
    slots = {name: fixed[name] for name in wanted if name in fixed}
    taken = Counter(map(colour_of, slots.values()))
    displaced = []
    for name in wanted:
        if name in slots:
            continue
        colour, shape = _preferred(name)
        if taken[colour]:
            displaced.append(name)
        else:
            slots[name] = _slot(colour, shape)
            taken[colour] += 1
    for name in displaced:
        preferred, shape = _preferred(name)
        colours = [*((preferred + step) % FIRST for step in range(FIRST)), *range(FIRST, COLOURS)]
        colour = min(colours, key=taken.__getitem__)
        shape = shape if colour < FIRST else colour  # the further colours are closer: neighbours differ in shape
        candidates = [_slot(colour, (shape + step) % SHAPES) for step in range(SHAPES)]
        slots[name] = next((slot for slot in candidates if slot not in slots.values()), candidates[0])
        taken[colour] += 1
    return slots


def _preferred(name: str) -> tuple[int, int]:
    hashed = int.from_bytes(blake2b(name.encode(errors="replace"), digest_size=4).digest(), "big")
    return hashed % FIRST, hashed // FIRST % SHAPES


def _slot(colour: int, shape: int) -> int:
    return shape * COLOURS + colour
