"""One renderer for every chart: what lies where, what is written, and that nothing leaves the drawing."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from msgspec.structs import replace

from assay.pages.charts.chart import Bands, Bar, Behind, Chart, Curve, Dot, Scale, Tile
from assay.pages.charts.colours import SLOTS, colours_of
from assay.pages.charts.drawn import ELEMENTS, Drawn, node
from assay.pages.charts.figure import figure, plain_figure
from assay.pages.charts.svg import ACROSS, NARROW, WIDE, draw

BEHIND = Behind(header=["model", "score"], rows=[["a", "0.5"]])


def rows(*dots: Dot, names: int = 2, groups: list[str] | None = None, low: float = 0.0) -> Chart:
    bands = Bands(names=[f"model {n}" for n in range(names)], groups=groups or [])
    return Chart(name="x", title="X", x=Scale(low=low, high=1.0), y=bands, marks=dots, behind=BEHIND)


def every(found: Drawn, name: str) -> list[Drawn]:
    below = [each for child in found.children if isinstance(child, Drawn) for each in every(child, name)]
    return [found, *below] if found.name == name else below


def texts(found: Drawn) -> list[str]:
    return ["".join(child for child in each.children if isinstance(child, str)) for each in every(found, "text")]


def sign_places(found: Drawn) -> list[float]:
    return [float(each.attributes["cx"]) for each in every(found, "circle") if each.attributes["class"] == "m-sign"]


def test_values_lie_where_the_scale_says_and_inside_the_drawing() -> None:
    drawn = draw(rows(*(Dot(x=x, y=0) for x in (0.0, 0.5, 1.0))), WIDE)
    low, middle, high = sign_places(drawn)
    assert middle == pytest.approx((low + high) / 2, abs=0.01)
    assert 0.0 < low < high < WIDE


def test_a_value_beyond_the_scale_stays_at_its_end() -> None:
    drawn = draw(rows(Dot(x=1.0, y=0), Dot(x=7.0, y=1)), WIDE)
    assert len(set(sign_places(drawn))) == 1


def test_on_a_log_scale_equal_factors_are_equal_ways() -> None:
    scale = Scale(low=1.0, high=100.0, log=True)
    dots = [Dot(x=x, y=0) for x in (1.0, 10.0, 100.0)]
    chart = Chart(name="x", title="X", x=scale, y=Bands(names=["a"]), marks=dots, behind=BEHIND)
    low, middle, high = sign_places(draw(chart, WIDE))
    assert middle == pytest.approx((low + high) / 2, abs=0.01)


def test_a_group_is_named_once_above_its_rows() -> None:
    groups = ["first task", "first task", "second task"]
    drawn = draw(rows(Dot(x=0.5, y=0), names=3, groups=groups), WIDE)
    assert texts(drawn).count("first task") == 1
    assert texts(drawn).count("second task") == 1


def test_a_scale_around_zero_has_a_line_there() -> None:
    zero = [
        each
        for each in every(draw(rows(Dot(x=0.0, y=0), low=-1.0), WIDE), "line")
        if each.attributes["class"] == "m-zero"
    ]
    assert len(zero) == 1
    assert not [
        each for each in every(draw(rows(Dot(x=0.0, y=0)), WIDE), "line") if each.attributes["class"] == "m-zero"
    ]


@pytest.mark.parametrize("width", [NARROW, WIDE, ACROSS])
def test_no_text_is_longer_than_the_room_it_has(width: float) -> None:
    long = "a-very-long-model-name-" * 6
    chart = Chart(
        name="x",
        title="X",
        x=Bands(names=[long, "b"]),
        y=Bands(names=[long, "b"]),
        marks=[Tile(column=0, row=0, text="0.500 ▲")],
        behind=BEHIND,
        series=[long, "b"],
    )
    assert all(len(text) * 5.0 < width for text in texts(draw(chart, width)))


def test_a_phone_shows_the_value_without_its_interval() -> None:
    chart = rows(Dot(x=0.5, y=0, text="0.500 (0.400 – 0.600)"))
    assert "0.500 (0.400 – 0.600)" in texts(draw(chart, WIDE))
    assert "0.500" in texts(draw(chart, NARROW))


def test_texts_next_to_points_do_not_cover_each_other() -> None:
    dots = [Dot(x=0.5 + n / 1000, y=0.5, text=f"model {n}") for n in range(4)]
    scale = Scale(low=0.0, high=1.0)
    drawn = draw(Chart(name="x", title="X", x=scale, y=scale, marks=dots, behind=BEHIND), WIDE)
    placed = [each for each in every(drawn, "text") if each.attributes.get("class") == "m-value"]
    heights = sorted(float(each.attributes["y"]) for each in placed if float(each.attributes["x"]) > WIDE / 2)
    assert all(after - before > 10 for before, after in pairwise(heights))


@pytest.mark.parametrize(
    ("columns", "written"),
    [(4, ["52 %", "79 % ▲", "100 % ▲"]), (11, ["52", "79 ▲", "100 ▲"]), (19, ["52", "79▲", "100"]), (40, ["", "", ""])],
)
def test_the_texts_of_tiles_get_shorter_together_and_keep_their_sign_longest(columns: int, written: list[str]) -> None:
    texts_of = ["52 %", "79 % ▲", "100 % ▲"]
    marks = [Tile(column=place, row=0, text=text) for place, text in enumerate(texts_of)]
    names = Bands(names=[f"m{n:02}" for n in range(columns)])
    chart = Chart(name="x", title="X", x=names, y=Bands(names=["r"]), marks=marks, behind=BEHIND)
    inside = [each for each in every(draw(chart, WIDE), "text") if each.attributes.get("class") == "m-in"]
    assert ["".join(map(str, each.children)) for each in inside] == written


def test_one_series_needs_no_legend_and_two_have_one() -> None:
    dots = [Dot(x=0.5, y=0, series="a"), Dot(x=0.6, y=1, series="b")]
    one = Chart(name="x", title="X", x=Scale(low=0, high=1), y=Bands(names=["r"]), marks=dots, behind=BEHIND)
    assert not re.search('class="m-key', figure(one))
    two = Chart(
        name="x",
        title="X",
        x=Scale(low=0, high=1),
        y=Bands(names=["r"]),
        marks=dots,
        behind=BEHIND,
        series=["a", "b"],
        colours={"a": 0, "b": 1},
    )
    assert figure(two).count('class="m-key') == 4, "at both widths"


def test_the_legend_says_who_shares_a_sign() -> None:
    names = [f"model-{n:03}" for n in range(SLOTS + 2)]
    legend = texts(draw(replace(rows(), series=names, colours=colours_of(names)), WIDE))
    assert sum("(same sign as model-" in text for text in legend) == 2
    few = names[:SLOTS]
    assert "same sign" not in str(texts(draw(replace(rows(), series=few, colours=colours_of(few)), WIDE)))


def test_a_mark_says_what_it_stands_for_and_text_stays_text() -> None:
    chart = rows(Dot(x=0.5, y=0, tip="<script>alert(1)</script>"))
    page = figure(chart)
    assert "&lt;script&gt;" in page
    assert "<script" not in page


def test_the_viewer_gets_lists_of_known_elements_only() -> None:
    scale = Scale(low=0.0, high=1.0)
    marks = [Dot(x=0.5, y=0.5), Curve(points=[(0.0, 0.0), (1.0, 1.0)]), Bar(x=(0.1, 0.2), y=(0.0, 1.0))]
    found = plain_figure(Chart(name="x", title="X", x=scale, y=scale, marks=marks, behind=BEHIND))

    def names(part: list[object] | str) -> set[str]:
        if isinstance(part, str):
            return set()
        name, _, children = part
        return {str(name)}.union(*(names(child) for child in children))  # type: ignore[attr-defined]

    assert names(found["wide"]) | names(found["narrow"]) <= ELEMENTS
    with pytest.raises(ValueError, match="not made of"):
        node("script")


def test_the_table_behind_is_on_the_page() -> None:
    page = figure(rows(Dot(x=0.5, y=0)))
    assert '<details class="behind"><summary>Table</summary>' in page
    assert "<td" in page
