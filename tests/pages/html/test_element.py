"""Text becomes markup only by being escaped."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from assay.pages.html.element import tag


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text())
def test_any_text_stays_inside_its_element_and_its_attribute(text: str) -> None:
    reader = Reader()
    reader.feed(tag("p", text, title=text, class_="x"))
    reader.close()
    assert reader.tags == ["p"]
    assert [name for name, _ in reader.attributes] == ["title", "class"]
    if text.isprintable():
        assert reader.text == text


def test_markup_inside_markup_is_kept_and_nothing_is_nothing() -> None:
    assert tag("p", tag("b", "<x>"), None, ["a", tag("br")]) == "<p><b>&lt;x&gt;</b>a<br/></p>"
    assert tag("rect", x=1.5, hidden=True, shown=False, name=None) == '<rect x="1.5" hidden/>'
