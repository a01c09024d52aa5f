"""What a section of the user's own may be, and what is said where it is something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.pages.document import Heading, Items, Sentence, Span, TextTable
from assay.pages.html.element import tag
from assay.pages.html.own_sections import html_of, own_section

SECTIONS = """\
from assay.pages.document import Heading, Sentence

def runs_of(runs):
    return [Heading(2, "Runs"), Sentence(", ".join(run.name for run in runs))]

def broken(runs):
    return [1 / 0]

def untitled(runs):
    return [Sentence("no title")]

def text(runs):
    return [Heading(2, "Text"), "a text"]
"""


@pytest.fixture(autouse=True)
def sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_sections_of_test.py").write_text(SECTIONS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_every_kind_of_block_becomes_html() -> None:
    table = TextTable(header=["run", "n"], rows=[["a<b", "1"]], numeric_from=1)
    blocks = [Heading(3, "More"), Sentence(("is ", Span("good", "good"))), Items(["`x`"]), table]
    shown = str(tag("div", html_of(blocks)))
    assert shown.startswith('<div><h3>More</h3><p>is <b class="good">good</b></p><ul><li><code>x</code></li></ul>')
    assert "a&lt;b" in shown


def test_a_section_is_titled_by_its_first_heading() -> None:
    anchor, title, content = own_section("own_sections_of_test:runs_of", [Path("a"), Path("b")])
    assert (anchor, title) == ("section-own_sections_of_test-runs_of", "Runs")
    assert str(tag("div", content)) == "<div><p>a, b</p></div>"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", "it failed with ZeroDivisionError"),
        ("untitled", "its first block must be a Heading, got Sentence"),
        ("text", "it failed with TypeError: str is no block of a document"),
    ],
)
def test_a_section_that_is_wrong_is_refused_by_its_name(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"--section own_sections_of_test:{name}: {message}"):
        own_section(f"own_sections_of_test:{name}", [Path("a")])
