"""Patterns: the same answer as `re` gives, or an error in bounded time."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.patterns import matching
from assay.patterns.matching import (
    BadPatternError,
    PatternTimeoutError,
    pattern_found,
    selected_match,
    substitute,
)

CATASTROPHE = r"(a+)+$"
UNLUCKY = "a" * 60 + "!"


@given(
    pattern=st.lists(st.sampled_from([*"abA1 .|^$()*+?[]{}-,", "\\b", "\\w", "\\d", "(?i)", "é"]), max_size=6).map(
        "".join
    ),
    text=st.text(alphabet="abA1 é\n.-", max_size=8),
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_answer_is_that_of_re_search(pattern: str, text: str) -> None:
    try:
        expected = re.search(pattern, text) is not None
    except re.error:
        with pytest.raises(ValueError, match="bad regular expression"):
            pattern_found(pattern, text)
    else:
        assert pattern_found(pattern, text) is expected


def test_a_catastrophic_pattern_is_an_error_that_names_it_and_the_next_search_works() -> None:
    with pytest.raises(PatternTimeoutError, match=re.escape(repr(CATASTROPHE))):
        pattern_found(CATASTROPHE, UNLUCKY)
    assert pattern_found(CATASTROPHE, "aaa") is True
    assert pattern_found("(b+)+$", "aaa") is False


HOSTILE = [
    (r"(\w+\s?)+$", "word " * 20 + "!"),
    ("a?" * 30 + "a" * 30, "a" * 30),
    (r"(a|aa)+$", "a" * 60 + "!"),
    (r".*.*.*.*b", "a" * 3000),
    (r"\d+x", "1" * 500_000),  # a search that does not look at signals
    (r"(.*)\1b", "ab" * 50_000),
]


@pytest.mark.parametrize(("pattern", "text"), HOSTILE)
def test_every_operation_stops_a_hostile_pattern(pattern: str, text: str) -> None:
    for operation in (
        lambda: pattern_found(pattern, text),
        lambda: selected_match(pattern, text),
        lambda: substitute(pattern, "", text),
    ):
        with pytest.raises(PatternTimeoutError, match="rewrite it"):
            operation()


def test_a_pattern_that_used_up_its_time_often_gets_less_of_it_and_keeps_its_verdicts() -> None:
    pattern = r"(b+)+$"
    for _ in range(matching.PATIENCE):
        with pytest.raises(PatternTimeoutError, match=r"more than 0\.25 s of CPU time on a text"):
            pattern_found(pattern, "b" * 60 + "!")
    with pytest.raises(PatternTimeoutError, match=r"more than 0\.005 s of CPU time \(lowered from 0\.25 s "):
        pattern_found(pattern, "b" * 60 + "!")
    assert pattern_found(pattern, "b" * 60) is True


def test_so_do_all_patterns_when_many_used_up_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_timeouts", Counter())
    monkeypatch.setattr(matching, "PATIENCE_IN_ALL", 2)
    for letter in "cd":
        with pytest.raises(PatternTimeoutError, match=r"more than 0\.25 s"):
            pattern_found(f"({letter}+)+$", letter * 60 + "!")
    with pytest.raises(PatternTimeoutError, match=r"more than 0\.005 s"):
        pattern_found("(e+)+$", "e" * 60 + "!")
    assert pattern_found("(e+)+$", "e" * 60) is True


@given(
    pattern=st.lists(st.sampled_from([*"ab.|()*+?", "(?:", "\\b", "\\w"]), max_size=6).map("".join),
    text=st.text(alphabet="ab \n", max_size=8),
    replacement=st.sampled_from(["", "x", r"<\g<0>>", r"\1", "\\"]),
    select=st.integers(-2, 2),
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_here_and_in_the_helper_the_answers_are_the_same(
    pattern: str, text: str, replacement: str, select: int
) -> None:
    try:
        re.compile(pattern)
    except re.error:
        return
    for name, options in (("search", ()), ("select", (select,)), ("substitute", (replacement, 0, 1000))):
        answers = []
        for elsewhere in (False, True):
            try:
                answers.append(matching._run(name, pattern, 0, text, *options, elsewhere=elsewhere))
            except BadPatternError as error:
                answers.append(str(error))
        assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("pattern", "text", "select", "expected"),
    [
        (r"\d+", "1 22 333", 0, "1"),
        (r"\d+", "1 22 333", -1, "333"),
        (r"(x)|(\d)", "7", 0, "7"),
        (r"\d+", "none", 0, None),
        (r"\d+", "1", 1, None),
        (r"( \w )", " a ", 0, "a"),
    ],
)
def test_a_match_is_selected(pattern: str, text: str, select: int, expected: str | None) -> None:
    assert selected_match(pattern, text, select) == expected


def test_a_substitution_does_not_fill_the_memory() -> None:
    with pytest.raises(BadPatternError, match="grew beyond"):
        substitute("a", "b" * 1000, "a" * 100_000)
    with pytest.raises((BadPatternError, RuntimeError), match=r"grew beyond|out of memory"):
        substitute("", "b" * 2_000_000, "a" * 2_000_000)


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{99999999999999999999}", "(" * 4000 + ")" * 4000, "*"])
def test_what_is_no_pattern_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"bad regular expression {pattern!r}"[:100])):
        pattern_found(pattern, "text")


def test_something_else_than_a_string_is_no_pattern() -> None:
    with pytest.raises(ValueError, match="a pattern must be a string, not NoneType"):
        pattern_found(None, "text")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["\ud800x", "\ud83d\ude00", "x\x00y\nz", "", "é" * 100_000])
def test_any_text_reaches_the_helper_whole(text: str) -> None:
    assert matching._run("search", f"(?s)^.{{{min(len(text), 5)}}}", 0, text, elsewhere=True) is True
    assert matching._run("search", r"(\A)" + re.escape(text[:50]), 0, text, elsewhere=True) is True
    assert matching._run("substitute", "q", 0, text, "", 0, 10**6, elsewhere=True) == text
