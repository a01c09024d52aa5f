"""The charts of a report in a real browser: drawn, one width at a time, inside the page, values inside intervals."""

from __future__ import annotations

from pathlib import Path

from tests.pages.html.conftest import reports
from tests.results.browser import Page, in_browser, needs_chromium

__all__ = ["reports"]

INSIDE = """[...document.querySelectorAll('.plotted svg')].filter(each => each.getBoundingClientRect().width)
.flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text, .m-sign, .m-tile')].filter(part => {
    const own = part.getBoundingClientRect();
    return own.left < box.left - 2 || own.right > box.right + 2 || own.bottom > box.bottom + 2;
  }).map(part => part.textContent || part.outerHTML);
})"""
CENTRED = """[...document.querySelectorAll('.plotted .m')].filter(g => g.querySelector('.m-span')).every(g => {
  const [span, sign] = ['.m-span', '.m-sign'].map(name => g.querySelector(name).getBoundingClientRect());
  const [x, y] = [sign.left + sign.width / 2, sign.top + sign.height / 2];
  return span.width === 0 || (span.left - 1 <= x && x <= span.right + 1 && span.top - 1 <= y && y <= span.bottom + 1);
})"""


@needs_chromium
def test_charts_are_drawn_at_both_widths_and_stay_inside(reports: Path, tmp_path: Path) -> None:
    async def steps(page: Page) -> None:
        for width, shown in ((1400, "for-page"), (380, "for-phone")):
            await page.screen(width=width)
            await page.open(reports / "two.html")
            seen = await page.evaluate(
                "[...document.querySelectorAll('.plotted svg')].filter(svg => svg.getBoundingClientRect().height > 40)"
                ".map(svg => svg.getAttribute('class'))"
            )
            assert len(seen) >= 8, "scores, overall, heatmap, latency, wins, calibration, spreads, differences"
            assert set(seen) == {shown}
            assert await page.evaluate(INSIDE) == []
            assert await page.evaluate(CENTRED)
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    in_browser(tmp_path, steps)
