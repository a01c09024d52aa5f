"""Steps that a reader takes in the page, and what must hold after all of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from tests.viewer.browser import Page, new_page

Steps = Callable[[Page], Awaitable[None]]


def visit(browser: str, link: str, steps: Steps) -> None:
    """Take the steps in a fresh tab; afterwards the console is clean and nobody else was asked for anything."""

    async def go() -> None:
        async with new_page(browser) as page:
            await page.size(1280, 900)
            await page.open(link)
            await page.until("document.querySelector('#page .page')")
            await steps(page)
            assert page.console == [], page.console
            hosts = {
                urlsplit(address).netloc for address in page.requests if not address.startswith(("data:", "blob:"))
            }
            assert hosts <= {urlsplit(link).netloc}

    asyncio.run(go())


async def to(page: Page, place: str, ready: str) -> None:
    """Go to a place and wait for its page: the one shown before may hold what is waited on, and takes the focus."""
    await page.run(f"""(() => {{ const before = document.querySelector('#page .page'), hash = {json.dumps(place)};
      if (before && location.hash !== hash) before.classList.add('left'); location.hash = hash; }})()""")
    await page.until(f"!document.querySelector('#page .left') && document.querySelector({json.dumps(ready)})")


def text(selector: str) -> str:
    return f"[...document.querySelectorAll({json.dumps(selector)})].map((each) => each.textContent.trim())"


async def click(page: Page, selector: str, label: str) -> None:
    every = f"[...document.querySelectorAll({json.dumps(selector)})]"
    found = f"{every}.find((e) => e.textContent.includes({json.dumps(label)}))"
    await page.until(found + " && true")
    await page.run(found + ".click()")


async def pick(page: Page, label: str, value: str) -> None:
    box = f"document.querySelector('select[aria-label=\"{label}\"]')"
    await page.until(box + " && true")
    await page.run(f"{box}.value = {json.dumps(value)}; {box}.dispatchEvent(new Event('change'))")


async def write(page: Page, label: str, value: str, event: str = "input") -> None:
    box = f"document.querySelector('input[aria-label=\"{label}\"]')"
    await page.run(f"{box}.value = {json.dumps(value)}; {box}.dispatchEvent(new Event('{event}'))")
