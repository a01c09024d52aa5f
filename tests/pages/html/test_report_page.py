"""The report in a real browser: silent console, nothing leaves the file, plots are there, model text stays text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.results.browser import Page, in_browser, keep_picture, needs_chromium


@needs_chromium
@pytest.mark.parametrize("name", ["one.html", "two.html"])
def test_the_report_is_silent_and_stays_on_the_disk(name: str, reports: Path, tmp_path: Path) -> None:
    path = reports / name

    async def steps(page: Page) -> None:
        await page.screen(width=1200)
        await page.open(path)
        assert page.console == []
        assert page.requests == [path.resolve().as_uri()]
        assert await page.evaluate("document.scripts.length") == 1, "that of the charts"
        assert await page.evaluate("document.images.length") == 0
        assert "owned" not in await page.evaluate("document.title")
        headings = await page.evaluate("[...document.querySelectorAll('h2')].map(each => each.innerText)")
        assert {"Leaderboard", "Scores per task", "Slices", "Failures by kind"} <= set(headings)
        assert {"Calibration and likelihood", "Repetitions", "What produced these numbers"} <= set(headings)
        assert ("Flips" in headings) is (name == "two.html")
        shown = await page.evaluate("document.body.textContent")
        assert "<script>document.title='owned'</script></style></pre><img src=" in shown
        assert r"\u202e" in shown
        assert "<i>hard</i>" in shown
        await keep_picture(page, name)
        saved = tmp_path / "saved"
        await page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(saved))
        for kind in ("SVG", "PNG"):
            await page.evaluate(f"document.querySelector('[aria-label^=\"Download as {kind}\"]').click()")
        svg, png = [await written(saved / f"scores.{ending}") for ending in ("svg", "png")]
        assert svg.startswith(b"<svg")
        assert b"var(" not in svg, "its colours are its own"
        assert png.startswith(b"\x89PNG")
        assert page.console == []

    in_browser(tmp_path, steps)


async def written(path: Path) -> bytes:
    for _ in range(15_000):
        if path.exists() and path.stat().st_size:
            return path.read_bytes()
        await asyncio.sleep(0.02)
    raise AssertionError(f"{path.name} was never saved, only {sorted(path.parent.glob('*'))}")
