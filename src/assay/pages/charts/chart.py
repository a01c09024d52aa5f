"""A chart before it is drawn: scales, marks with their meaning, and the table behind them.

No number is computed here or below: a chart holds what tables and comparisons have measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

Tone = Literal["", "better", "worse", "quiet"]
"""Better and worse than the comparison, where the evidence supports it."""


class Scale(Struct, frozen=True, kw_only=True):
    """A direction with numbers on it."""

    low: float
    high: float
    label: str = ""
    log: bool = False
    form: str = ""
    """How its ticks are written: a key of `ticks.FORMS`; plain numbers by default."""
    names: list[str] = []
    """Labels for 1, 2, 3, … instead of numbers, for things in a row."""


class Bands(Struct, frozen=True, kw_only=True):
    """A direction with names on it, one place for each."""

    names: list[str]
    label: str = ""
    groups: list[str] = []
    """The group label before a name, shown once for neighbours that share it; as many as names, or none."""


Direction: TypeAlias = Scale | Bands


class MarkBase(Struct, frozen=True, kw_only=True):
    """What all marks have: a series, a tooltip, and a link."""

    series: str = ""
    tone: Tone = ""
    tip: str = ""
    link: str = ""


class Dot(MarkBase, frozen=True, kw_only=True):
    """A value; its interval along x or y, where it is known. On bands, the place of a name is its number."""

    x: float
    y: float
    x_interval: tuple[float, float] | None = None
    y_interval: tuple[float, float] | None = None
    size: float = 1.0
    text: str = ""
    """Written next to it."""
    hollow: bool = False


class Curve(MarkBase, frozen=True, kw_only=True):
    """Points joined in their order."""

    points: list[tuple[float, float]]
    dashed: bool = False
    steps: bool = False


class Area(MarkBase, frozen=True, kw_only=True):
    """Everything between a low and a high end, from left to right."""

    points: list[tuple[float, float, float]]
    """x, low, high."""


class Bar(MarkBase, frozen=True, kw_only=True):
    """A box between two places of each direction."""

    x: tuple[float, float]
    y: tuple[float, float]


class Tile(MarkBase, frozen=True, kw_only=True):
    """A place of two bands: a text, on a ground between worse (−1) and better (1)."""

    column: int
    row: int
    text: str
    level: float = 0.0
    strong: bool = False


AnyMark: TypeAlias = Dot | Curve | Area | Bar | Tile


class Behind(Struct, frozen=True, kw_only=True):
    """The chart as a table."""

    header: list[str]
    rows: list[list[str]]
    numeric_from: int = 1


class Chart(Struct, frozen=True, kw_only=True):
    name: str
    """Its file name and anchor."""
    title: str
    x: Direction
    y: Direction
    marks: Sequence[AnyMark]
    behind: Behind
    note: str = ""
    """How to read it, in a sentence or two."""
    series: list[str] = []
    """In the order of the legend; one alone needs none."""
    colours: dict[str, int] = {}
    """Series -> slot; see `colours.py`."""
    full_width: bool = False
    """Of charts with many rows or a long way from left to right."""
