"""XML, HTML and refusals; `tests/bridges/promptfoo/test_promptfoo_source.py` compares the verdicts with promptfoo's."""

from __future__ import annotations

import time

import pytest

from assay.scorers.assertions.markup_assertions import contains_html, contains_xml, is_html, is_refusal, is_xml

BOMB = '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">]><a>&x;</a>'


def test_documents_with_rules_of_their_own_are_no_xml() -> None:
    assert not is_xml(BOMB)
    assert is_xml("<a>&amp;</a>")


@pytest.mark.parametrize("check", [contains_xml, contains_html, is_html, is_refusal])
def test_hostile_texts_are_read_in_bounded_time(check: object) -> None:
    assert callable(check)
    started = time.process_time()
    for text in ("<a" * 50_000, "<a>" * 2_000, "&" * 100_000, "<!--" + "-" * 20_000, "i am " * 20_000):
        check(text)
    assert time.process_time() - started < 5
