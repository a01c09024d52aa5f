"""What every post-process rule must do."""

from __future__ import annotations

from collections.abc import Callable

from assay.testing.contract import bounded_work, clauses_about, expect, given, hold_to, same, shown
from assay.testing.hostile_texts import ODD, long_texts


def check_post_process(rule: Callable[[str], str]) -> None:
    """`BrokenContractError` where a post-process rule is no pure function of one text to what it says."""
    hold_to("post-process rule", rule, CLAUSES, rule)


def makes_a_text_of_any_text(rule: Callable[[str], str]) -> None:
    for text in ODD:
        with given(f"text={shown(text)}"):
            found = rule(text)
            expect(isinstance(found, str), f"returned {shown(found)}")


def makes_the_same_of_the_same_text(rule: Callable[[str], str]) -> None:
    first = [rule(text) for text in ODD]
    for text, before in zip(reversed(ODD), reversed(first), strict=True):
        with given(f"text={shown(text)}"):
            same(before, rule(text), "two calls gave two texts")


def puts_no_word_into_the_text(rule: Callable[[str], str]) -> None:
    """What is read out of an answer must be in it: a rule that fills in what is missing scores its own words.

    It may spell what it found in one way, as a number.
    """
    for text in ODD:
        with given(f"text={shown(text)}"):
            found = rule(text)
            expect(bool(text) or not found, f"made {shown(found)} of nothing")
            new = sorted({*found.casefold()} - {*text.casefold(), *text.lower(), *text.upper()})
            expect(not any(map(str.isalpha, new)), f"returned {shown(found)}, of which {new} is not in the text")


def reads_a_long_text_in_bounded_time(rule: Callable[[str], str]) -> None:
    for python, text in long_texts():
        with given(f"text={python}"), bounded_work():
            rule(text)


CLAUSES = clauses_about("Callable[[str], str]", globals())
