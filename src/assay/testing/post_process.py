"""What every post-process rule must do."""

from __future__ import annotations

from collections.abc import Callable

from assay.testing.contract import bounded_work, clauses_about, expect, given, hold_to, same, shown
from assay.testing.hostile_texts import ODD, long_texts


def check_post_process(rule: Callable[[str], str]) -> None:
    """`BrokenContractError` where a post-process rule is not a pure function from text to text."""
    hold_to("post-process rule", rule, CLAUSES, rule)


def makes_a_text_of_any_text(rule: Callable[[str], str]) -> None:
    for text in ODD:
        with given(f"text={shown(text)}"):
            result = rule(text)
            expect(isinstance(result, str), f"returned {shown(result)}")


def makes_the_same_of_the_same_text(rule: Callable[[str], str]) -> None:
    first = [rule(text) for text in ODD]
    for text, before in zip(reversed(ODD), reversed(first), strict=True):
        with given(f"text={shown(text)}"):
            same(before, rule(text), "two calls gave two texts")


def puts_no_word_into_the_text(rule: Callable[[str], str]) -> None:
    """What is extracted from an answer must be in it: a rule that fills in what is missing scores its own words.

    It may normalise the spelling, as of a number.
    """
    for text in ODD:
        with given(f"text={shown(text)}"):
            result = rule(text)
            expect(bool(text) or not result, f"made {shown(result)} of nothing")
            new = sorted({*result.casefold()} - {*text.casefold(), *text.lower(), *text.upper()})
            expect(not any(map(str.isalpha, new)), f"returned {shown(result)}, of which {new} is not in the text")


def reads_a_long_text_in_bounded_time(rule: Callable[[str], str]) -> None:
    for python, text in long_texts():
        with given(f"text={python}"), bounded_work():
            rule(text)


CLAUSES = clauses_about("Callable[[str], str]", globals())
