"""Draws any chart as SVG at a given width: axes, legend, marks. Colours are classes, which `charts.css` defines.

Each mark is a group with a title, so a browser shows what it stands for without a script.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from assay.pages.charts.chart import AnyMark, Area, Bands, Bar, Chart, Curve, Direction, Dot, MarkBase, Scale, Tile
from assay.pages.charts.colours import colour_of, shape_of
from assay.pages.charts.drawn import Drawn, node
from assay.pages.charts.ticks import ticks_of
from assay.pages.text_width import cut, width_of

WIDE, ACROSS, NARROW = 560.0, 860.0, 340.0
"""A chart is drawn for half a page or a whole one, and for a phone; a page shows what it has room for, so text does not
shrink with the screen.
"""
LETTER = 7.2
"""About as wide as a letter of the axis is, in pixels."""
ROW, GROUP_ROW, LINE = 24.0, 22.0, 17.0
PLOT_HEIGHT = 270.0


class Frame(NamedTuple):
    """Where the plot lies inside the drawing."""

    left: float
    top: float
    right: float
    bottom: float


class _Places:
    """Where values lie in the drawing, in pixels."""

    def __init__(self, chart: Chart, frame: Frame, rows: list[float], row: float, width: float) -> None:
        self.chart = chart
        self.frame = frame
        self.rows = rows
        """The middles of the rows, where y is made of bands."""
        self.row = row
        """How high a row is."""
        self.width = width
        """Of the whole drawing."""
        self.x = _pixels(chart.x, frame.left, frame.right)
        self.y = self._y_of_row if isinstance(chart.y, Bands) else _pixels(chart.y, frame.bottom, frame.top)
        count = len(chart.x.names) if isinstance(chart.x, Bands) else 1
        self.column = (frame.right - frame.left) / max(count, 1)
        """How wide a column is, where x is made of bands."""
        self.tile_texts = _tile_texts(chart, self.column - 4.0)

    def _y_of_row(self, value: float) -> float:
        place = min(max(math.floor(value + 0.5), 0), len(self.rows) - 1)
        return self.rows[place] + (value - place) * self.row


def _pixels(direction: Direction, start: float, end: float) -> Callable[[float], float]:
    """Where a value of a direction lies between two pixels."""
    length = end - start
    if isinstance(direction, Bands):
        count = max(len(direction.names), 1)
        return lambda value: start + length * (value + 0.5) / count
    low, high = direction.low, direction.high
    if direction.log:
        return lambda value: start + length * (math.log(min(max(value, low), high) / low) / math.log(high / low))
    return lambda value: start + length * ((min(max(value, low), high) - low) / (high - low))


def wide(chart: Chart) -> Drawn:
    return draw(chart, ACROSS if chart.full_width else WIDE)


def draw(chart: Chart, width: float) -> Drawn:
    legend, legend_height = _legend(chart, width)
    places = _layout(chart, width, legend_height + 6.0)
    height = places.frame.bottom + _foot(chart)
    parts: list[Drawn] = [*legend]
    parts += _across(places, chart.x) if isinstance(chart.x, Scale) else _columns(places, chart.x)
    parts += _upwards(places, chart.y) if isinstance(chart.y, Scale) else _names(places, chart.y)
    drawn: list[tuple[float, float, float]] = []
    parts += [_mark(places, mark, drawn) for mark in sorted(chart.marks, key=_layer)]
    return node(
        "svg",
        node("title", chart.title),
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        class_="for-phone" if width <= NARROW else "for-page",
        role="group",
        aria_label=chart.title,
    )


def _layout(chart: Chart, width: float, top: float) -> _Places:
    right = width - 12.0
    if isinstance(chart.y, Bands):
        left = min(max((_width(name) for name in chart.y.names), default=0.0) + 14.0, width * 0.36)
        texts = [_width(_row_text(mark, width)) for mark in chart.marks if isinstance(mark, Dot) and mark.text]
        right -= max(texts) + 12.0 if texts else 0.0
        if isinstance(chart.x, Bands):
            right -= _overhang(chart.x, right - left)
            top += _column_height(chart.x, right - left)
        row = (
            34.0 if isinstance(chart.x, Bands) else 40.0 if any(isinstance(mark, Bar) for mark in chart.marks) else ROW
        )
        rows, bottom = _row_places(chart.y, top, row)
        return _Places(chart, Frame(left, top, right, bottom), rows, row, width)
    left = 12.0 + LETTER * max(width_of(text) for _, text in ticks_of(chart.y)) + (18.0 if chart.y.label else 0.0)
    height = PLOT_HEIGHT if width > NARROW else PLOT_HEIGHT * 0.82
    return _Places(chart, Frame(left, top + 4.0, right, top + 4.0 + height), [], 0.0, width)


def _row_places(bands: Bands, top: float, row: float) -> tuple[list[float], float]:
    places, at, before = [], top, None
    for number in range(len(bands.names)):
        group = bands.groups[number] if bands.groups else None
        if group != before:
            at += GROUP_ROW
            before = group
        places.append(at + row / 2.0)
        at += row
    return places, at + 4.0


def _foot(chart: Chart) -> float:
    if isinstance(chart.x, Bands):
        return 8.0
    return 38.0 if chart.x.label else 22.0


def _legend(chart: Chart, width: float) -> tuple[list[Drawn], float]:
    """Names with their signs, as many lines as they need; a name that shares its sign with another says so."""
    if len(chart.series) < 2:
        return [], 0.0
    parts, x, y = [], 8.0, 12.0
    owners: dict[int, str] = {}
    for name in chart.series:
        owner = owners.setdefault(chart.colours.get(name, 0), name)
        text = _fitted(name if owner == name else f"{name} (same sign as {owner})", (width - 40.0))
        if x > 8.0 and x + 16.0 + _width(text) > width:
            x, y = 8.0, y + LINE
        slot = chart.colours.get(name, 0)
        sign = _sign(slot, x + 5.0, y - 4.0, 4.5, hollow=False)
        parts.append(node("g", sign, node("text", text, x=x + 15.0, y=y), class_=f"m-key {_colour(slot)}"))
        x += 15.0 + _width(text) + 18.0
    return parts, y + 10.0


def _across(places: _Places, scale: Scale) -> list[Drawn]:
    """The axis below, with lines over the whole plot."""
    frame = places.frame
    parts = []
    last = -math.inf
    for value, text in ticks_of(scale, 6 if frame.right - frame.left > 300 else 4):
        x = places.x(value)
        parts.append(_rule(x, frame.top, x, frame.bottom))
        half = _width(text) / 2.0
        if x - half > last + 4.0:
            anchor, at = ("end", frame.right + 10.0) if x + half > frame.right + 10.0 else ("middle", x)
            parts.append(node("text", text, x=at, y=frame.bottom + 15.0, text_anchor=anchor))
            last = x + half
    if scale.label:
        middle = (frame.left + frame.right) / 2.0
        parts.append(
            node("text", scale.label, x=middle, y=frame.bottom + 32.0, text_anchor="middle", class_="m-axis-label")
        )
    if scale.low < 0.0 < scale.high:
        parts.append(node("line", x1=places.x(0.0), x2=places.x(0.0), y1=frame.top, y2=frame.bottom, class_="m-zero"))
    return parts


def _upwards(places: _Places, scale: Scale) -> list[Drawn]:
    """The axis to the left."""
    frame = places.frame
    parts = []
    for value, text in ticks_of(scale):
        y = places.y(value)
        parts.append(_rule(frame.left, y, frame.right, y))
        parts.append(node("text", text, x=frame.left - 7.0, y=y + 4.0, text_anchor="end"))
    if scale.label:
        turned = f"translate(11 {(frame.top + frame.bottom) / 2.0:.1f}) rotate(-90)"
        parts.append(node("text", scale.label, transform=turned, text_anchor="middle", class_="m-axis-label"))
    if scale.low < 0.0 < scale.high:
        parts.append(node("line", x1=frame.left, x2=frame.right, y1=places.y(0.0), y2=places.y(0.0), class_="m-zero"))
    return parts


def _names(places: _Places, bands: Bands) -> list[Drawn]:
    """The names of rows, and of groups of rows above them."""
    frame, before, parts = places.frame, None, []
    for number, name in enumerate(bands.names):
        y = places.rows[number]
        group = bands.groups[number] if bands.groups else None
        if group is not None and group != before:
            top = y - places.row / 2.0 - 6.0
            shown = _fitted(group, (frame.right - 8.0))
            parts.append(node("text", shown, node("title", group), x=4.0, y=top, class_="m-group"))
        before = group
        shown = _fitted(name, (frame.left - 12.0))
        title = node("title", name) if shown != name else None
        parts.append(node("text", shown, title, x=frame.left - 9.0, y=y + 4.0, text_anchor="end", class_="m-name"))
    return parts


def _column_height(bands: Bands, width: float) -> float:
    return 22.0 if not _turned(bands, width) else min(_longest(bands), 110.0) * 0.72 + 18.0


def _overhang(bands: Bands, width: float) -> float:
    """How far the turned name of the last column reaches beyond it."""
    if not _turned(bands, width):
        return 0.0
    return max(min(_width(bands.names[-1]), 110.0) * 0.72 - width / len(bands.names) / 2.0, 0.0)


def _turned(bands: Bands, width: float) -> bool:
    return _longest(bands) > width / max(len(bands.names), 1) - 6.0


def _longest(bands: Bands) -> float:
    return max((_width(name) for name in bands.names), default=0.0)


def _columns(places: _Places, bands: Bands) -> list[Drawn]:
    """The names of columns, turned where they are too long to stand side by side."""
    frame, parts = places.frame, []
    turned = _turned(bands, frame.right - frame.left)
    for number, name in enumerate(bands.names):
        x, y = places.x(number), frame.top - 8.0
        shown = _fitted(name, 110.0) if turned else name
        title = node("title", name) if shown != name else None
        if turned:
            where = f"translate({x + 3.0:.1f} {y:.1f}) rotate(-45)"
            parts.append(node("text", shown, title, transform=where, class_="m-name"))
        else:
            parts.append(node("text", shown, title, x=x, y=y, text_anchor="middle", class_="m-name"))
    return parts


_LAYERS: dict[type, int] = {Area: 0, Bar: 1, Tile: 1, Curve: 2, Dot: 3}


def _layer(mark: AnyMark) -> int:
    """Areas lie under lines, lines under dots."""
    return _LAYERS[type(mark)]


def _mark(places: _Places, mark: AnyMark, texts: list[tuple[float, float, float]]) -> Drawn:
    parts = _parts(places, mark, texts)
    tip = node("title", mark.tip) if mark.tip else None
    return node("g", tip, *parts, class_=_classes(places.chart, mark), data_link=mark.link or None)


def _parts(places: _Places, mark: AnyMark, texts: list[tuple[float, float, float]]) -> list[Drawn]:
    match mark:
        case Dot():
            return _dot(places, mark, texts)
        case Curve():
            return [node("path", d=_path(places, mark), class_="m-line dashed" if mark.dashed else "m-line")]
        case Area():
            return [node("path", d=_outline(places, mark), class_="m-area")]
        case Bar():
            (left, right), (low, high) = (places.x(item) for item in mark.x), sorted(places.y(item) for item in mark.y)
            return [
                node(
                    "rect", x=left, y=low, width=max(right - left - 0.5, 0.5), height=max(high - low, 0), class_="m-bar"
                )
            ]
        case Tile():
            return _tile(places, mark)


def _dot(places: _Places, mark: Dot, texts: list[tuple[float, float, float]]) -> list[Drawn]:
    x, y = places.x(mark.x), places.y(mark.y)
    parts = []
    if mark.x_interval is not None:
        low, high = (places.x(item) for item in mark.x_interval)
        whiskers = f"M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8"
        parts.append(node("path", d=whiskers, class_="m-span"))
    if mark.y_interval is not None:
        low, high = (places.y(item) for item in mark.y_interval)
        whiskers = f"M{x:.1f} {low:.1f}V{high:.1f}M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"
        parts.append(node("path", d=whiskers, class_="m-span"))
    slot = places.chart.colours.get(mark.series, 0)
    parts.append(_sign(slot, x, y, 4.8 * mark.size, hollow=mark.hollow))
    # a finger or a pointer needs a larger target than the sign
    parts.append(node("circle", cx=x, cy=y, r=12.0, class_="m-reach"))
    if mark.text:
        parts += _beside(places, mark, x, y, texts)
    return parts


def _beside(places: _Places, mark: Dot, x: float, y: float, texts: list[tuple[float, float, float]]) -> list[Drawn]:
    """The text of a dot: in a column to the right of rows; else next to it, where it covers no other text."""
    frame, width = places.frame, _width(mark.text)
    if isinstance(places.chart.y, Bands):
        text = _row_text(mark, places.width)
        return [node("text", text, x=places.width - 4.0, y=y + 4.0, text_anchor="end", class_="m-value")]
    # above the line that joins the front, which leaves a dot to its right
    for dx, dy in ((9.0, -8.0), (9.0, 4.0), (9.0, 16.0), (-9.0 - width, 4.0), (-9.0 - width, -8.0), (-width / 2, 20.0)):
        left, base = x + dx, y + dy
        inside = left >= frame.left and left + width <= frame.right + 8.0 and frame.top + 8 <= base <= frame.bottom - 2
        clear = all(abs(base - other) > 12.0 or left > end or left + width < start for start, end, other in texts)
        if inside and clear:
            texts.append((left, left + width, base))
            return [node("text", mark.text, x=left, y=base, class_="m-value")]
    return []


def _tile(places: _Places, mark: Tile) -> list[Drawn]:
    width = places.column
    x, y = places.frame.left + width * mark.column, places.rows[mark.row]
    ground = "up" if mark.level > 0 else "down" if mark.level < 0 else "level"
    opacity = None if not mark.level else 0.12 + 0.5 * min(abs(mark.level), 1.0)
    return [
        node(
            "rect",
            x=x + 1.0,
            y=y - places.row / 2.0 + 1.0,
            width=width - 2.0,
            height=places.row - 2.0,
            rx=3.0,
            class_=f"m-tile {ground}",
            fill_opacity=opacity,
        ),
        node(
            "text",
            places.tile_texts[mark.text],
            x=x + width / 2.0,
            y=y + 4.0,
            text_anchor="middle",
            class_="m-strong" if mark.strong else "m-in",
        ),
    ]


def _tile_texts(chart: Chart, room: float) -> dict[str, str]:
    """Values as all tiles of the chart have room for them: with their unit, without, or narrow; at worst no text."""
    texts = {mark.text for mark in chart.marks if isinstance(mark, Tile)}
    for shorten in (str, _without_unit):
        if all(_width(shorten(text)) <= room for text in texts):
            return {text: shorten(text) for text in texts}
    return {text: _narrow(text, room) for text in texts}


def _narrow(text: str, room: float) -> str:
    number, _, sign = _without_unit(text).partition(" ")
    return next((shown for shown in (f"{number}{sign}", number) if _width(shown) <= room), "")


def _without_unit(text: str) -> str:
    return text.replace(" %", "")


def _path(places: _Places, mark: Curve) -> str:
    steps = []
    for number, (x, y) in enumerate(mark.points):
        at = f"{places.x(x):.1f} {places.y(y):.1f}"
        if number == 0:
            steps.append(f"M{at}")
        elif mark.steps:
            steps.append(f"H{places.x(x):.1f}V{places.y(y):.1f}")
        else:
            steps.append(f"L{at}")
    return "".join(steps)


def _outline(places: _Places, mark: Area) -> str:
    above = [f"{places.x(x):.1f} {places.y(high):.1f}" for x, _, high in mark.points]
    below = [f"{places.x(x):.1f} {places.y(low):.1f}" for x, low, _ in reversed(mark.points)]
    return f"M{'L'.join(above)}L{'L'.join(below)}Z"


def _sign(slot: int, x: float, y: float, size: float, *, hollow: bool) -> Drawn:
    """Circle, square, triangle, diamond or cross: colour is never the only difference."""
    class_ = "m-sign hollow" if hollow else "m-sign"
    shape = shape_of(slot)
    if shape == 0:
        return node("circle", cx=x, cy=y, r=size, class_=class_)
    if shape == 1:
        side = size * 0.9
        return node("rect", x=x - side, y=y - side, width=2 * side, height=2 * side, class_=class_)
    r = size * 1.25
    paths = {
        2: f"M{x:.1f} {y - r:.1f}L{x + r:.1f} {y + r * 0.8:.1f}H{x - r:.1f}Z",
        3: f"M{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}L{x - r:.1f} {y:.1f}Z",
        4: f"M{x - r:.1f} {y - r * 0.8:.1f}H{x + r:.1f}L{x:.1f} {y + r:.1f}Z",
    }
    return node("path", d=paths[shape], class_=class_)


def _classes(chart: Chart, mark: MarkBase) -> str:
    colour = _colour(chart.colours[mark.series]) if mark.series in chart.colours else ""
    return " ".join([part for part in ("m", colour, mark.tone) if part])


def _colour(slot: int) -> str:
    return f"s{colour_of(slot)}"


def _rule(x1: float, y1: float, x2: float, y2: float) -> Drawn:
    return node("line", x1=x1, y1=y1, x2=x2, y2=y2, class_="m-rule")


def _fitted(text: str, width: float) -> str:
    return text if _width(text) <= width else cut(text, int(width / LETTER))


def _row_text(mark: Dot, width: float) -> str:
    """The value and its interval; on a phone the value alone."""
    return mark.text if width > NARROW else mark.text.split(" ")[0]


def _width(text: str) -> float:
    """About as wide as the text is drawn; fonts differ, so this errs on the wide side."""
    narrow = sum(letter in "iljtfrI1.,:;'|()[] " for letter in text)
    broad = sum(letter in "mwMW%@…—" for letter in text)
    return LETTER * width_of(text) - 2.0 * narrow + 3.5 * broad + 1.0
