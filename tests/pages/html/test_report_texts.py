"""The texts of a report in a real browser: rendered by the viewer's scripts, read without them, never markup."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.results.browser import Page, in_browser, keep_picture, needs_chromium
from tests.results.runs import run_into
from tests.viewer.rich_runs import ANSWER

from assay.core.types import Completion, Request
from assay.pages.html.element import raw
from assay.pages.html.page import page as html_page
from assay.pages.html.page import written_block
from assay.pages.html.report_page import report_page
from assay.pages.rendering.libraries import library
from assay.results.report_settings import View

PROGRAM = "def area(r):\n    return 3 * r**2 * __pi__"
ANSWERS = {"rich": ANSWER, "program": PROGRAM, "data": '{"city": "Oslo", "days": [1, 2]}', "plain": "It costs $5."}


class Writer:
    """Answers each question with one of the texts above."""

    name = "writer"

    async def generate(self, request: Request) -> Completion:
        return Completion(text=ANSWERS[request.text().split()[0]])


def report(folder: Path, questions: list[str]) -> Path:
    rows = [{"prompt": f"{each} **please**", "targets": ["no"], "id": each.split()[0]} for each in questions]
    (folder / "tasks").mkdir(parents=True)
    lines = [json.dumps({"metric": "exact_match", **row}) + "\n" for row in rows]
    (folder / "tasks" / "texts.jsonl").write_text("".join(lines))
    run_into(folder / "run", folder / "tasks", Writer())
    path = folder / "report.html"
    path.write_text(report_page([folder / "run"], View()), encoding="utf-8")
    return path


SEEN = """(() => {
  const cards = [...document.querySelectorAll('#wrong .flip')];
  const card = (id) => cards.find((each) => each.querySelector('b').textContent === id);
  const texts = (within, name) => [...within.querySelectorAll(name)].map((each) => each.textContent);
  const rich = card('rich').querySelector('.sides .rendering');
  return {
    question: texts(card('rich').querySelector('.question'), 'strong'),
    heading: texts(rich, '.heading'), cells: texts(rich, 'td'), items: rich.querySelectorAll('ol > li').length,
    sums: rich.querySelectorAll('math').length, fraction: rich.querySelectorAll('mfrac').length,
    keyword: texts(rich, '.hl-keyword'),
    markup: rich.querySelectorAll('#raw, a, img').length,
    program: texts(card('program').querySelector('.sides'), '.rendering .hl-keyword'),
    keys: texts(card('data').querySelector('.sides'), '.tree-key'),
    plain: card('plain').querySelectorAll('.sides .rendering').length,
    said: getComputedStyle(card('rich').querySelector('.sides .has-rendering')).display,
  };
})()"""


@needs_chromium
def test_questions_and_answers_are_rendered_and_can_be_seen_raw(tmp_path: Path) -> None:
    path = report(tmp_path, list(ANSWERS))

    async def steps(page: Page) -> None:
        await page.screen(width=1200)
        await page.open(path)
        assert await page.evaluate(SEEN) == {
            "question": ["please"], "heading": ["Result"], "cells": ["1", "two"], "items": 2, "sums": 3, "fraction": 1,
            "keyword": ["def", "return"], "markup": 0, "program": ["def", "return"], "keys": ["city", "days", "0", "1"],
            "plain": 0, "said": "none",
        }  # fmt: skip
        await keep_picture(page, "report-texts")
        assert page.requests == [path.resolve().as_uri()]
        shown = "document.querySelector('#wrong .sides').innerText"
        assert "### Result" not in await page.evaluate(shown)
        await page.evaluate("document.querySelector('nav button').click()")
        assert "### Result" in await page.evaluate(shown)
        assert await page.evaluate("document.querySelector('nav button').textContent") == "Show rendered text"
        await page.open(path)
        assert "### Result" in await page.evaluate(shown), "the choice is remembered"
        assert page.console == []

    in_browser(tmp_path, steps)


@needs_chromium
def test_without_scripts_every_text_is_there_as_it_was_written(tmp_path: Path) -> None:
    path = report(tmp_path, list(ANSWERS))

    async def steps(page: Page) -> None:
        await page.send("Emulation.setScriptExecutionDisabled", value=True)
        await page.open(path)
        shown = (await page.send("Runtime.evaluate", expression="document.body.innerText"))["result"]["value"]
        assert "### Result" in shown
        assert "$$\n\\int_0^1 x^2\\,dx = \\frac{1}{3}\n$$" in shown
        assert "Show raw text" not in shown

    in_browser(tmp_path, steps)


LIBRARIES = ("highlight.min.js", "katex.min.js", "markdown-it.min.js")


@pytest.mark.parametrize(
    ("questions", "carried"),
    [(["plain"], {"markdown-it.min.js"}), (["program", "plain"], {"highlight.min.js", "markdown-it.min.js"})],
)
def test_a_report_carries_no_library_that_its_texts_do_not_need(
    questions: list[str], carried: set[str], tmp_path: Path
) -> None:
    text = report(tmp_path, questions).read_text(encoding="utf-8")
    assert {name for name in LIBRARIES if library(name) in text} == carried


def test_a_page_of_plain_texts_carries_no_script() -> None:
    made = html_page("plain", None, [("said", "Said", written_block("It is 42, or 3 * 14 = 42."))])
    assert "<script" not in made
    assert "script-src" not in made


CASES = [
    "x", "a **b**", "# Title", "cost: $5 and $6", "$x$", "so $a_1$, then", "\\(x\\) and \\[y\\]", "$$\nx\n$$",
    "\\begin{align}a&=b\\end{align}", "```\nplain\n```", "```python\nx = 1\n```", "- ~~~js\n  let x = 1;\n  ~~~",
    "> quote\n> ```sql\n> select 1\n> ```", "[1, 2]", '{"a": {"b": 1}}', "{not json", "import os\nprint(os.name)",
    "import taxes are high", "class Dog:\n    legs = 4", "| a | b |\n|---|---|\n| 1 | 2 |", "from a import b", "1) one",
    "the prices are $5-$6", "def f(x): return x\n\n```python\nf(1)\n```", "`$x$`", "$5 for x and $y$", "a $b$1 c$",
]  # fmt: skip


@needs_chromium
def test_what_a_page_carries_is_all_that_its_texts_need(tmp_path: Path) -> None:
    everything = "**a** $x$\n```python\nx = 1\n```"

    def made(name: str, *texts: str) -> Path:
        blocks = raw("".join(map(written_block, texts)))
        (tmp_path / name).write_text(html_page("texts", None, [("texts", "Texts", blocks)]), encoding="utf-8")
        return tmp_path / name

    async def shown(page: Page, path: Path) -> Any:
        await page.open(path)
        rendering = "each.classList.contains('has-rendering') ? each.nextElementSibling.outerHTML : null"
        return await page.evaluate(
            f"[...document.querySelectorAll('#texts .body > pre:not(.rendering)')].map((each) => {rendering})"
        )

    async def steps(page: Page) -> None:
        *together, _ = await shown(page, made("all.html", *CASES, everything))
        assert sum(each is not None for each in together) > 15
        for number, text in enumerate(CASES):
            assert await shown(page, made(f"{number}.html", text)) == [together[number]], text
        assert page.console == []

    in_browser(tmp_path, steps)
