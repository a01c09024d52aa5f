"""Text is as wide as a terminal shows it, and is cut and broken there."""

from __future__ import annotations

import pytest

from assay.pages.text_width import broken_at_words, cut, cut_apart, line_breaks, width_of


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("plain", 5),
        ("größer – 1", 10),
        ("算数", 4),
        ("ＡＢ", 4),
        ("e\u0301te\u0301", 3),
        ("a\u200db", 2),
        ("한국", 4),
    ],
)
def test_wide_characters_take_two_columns_and_marks_none(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize("text", ["a long name", "算数の問題セット", "e\u0301e\u0301e\u0301e\u0301", "mixed 算数 text"])
@pytest.mark.parametrize("width", range(1, 9))
def test_what_is_cut_fits_and_says_so(text: str, width: int) -> None:
    shown = cut(text, width)
    assert width_of(shown) <= width
    assert shown == text or shown.endswith("…")


def test_a_mark_stays_with_the_character_it_stands_on() -> None:
    assert cut("e\u0301e\u0301e\u0301", 2) == "e\u0301…"


@pytest.mark.parametrize("text", ["one two three", "averylongwordwithoutspaces and more", "算数の問題 セット", "a  b"])
@pytest.mark.parametrize("width", range(2, 12))
def test_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    lines = [text[start:end] for start, end in line_breaks(text, width)]
    assert all(0 < width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_line_ends_between_words_where_it_can() -> None:
    assert [("one two three"[start:end]) for start, end in line_breaks("one two three", 8)] == ["one two", "three"]


def test_a_character_wider_than_the_line_stands_alone() -> None:
    assert line_breaks("算数", 1) == [(0, 1), (1, 2)]


def test_lines_are_broken_at_words_of_any_width_and_words_never() -> None:
    assert broken_at_words("short enough", 12) == "short enough"
    assert broken_at_words("  two  three four", 9) == "  two\n  three\n  four"
    assert broken_at_words("猫が いる 家", 6) == "猫が\nいる\n家"
    assert broken_at_words("a/long/path", 4) == "a/long/path"


def test_names_that_are_cut_never_look_the_same() -> None:
    names = ["very-long-task-name-with-many-words-00", "very-long-task-name-with-many-words-10", "short"]
    assert cut_apart(names, [16] * 3) == ["very-lon…ords-00", "very-lon…ords-10", "short"]
    alike = ["same beginning, one middle, same end", "same beginning, two middle, same end"]
    assert cut_apart(alike, [12, 12]) == ["1 same begi…", "2 same begi…"]
    assert cut_apart(["one", "one"], [2, 2]) == ["o…", "o…"], "the same name is no collision"
