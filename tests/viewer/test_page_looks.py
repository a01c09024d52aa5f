"""Every page at desktop and phone width, light and dark: nothing sticks out, has no name, or is too pale to read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.viewer.browser import Page
from tests.viewer.demo_runs import make_demo
from tests.viewer.page_steps import visit
from tests.viewer.served import Viewer, viewing

from assay.core.config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    make_demo(folder / "small", model="small", skill=0.5)
    make_demo(folder / "large", model="large", skill=0.9)
    return folder


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder) as found:
        yield found


PLACES = [
    "#/",
    "#/run/small",
    "#/run/small/samples",
    "#/run/small/sample/KEY",
    "#/run/small/marks",
    "#/run/small/provenance",
    "#/compare?run=small&run=large",
]

NAMELESS = """[...document.querySelectorAll('button, a[href], input, select')].filter((e) => e.offsetParent &&
  !(e.getAttribute('aria-label') || e.textContent.trim() || e.title || (e.labels && e.labels.length)))
  .map((e) => e.outerHTML)"""

PALE = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (x) => (x / 255 <= 0.03928 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] / 255 + under[i] * (1 - top[3] / 255));
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(rgb(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const said = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  return [...document.querySelectorAll('#top *, #page *')]
    .filter((e) => e.offsetParent && !e.closest('button:disabled, .off, .said') && said(e))
    .filter((e) => {
      const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
    })
    .map((e) => e.className + ' ' + e.textContent.slice(0, 40)).slice(0, 5);
})()"""
"""Texts whose contrast with what lies behind them is below 4.5 : 1 (WCAG AA)."""


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["desktop", "phone in the dark"])
def test_every_page_can_be_read_at_any_width_in_any_light(browser: str, viewer: Viewer, width: int, dark: bool) -> None:
    key = viewer.get("samples", run="small", outcome="wrong")["rows"][0]["key"]

    async def steps(page: Page) -> None:
        await page.size(width, 844, dark=dark)
        for place in PLACES:
            await page.run(f"location.hash = {json.dumps(place.replace('KEY', key))}")
            name = "runs" if place == "#/" else "compare" if "compare" in place else [*place.split("/"), "overview"][3]
            await page.until(f"document.querySelector('.page-{name}')")
            assert await page.run("document.documentElement.scrollWidth") <= width, place
            assert await page.run(NAMELESS) == [], place
            assert await page.run(PALE) == [], place

    visit(browser, viewer.link, steps)


TALL = """[...document.querySelectorAll('.runs .c-tokens div')]
  .map((e) => [e.textContent, e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)])"""


@pytest.mark.parametrize("width", [1280, 900, 390])
def test_what_a_run_cost_stands_on_one_line(browser: str, tmp_path: Path, width: int) -> None:
    run_evaluation(load_tasks(["starter"])[:1], RunConfig(), folder=tmp_path / "toy-with-a-long-name-of-its-own")

    async def steps(page: Page) -> None:
        await page.size(width, 844)
        ((cost, lines),) = await page.run(TALL)
        assert cost == "USD 0"
        assert lines < 1.5

    with viewing(tmp_path) as found:
        visit(browser, found.link, steps)
