"""The report in a real browser: silent console, nothing leaves the file, plots are there, model text stays text."""

from __future__ import annotations

import asyncio
import math
import os
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.reports.browser import Page, browser, needs_chromium
from tests.reports.runs import number, run_into, write_sums

from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Request
from assay.reports.html.report_page import report_page
from assay.reports.view import View

HOSTILE = (
    "<script>document.title='owned'</script></style></pre><img src=http://127.0.0.1:9/x onerror=alert(1)>\u202egnp"
)


class Confident:
    """Says how sure it is, is sometimes wrong, sometimes hostile, sometimes broken."""

    def __init__(self, name: str, shift: float) -> None:
        self.name = name
        self._shift = shift

    async def generate(self, request: Request) -> Completion:
        n = number(request.text())
        if n == 13:
            raise FailureError(Failure(stage="model", kind="server_error", part=self.name, message=HOSTILE))
        chance = random.Random(n)
        sure = chance.uniform(0.4, 0.99)
        text = str(n + 1) if chance.random() < sure - self._shift else HOSTILE
        return Completion(
            text=text, logprobs=[{"token": "x", "logprob": math.log(sure)}], tokens_in=12, tokens_out=3, cached=False
        )


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`one.html` of one run, `two.html` of two."""
    folder = tmp_path_factory.mktemp("reports")
    for name in ("sums", "more sums"):
        write_sums(folder / "tasks", name, 80, metadata=lambda n: {"difficulty": "<i>hard</i>" if n % 3 else "easy"})
    for name, shift in (("one", 0.0), ("two <b>bold</b>", 0.2)):
        run_into(folder / name.split(" ")[0], folder / "tasks", Confident(name, shift), repeat=2, retries=0)
    view = View(by=("difficulty",))
    (folder / "one.html").write_text(report_page([folder / "one"], view))
    (folder / "two.html").write_text(report_page([folder / "one", folder / "two"], view))
    return folder


def in_browser(tmp_path: Path, steps: Callable[[Page], Coroutine[Any, Any, None]]) -> None:
    async def session() -> None:
        async with browser(tmp_path / "profile") as page:
            await steps(page)

    asyncio.run(session())


@needs_chromium
@pytest.mark.parametrize("name", ["one.html", "two.html"])
def test_the_report_is_silent_and_stays_on_the_disk(name: str, reports: Path, tmp_path: Path) -> None:
    path = reports / name

    async def steps(page: Page) -> None:
        await page.screen(width=1200)
        await page.open(path)
        assert page.console == []
        assert page.requests == [path.resolve().as_uri()]
        assert await page.evaluate("document.scripts.length") == 0
        assert await page.evaluate("document.images.length") == 0
        assert "owned" not in await page.evaluate("document.title")
        headings = await page.evaluate("[...document.querySelectorAll('h2')].map(each => each.innerText)")
        assert {"Leaderboard", "Scores and intervals", "Slices", "Failures by kind"} <= set(headings)
        assert {"Calibration and likelihood", "Repetitions", "What produced these numbers"} <= set(headings)
        assert ("Flips" in headings) is (name == "two.html")
        shown = await page.evaluate("document.body.textContent")
        assert "<script>document.title='owned'</script></style></pre><img src=" in shown
        assert r"\u202e" in shown
        assert "<i>hard</i>" in shown
        await keep_picture(page, name)

    in_browser(tmp_path, steps)


@needs_chromium
def test_the_plots_are_drawn(reports: Path, tmp_path: Path) -> None:
    async def steps(page: Page) -> None:
        await page.screen(width=1200)
        await page.open(reports / "two.html")
        for selector, least in (
            (".forest svg circle.point", 6),
            (".forest svg line.span", 6),
            (".bars svg rect.bar", 4),
            ("svg.reliability circle", 8),
        ):
            sizes = await page.evaluate(
                f"[...document.querySelectorAll('{selector}')].map(e => e.getBoundingClientRect())"
                ".map(box => Math.max(box.width, box.height))"
            )
            assert len(sizes) >= least, selector
            assert min(sizes) > 0, selector
        # the point of a forest plot lies inside its own interval
        inside = await page.evaluate(
            "[...document.querySelectorAll('.forest svg')].filter(e => e.querySelector('circle')).every(e => {"
            "const x = box => box.left + box.width / 2, p = x(e.querySelector('circle').getBoundingClientRect());"
            "const s = e.querySelector('line.span'); if (!s) return true;"
            "const b = s.getBoundingClientRect(); return b.left - 1 <= p && p <= b.right + 1 })"
        )
        assert inside

    in_browser(tmp_path, steps)


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


@needs_chromium
def test_paper_is_white_and_shows_what_is_folded(reports: Path, tmp_path: Path) -> None:
    async def steps(page: Page) -> None:
        await page.screen(width=900, dark=True, media="print")
        await page.open(reports / "two.html")
        assert await brightness(page, "backgroundColor") > 200
        assert await page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
        folded = "document.querySelector('details pre').getBoundingClientRect().height"
        assert await page.evaluate(folded) > 0
        assert (await page.printed()).startswith(b"%PDF")
        await keep_picture(page, "paper.html")

    in_browser(tmp_path, steps)


async def brightness(page: Page, what: str) -> float:
    found = await page.evaluate(f"getComputedStyle(document.body).{what}")
    red, green, blue = (int(part) for part in found.removeprefix("rgb(").removesuffix(")").split(","))
    return (red + green + blue) / 3


async def keep_picture(page: Page, name: str) -> None:
    """For people who want to look: set ASSAY_SCREENSHOTS to a folder."""
    folder = os.environ.get("ASSAY_SCREENSHOTS")
    if folder:
        Path(folder, name).with_suffix(".png").write_bytes(await page.picture())
