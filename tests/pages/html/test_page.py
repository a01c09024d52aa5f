"""The frame of every HTML page: phones, dark mode, paper."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.journals import write_lines
from tests.results.browser import Page, in_browser, keep_picture, needs_chromium
from tests.results.every_kind import KINDS, write_run
from tests.viewer.demo_runs import make_demo
from tests.viewer.rich_runs import ANSWER, SHOTS

from assay.cli.main import main
from assay.pages.html.page import listed, titled_answer, titled_text
from assay.storage.checksum import record_of


@needs_chromium
def test_a_phone_scrolls_tables_not_the_page_and_dark_mode_is_dark(reports: Path, tmp_path: Path) -> None:
    async def steps(page: Page) -> None:
        await page.screen(width=390, height=800, dark=True)
        await page.open(reports / "two.html")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        small = (
            "[...document.querySelectorAll('td, th, li, p')].every(e => parseFloat(getComputedStyle(e).fontSize) >= 12)"
        )
        assert await page.evaluate(small)
        assert await brightness(page, "backgroundColor") < 60
        assert await brightness(page, "color") > 180
        await keep_picture(page, "phone-dark.html")
        await page.screen(width=390, dark=False)
        assert await brightness(page, "backgroundColor") > 200

    in_browser(tmp_path, steps)


BROKEN = """(() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, range = document.createRange();
    for (const match of node.data.matchAll(/[-+]?\\d+\\.\\d+ (–|to) [-+]?\\d+\\.\\d+/g)) {
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(match[0]);
    }
  }
  return found;
})()"""
"""Intervals whose ends stand on different lines."""


def demo(folder: Path, model: str, skill: float) -> Path:
    return make_demo(folder, model=model, skill=skill)


def seven_repeated_tasks(folder: Path, model: str, skill: float) -> Path:
    return write_run(folder, model, skill, tuple(KINDS)[:7], repeat=3)


def four_models(folder: Path, make: Callable[[Path, str, float], Path]) -> Path:
    """The report of four models with eight few-shot examples before each question, and pages of Markdown as answers."""
    runs = []
    for name, skill in (("small", 0.5), ("medium", 0.7), ("large-model-with-a-long-name", 0.9), ("distilled-8b", 0.3)):
        runs.append(make(folder / name, name, skill))
        journal = runs[-1] / "journal.jsonl"
        shots, answer = json.dumps(SHOTS * 3)[1:-1], json.dumps(ANSWER * 2)[1:-1]
        text = journal.read_text().replace('"Compute ', f'"{shots}Compute ')
        text = text.replace('"question ', f'"{shots}Question ')
        text = text.replace('"prediction":"', f'"prediction":"{answer}')
        write_lines(journal, [record_of(line) for line in text.encode().splitlines(keepends=True)])
    assert main(["report", *map(str, runs), "--output", str(folder / "four.html")]) == 0
    return folder / "four.html"


@needs_chromium
@pytest.mark.parametrize(
    ("make", "question"), [(demo, "Answer with the number alone."), (seven_repeated_tasks, "Question 1")]
)
def test_four_models_fit_on_six_sheets_with_questions_and_whole_intervals(
    tmp_path: Path, make: Callable[[Path, str, float], Path], question: str
) -> None:
    path = four_models(tmp_path, make)

    async def steps(page: Page) -> None:
        await page.screen(width=718, dark=True, media="print")
        await page.open(path)
        assert await brightness(page, "backgroundColor") > 200
        assert await page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
        assert await page.evaluate(BROKEN) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= 718
        shown = await page.evaluate("document.body.innerText")
        assert question in shown
        assert make is not demo or "What is 2 + 2" not in shown
        assert await page.evaluate("document.querySelectorAll('#wrong .rendering math').length") > 10
        assert 2 < len(re.findall(rb"/Type\s*/Page\b", await page.printed())) <= 6
        await keep_picture(page, "paper.html")

    in_browser(tmp_path, steps)


async def brightness(page: Page, what: str) -> float:
    found = await page.evaluate(f"getComputedStyle(document.body).{what}")
    red, green, blue = (int(part) for part in found.removeprefix("rgb(").removesuffix(")").split(","))
    return (red + green + blue) / 3


def test_a_side_shows_what_was_read_and_a_short_one_takes_little_room() -> None:
    assert str(titled_text("Target", "540")) == '<div class="short"><h4>Target</h4><pre>540</pre></div>'
    shown = str(titled_answer("A said", "He runs 9*60 = 540 meters in all.\n\n#### 540", "540"))
    assert "<p>read as <b>540</b></p>" in shown
    assert "short" not in shown
    assert "read as" not in str(titled_answer("A said", "540", "540"))


def test_backticks_of_a_sentence_set_off_names_and_no_markup_comes_out_of_them() -> None:
    assert listed(["add `a` to <b>", ["x: ", "`<i>`"]]) == (
        "<ul><li>add <code>a</code> to &lt;b&gt;</li><li>x: <code>&lt;i&gt;</code></li></ul>"
    )
    assert listed(["one ` alone"]) == "<ul><li>one ` alone</li></ul>"
