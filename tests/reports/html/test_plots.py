"""The plots of a report are drawn."""

from __future__ import annotations

from pathlib import Path

from tests.reports.browser import Page, in_browser, needs_chromium


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
