"""Numbers as people read them: the same cases hold the scripts of the pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import assay
from assay.core.types import Bounds, Summary
from assay.text import numbers

CASES = json.loads((Path(__file__).parent / "number_cases.json").read_text(encoding="utf-8"))
SOURCE = Path(assay.__file__).parent
A_FORMAT_OF_ITS_OWN = re.compile(r":[+z]*\.[34]f\}|\.\d%\}|toFixed\(|toPrecision\(|toLocaleString\(")
NOT_FOR_READERS = {"pages/junit.py", "viewer/static/static_data.js"}
"""Seconds in JUnit's XML, the edges of bins."""


@pytest.mark.parametrize(("form", "given", "text"), CASES)
def test_a_number_is_written_as_its_case_says(form: str, given: list[float | None], text: str) -> None:
    assert getattr(numbers, form)(*given) == text


def test_intervals_have_both_ends_or_a_dash() -> None:
    assert numbers.interval(Bounds(low=-0.00001, high=0.25)) == "0.000 – 0.250"
    assert numbers.signed_interval(Bounds(low=-0.5, high=0.25)) == "-0.500 – +0.250"
    assert numbers.interval(None) == numbers.signed_interval(Summary(name="mean", value=0.5, scored=1)) == "–"


def test_a_p_value_in_a_sentence_has_its_sign() -> None:
    assert [numbers.equals_p(p) for p in (0.03, 0.00001)] == ["p = 0.030", "p < 0.0001"]


def test_a_difference_on_an_axis_has_its_sign() -> None:
    assert [numbers.short_signed(value) for value in (0.25, 0.0, -1500.0)] == ["+0.25", "0", "-1.5k"]


def test_the_level_of_an_interval_is_a_share_in_percent() -> None:
    assert [numbers.level_text(share) for share in (0.95, 1 - 0.05 / 3)] == ["95 %", "98.33 %"]


def test_what_shows_numbers_writes_them_by_the_one_table() -> None:
    shown = [path for room in ("pages", "results", "viewer") for path in sorted((SOURCE / room).rglob("*.*"))]
    texts = {
        path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
        for path in shown
        if path.suffix in (".py", ".js") and "vendor" not in path.parts
    }
    assert len(texts) > 150
    formats = {name for name, text in texts.items() if A_FORMAT_OF_ITS_OWN.search(text)}
    assert formats - NOT_FOR_READERS == {"viewer/static/numbers.js"}
