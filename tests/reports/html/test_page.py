"""The frame of every HTML page: phones, dark mode, paper."""

from __future__ import annotations

from pathlib import Path

from tests.reports.browser import Page, in_browser, keep_picture, needs_chromium


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
