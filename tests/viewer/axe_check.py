"""axe-core in a page: what it finds, as lines that say where."""

from __future__ import annotations

import json
from pathlib import Path

from tests.viewer.browser import Page

SOURCE = Path(__file__).parent / "axe" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


async def axe(page: Page, *, only: list[str] | None = None) -> list[str]:
    """Every violation in the page as it stands; `only` names the rules to ask, otherwise all of WCAG 2.2 AA."""
    if not await page.run("'axe' in window"):
        await page.run(SOURCE.read_text(encoding="utf-8") + ";true")
    # what a page does once its layout is known, such as letting keys reach what scrolls, is done with the next picture
    await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    ask = {"type": "rule", "values": only} if only else {"type": "tag", "values": TAGS}
    # preloading would fetch the style sheets again, which the page's policy forbids
    options = json.dumps({"runOnly": ask, "resultTypes": ["violations"], "preload": False})
    found = await page.run(
        f"axe.run(document, {options}).then((done) => done.violations.flatMap((rule) => rule.nodes.map("
        "(node) => `${rule.id}: ${node.target.join(' ')}: ${node.html.slice(0, 160)} ${(node.any[0] || {}).message}`)))"
    )
    return list(found)
