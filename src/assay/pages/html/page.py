"""The page around every report: one file, its style inside, and a policy that lets nothing out.

It can be read without scripts. Those it carries explain and save charts and render texts; the policy names the hash of
each.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from html import unescape
from importlib import resources

from assay.pages.charts.figure import page_script
from assay.pages.charts.figure import style_sheet as chart_styles
from assay.pages.document import Cell, TextTable
from assay.pages.html.element import Child, Html, inside, raw, rows, tag
from assay.pages.html.pictures import media_sources
from assay.pages.rendering.bundle import bundle
from assay.pages.rendering.libraries import libraries_for, library, modules
from assay.pages.rendering.libraries import style_sheet as rendering_styles
from assay.results.conversation import ends_kept, question_end

QUESTION = 500
"""Characters of a question that are always visible."""
# even if markup slipped through, the browser would load nothing, and run nothing but what has the hash of our scripts
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
WITH_SCRIPTS = "script-src {}; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'"
INTERVAL = re.compile(r"([-+]?\d[\d.,]* (?:–|to) [-+]?\d[\d.]*)")
"""Two numbers that are never on two lines; the group keeps them when a text is split."""
_WRITTEN = re.compile(r'<pre class="written">([^<]*)</pre>')


def page(title: str, lead: Child, sections: Sequence[tuple[str, str, Child]]) -> str:
    """A whole document from (anchor, heading, content) sections."""
    main = "".join(
        tag("section", tag("h2", heading), tag("div", content, class_="body"), id=anchor)
        for anchor, heading, content in sections
    )
    scripts, media = _scripts(main), media_sources(main)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(scripts, media)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", raw(style_sheet() + (_style("media.css") if media else ""))),
    )
    links = [tag("a", heading, href=f"#{anchor}") for anchor, heading, _ in sections]
    parts = [
        '<!doctype html>\n<html lang="en">',
        head,
        "<body>",
        tag("header", tag("h1", title), lead),
        tag("nav", links, aria_label="sections"),
        "<main>",
        main,
        "</main>",
        tag("footer", "Made by assay. This file needs no network; its scripts serve charts and rendered text."),
        *(tag("script", raw(script)) for script in scripts),
        "</body></html>\n",
    ]
    return "".join(parts)  # once: a page may have megabytes


def _scripts(main: str) -> list[str]:
    """The scripts that the content needs, in the order in which they run."""
    written = _WRITTEN.findall(main) if 'class="written"' in main else ()
    libraries = libraries_for(map(unescape, written))
    rendering = [] if libraries is None else [*map(library, libraries), _report_texts()]
    return [*rendering, page_script()] if 'class="plotted' in main else rendering


@cache
def _report_texts() -> str:
    entry = resources.files("assay.pages.html").joinpath("report_texts.js").read_text(encoding="utf-8")
    return f"(() => {{\n{bundle({**modules(), 'report_texts': entry}, 'report_texts')}}})();\n"


def _policy(scripts: Sequence[str], media: Sequence[str]) -> str:
    of_scripts = [WITH_SCRIPTS.format(" ".join(map(_source, scripts)))] if scripts else []
    return "; ".join([POLICY, *of_scripts, *(medium for medium in media if medium not in WITH_SCRIPTS or not scripts)])


@cache
def _source(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def style_sheet() -> str:
    return _style("page.css") + chart_styles() + rendering_styles()


def _style(name: str) -> str:
    return resources.files("assay.pages.html").joinpath(name).read_text(encoding="utf-8")


def grid(
    header: Sequence[str],
    lines: Sequence[Sequence[Child]],
    *,
    numeric: Sequence[int] = (),
    caption: str | None = None,
    last: Sequence[Child] | None = None,
) -> Html:
    """A table that scrolls sideways on a narrow screen; `last` is set off as the sum of the rest."""

    classes = [' class="n"' if index in numeric else "" for index in range(len(header))]
    heads = [f'<th{class_} scope="col">' for class_ in classes]
    cells = [f'<th{classes[0]} scope="row">', *(f"<td{class_}>" for class_ in classes[1:])]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption) if caption else None,
            tag("thead", rows(heads, [header])),
            tag("tbody", rows(cells, lines)),
            tag("tfoot", rows(cells, [last])) if last is not None else None,
        ),
        class_="scroll",
        tabindex="0",
    )


def table(text_table: TextTable, *, caption: str | None = None) -> Html:
    """A table of a document, as it is printed on a terminal with room for all of it."""
    numeric = range(text_table.numeric_from, len(text_table.header))
    lines = [[shown(cell) for cell in line] for line in text_table.rows]
    last = lines.pop() if text_table.summed else None
    return grid([name or "note" for name in text_table.header], lines, numeric=numeric, caption=caption, last=last)


def shown(cell: Cell) -> Child:
    """A mark has its colour; what a number would drop where there is no room goes below it."""
    if isinstance(cell, str):
        return cell
    if cell.style in ("good", "bad"):
        return tag("b", cell.text, class_=cell.style)
    if cell.style == "code":
        return tag("code", cell.text)
    if cell.shorter:
        number = cell.shorter[-1]
        below = cell.text.removeprefix(number).strip()
        return [number, " ", _below(below.removeprefix("(").replace(")", "", 1))] if below else number
    return tag("b", cell.text) if cell.style == "strong" else cell.text


def _below(text: str) -> Html:
    """An interval, or several with words between them, which may be broken on paper while the intervals are not."""
    if INTERVAL.fullmatch(text) or not INTERVAL.search(text):
        return tag("span", text, class_="soft")
    parts = [tag("span", part, class_="whole") if INTERVAL.fullmatch(part) else part for part in INTERVAL.split(text)]
    return tag("span", parts, class_="soft long")


def listed(sentences: Sequence[Child]) -> Html:
    return tag("ul", [tag("li", _with_code(sentence)) for sentence in sentences])


def _with_code(sentence: Child) -> Child:
    """A sentence, in which backticks set off names and commands as on a terminal."""
    if isinstance(sentence, list):
        return [_with_code(item) for item in sentence]
    if isinstance(sentence, Html) or not isinstance(sentence, str):
        return sentence
    parts = sentence.split("`")
    return [tag("code", part) if at % 2 else part for at, part in enumerate(parts)] if len(parts) % 2 else sentence


def folded(summary: Child, *content: Child) -> Html:
    """Labels on demand on a screen, always on paper."""
    return tag("details", tag("summary", summary), *content, class_="printed")


def prompt_block(text: str | None, longest: int = 2000) -> Html:
    """A prompt as text: its end is visible, the rest is shown on demand and never on paper."""
    if text is None or (end := question_end(text, QUESTION)) == text:
        return written_block(text)
    whole = text_block(ends_kept(text, longest), longest + 100)
    return inside([written_block(end), tag("details", tag("summary", "whole prompt"), whole)])


def written_block(text: str | None, longest: int = 2000) -> Html:
    """Questions, answers and reasons: prose, or what a page with scripts renders."""
    return _block(text, longest, class_="prose" if libraries_for([text or ""]) is None else "written")


def text_block(text: str | None, longest: int = 2000) -> Html:
    """Text of a model: line breaks are kept, long text is cut."""
    return _block(text, longest)


def _block(text: str | None, longest: int, class_: str | None = None) -> Html:
    if text is None:
        return tag("span", "no answer", class_="none")
    if not text:
        return tag("span", "(empty)", class_="none")
    cut = text if len(text) <= longest else text[:longest] + f" … ({len(text) - longest:,} more characters)"
    return tag("pre", cut, class_=class_)


def titled_text(title: str, text: str | None) -> Html:
    """One of several texts side by side, to be compared to the letter; a short one takes less room."""
    return _titled(title, text, text_block(text))


def titled_answer(title: str, text: str | None, read: str | None = None) -> Html:
    """A model's answer, and what was extracted from it."""
    match = tag("p", "read as ", tag("b", read)) if read is not None and read != text else None
    return _titled(title, text, match, written_block(text))


def _titled(title: str, text: str | None, *content: Child) -> Html:
    return tag("div", tag("h4", title), *content, class_="short" if len(text or "") <= 40 else None)


def shown_of(shown: int, total: int) -> Child:
    """How many of them a reader sees: on paper the first one only."""
    if total < 2:
        return None
    screen = [tag("span", f", {shown} shown", class_="on-screen")] if shown < total else []
    return [*screen, tag("span", ", the first", class_="on-paper")]
