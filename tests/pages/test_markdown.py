"""What models and task files say is shown in Markdown tables as what it is: text."""

from __future__ import annotations

import pytest

from assay.pages.document import Sentence, Span
from assay.pages.markdown import escaped, markdown

HOSTILE = {
    "a|b": r"a\|b",
    r"a\|b": r"a\\\|b",  # without its own escape the backslash would set the bar free
    "\x1b[31mred\x07\u202e": r"\u001b[31mred\u0007\u202e",
    "two\nlines": "two lines",
    "<img src=x>": r"\<img src=x>",
    "</td><!-- ": r"\</td>\<!-- ",
    "![seen](http://example.test/you)": r"![seen]\(http://example.test/you)",
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.items())
def test_no_text_becomes_markup_or_steers_a_terminal(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize("text", ["p < 0.05", "x <- 1", "f(x)[0] (two)", r"C:\temp", "größer – 日本"])
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert escaped(text) == text


@pytest.mark.parametrize(
    ("code", "text"), [("a", "`a`"), ("a ` b", "a ` b"), ("a | b", "a \\| b"), ("<b> [x](y)", "\\<b> [x]\\(y)")]
)
def test_code_that_could_end_stays_text(code: str, text: str) -> None:
    assert markdown(Sentence(Span(code, "code"))) == text
