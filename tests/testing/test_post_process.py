"""The contract of a post-process rule: kept by a good one, and every clause broken by a bad one."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from tests.testing.broken import broken_by, clauses, words

from assay.testing import check_post_process
from assay.testing import post_process as contract


def first_word(text: str) -> str:
    return text.split(maxsplit=1)[0]


def appends(text: str) -> str:
    return text + "."


def makes_up(text: str) -> str:
    return "B" if len(text) > 2 else ""


def counting() -> Any:
    calls = itertools.count()
    return lambda text: text if next(calls) % 2 else ""


def backtracks(text: str) -> str:
    return text if re.search(r"\s*\s*\s*x$", text) else ""


BROKEN = [
    (first_word, contract.makes_a_text_of_any_text),
    (len, contract.makes_a_text_of_any_text),
    (counting(), contract.makes_the_same_of_the_same_text),
    (appends, contract.puts_no_word_into_the_text),
    (makes_up, contract.puts_no_word_into_the_text),
    (backtracks, contract.reads_a_long_text_in_bounded_time),
]


@pytest.mark.parametrize(("rule", "clause"), BROKEN)
def test_a_bad_rule_breaks_its_clause(rule: Any, clause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.testing.contract.CPU_SECONDS", 0.5)
    assert broken_by(lambda: check_post_process(rule)).clause == words(clause)


def test_every_clause_can_break() -> None:
    assert clauses([clause for _, clause in BROKEN]) == clauses(contract.CLAUSES)


def test_a_good_rule_keeps_the_contract() -> None:
    check_post_process(str.strip)
