"""The page around every report: one file, its style inside, no script, and a policy that lets nothing out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from assay.reports.charts.figure import style_sheet as chart_styles
from assay.reports.conversation import ends_kept, question_end
from assay.reports.html.element import Child, Html, inside, raw, tag

QUESTION = 500
"""Characters of a question that are always in sight."""
# even if markup slipped through, the browser would load and run nothing
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, lead: Child, sections: Sequence[tuple[str, str, Child]]) -> str:
    """A whole document from (anchor, heading, content) sections."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", raw(style_sheet())),
    )
    links = [tag("a", heading, href=f"#{anchor}") for anchor, heading, _ in sections]
    body = tag(
        "body",
        tag("header", tag("h1", title), lead),
        tag("nav", links, aria_label="sections"),
        tag("main", [tag("section", tag("h2", heading), content, id=anchor) for anchor, heading, content in sections]),
        tag("footer", "Made by assay. This file needs no network and runs no script."),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def style_sheet() -> str:
    page = resources.files("assay.reports.html").joinpath("page.css").read_text(encoding="utf-8")
    return page + chart_styles()


def grid(
    header: Sequence[str],
    rows: Sequence[Sequence[Child]],
    *,
    numeric: Sequence[int] = (),
    caption: str | None = None,
    last: Sequence[Child] | None = None,
) -> Html:
    """A table that scrolls sideways on a narrow screen; `last` is set off as the sum of the rest."""

    def cell(name: str, index: int, content: Child, **more: str) -> Html:
        return tag(name, content, class_="n" if index in numeric else None, **more)

    def line(cells: Sequence[Child]) -> Html:
        first = cell("th", 0, cells[0], scope="row")
        return tag("tr", first, [cell("td", index, each) for index, each in enumerate(cells) if index])

    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption) if caption else None,
            tag("thead", tag("tr", [cell("th", i, name, scope="col") for i, name in enumerate(header)])),
            tag("tbody", [line(row) for row in rows]),
            tag("tfoot", line(last)) if last is not None else None,
        ),
        class_="scroll",
        tabindex="0",
    )


def listed(sentences: Sequence[Child]) -> Html:
    return tag("ul", [tag("li", sentence) for sentence in sentences])


def folded(summary: Child, *content: Child, opened: bool = False) -> Html:
    """Shown on demand on a screen, always on paper."""
    return tag("details", tag("summary", summary), inside(content), class_="printed", open=opened)


def asked(text: str | None, longest: int = 2000) -> Html:
    """What a model was asked, as text: what it ends with in sight, the rest on demand and never on paper."""
    if text is None or len(text) <= QUESTION:
        return said(text)
    whole = said(ends_kept(text, longest), longest + 100)
    return inside([said(question_end(text, QUESTION)), tag("details", tag("summary", "whole prompt"), whole)])


def said(text: str | None, longest: int = 2000) -> Html:
    """What a model wrote, as text: line breaks kept, cut where it gets long."""
    if text is None:
        return tag("span", "no answer", class_="none")
    if not text:
        return tag("span", "(empty)", class_="none")
    cut = text if len(text) <= longest else text[:longest] + f" … ({len(text) - longest:,} more characters)"
    return tag("pre", cut)


def shown_of(shown: int, there: int) -> Child:
    """How many of them a reader sees: on paper the first one only."""
    if there < 2:
        return None
    screen = [tag("span", f", {shown} shown", class_="on-screen")] if shown < there else []
    return [*screen, tag("span", ", the first", class_="on-paper")]
