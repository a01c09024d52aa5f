"""A colour per model: given by the name, distinct, and told apart by everybody on both grounds."""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.pages.charts.colours import COLOURS, FIRST, SHAPES, SLOTS, colour_of, colours_of, shape_of

STYLES = resources.files("assay.pages.charts").joinpath("charts.css").read_text(encoding="utf-8")
LIGHT, DARK, PRINT = (dict(re.findall(r"--(s\d+): (#\w{6});", part)) for part in re.split("@media", STYLES)[:3:1])
VISION = {
    "usual": np.eye(3),
    # Machado, Oliveira and Fernandes 2009, severity 1
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
}


NAMES = [f"model-{n:02}" for n in range(200)]


def alike(colour: int) -> list[str]:
    """Names that ask for one colour."""
    return [name for name in NAMES if colour_of(colours_of([name])[name]) == colour]


def test_as_many_models_as_there_are_colours_have_one_each_whatever_their_names_ask_for() -> None:
    for names in (alike(2)[:COLOURS], NAMES[:COLOURS], NAMES[30 : 30 + COLOURS]):
        assert len({colour_of(slot) for slot in colours_of(names).values()}) == len(names), names
    assert max(map(colour_of, colours_of(NAMES[:FIRST]).values())) < FIRST, "those that differ most come first"


def test_a_name_keeps_its_colour_in_any_order_and_where_nobody_else_asks_for_it() -> None:
    assert colours_of(NAMES) == colours_of(reversed(NAMES))
    first, second = alike(2)[:2]
    found = colours_of([first, second, alike(3)[0], alike(7)[0]])
    assert [colour_of(found[name]) for name in (first, alike(3)[0], alike(7)[0])] == [2, 3, 7]
    assert colour_of(found[second]) == 4, "the next that nobody asks for"


def test_colours_that_are_fixed_stay_and_names_next_to_them_get_others() -> None:
    everywhere = colours_of(alike(2)[:4])
    first, second, _, last = everywhere
    assert colours_of([last, second], everywhere) == {name: everywhere[name] for name in (second, last)}
    beside = colours_of([first, f"{first} (again)"], everywhere)
    assert beside[first] == everywhere[first]
    assert len({colour_of(slot) for slot in beside.values()}) == 2


def test_models_of_one_colour_differ_in_shape_where_there_are_more_models_than_colours() -> None:
    found = colours_of(NAMES[:SLOTS])
    assert {(colour_of(slot), shape_of(slot)) for slot in found.values()} == {
        (colour, shape) for colour in range(COLOURS) for shape in range(SHAPES)
    }
    assert len(colours_of(NAMES)) == len(NAMES)


def linear(colour: str) -> NDArray[np.float64]:
    share = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    levels = sorted(float(linear(each) @ np.array([0.2126, 0.7152, 0.0722])) + 0.05 for each in (one, other))
    return levels[1] / levels[0]


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    xyz = rgb @ np.array([[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]])
    scaled = xyz / np.array([0.9505, 1.0, 1.089])
    f = np.where(scaled > 0.008856, np.cbrt(np.maximum(scaled, 0.0)), 7.787 * scaled + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(("palette", "ground"), [(LIGHT, "#ffffff"), (DARK, "#191e28"), (DARK, "#14171a")])
def test_every_colour_stands_out_from_its_ground(palette: dict[str, str], ground: str) -> None:
    assert len(palette) == COLOURS
    assert {name: contrast(colour, ground) for name, colour in palette.items() if contrast(colour, ground) < 3.0} == {}


@pytest.mark.parametrize("palette", [LIGHT, DARK])
@pytest.mark.parametrize("vision", VISION)
def test_no_two_colours_look_alike_to_anybody(palette: dict[str, str], vision: str) -> None:
    seen = [lab(np.clip(VISION[vision] @ linear(colour), 0.0, 1.0)) for colour in palette.values()]
    for first, apart in ((FIRST, 20.0), (COLOURS, 15.0)):
        pairs = [(a, b) for place, a in enumerate(seen[:first]) for b in seen[:place]]
        assert min(float(np.linalg.norm(a - b)) for a, b in pairs) > apart
