"""Every page at desktop and phone width, light and dark: nothing sticks out, has no name, or is too pale to read."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.viewer.browser import Page
from tests.viewer.demo_runs import make_demo
from tests.viewer.page_steps import to, visit
from tests.viewer.served import Viewer, viewing

from assay.run_config import RunConfig
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
    .filter((e) => e.offsetParent && !e.closest('button:disabled, .off, .visually-hidden') && said(e))
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


LIST = """(() => { const row = document.querySelector('.runs tbody tr'); const lines = (e) =>
  e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight); return {
  costs: [...row.querySelectorAll('.c-tokens div')].map((e) => e.textContent),
  when: row.querySelector('.c-age .small').textContent, lines: lines(row.querySelector('.c-age .small')),
  scores: [...row.querySelectorAll('.chip b')].map((b) => b.getBoundingClientRect().right
    <= b.parentElement.getBoundingClientRect().right),
  cut: (() => { const box = row.closest('.scroll'); return box.scrollWidth - box.clientWidth; })(),
  together: [...document.querySelectorAll('.headline button')].filter((b) => b.offsetParent).length,
}; })()"""


@pytest.mark.parametrize("width", [1280, 390])
def test_the_list_says_when_a_run_began_how_long_it_took_and_no_cost_of_nothing(
    browser: str, tmp_path: Path, width: int
) -> None:
    task = tmp_path / "a-task-with-a-name-that-is-far-too-long-for-a-chip.jsonl"
    task.write_text('{"id": "1", "prompt": "p", "targets": ["p"], "metric": "exact_match"}\n')
    run_evaluation(load_tasks([str(task)]), RunConfig(), folder=tmp_path / "toy-with-a-long-name-of-its-own")

    async def steps(page: Page) -> None:
        await page.size(width, 844)
        found = await page.run(LIST)
        assert found["costs"] == []
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d, took .+ (ms|s|µs)", found["when"])
        assert found["lines"] < 1.5
        assert found["cut"] == 0, "no column is out of sight"
        assert found["scores"] == [True], "the score of a long name is seen"
        assert found["together"] == 1, "samples of several runs are offered once several are chosen"

    with viewing(tmp_path) as found:
        visit(browser, found.link, steps)


def test_tab_goes_through_a_page_from_top_to_bottom(browser: str, viewer: Viewer) -> None:
    place = """(() => { const e = document.activeElement; const box = e.getBoundingClientRect(); return {
      name: e.getAttribute('aria-label') || e.textContent.trim(), top: Math.round(box.top + scrollY),
      seen: box.width > 0 || e.classList.contains('skip'), ring: getComputedStyle(e).outlineStyle,
      bar: Boolean(e.closest('#top')), skip: e.classList.contains('skip') }; })()"""

    async def steps(page: Page) -> None:
        for where, ready in (
            ("#/", "table.runs"),
            ("#/run/small", ".page-overview .head a"),
            ("#/run/small/samples", ".samples td"),
        ):
            await to(page, where, ready)
            await page.run("document.activeElement.blur(); document.querySelector('#top a').focus()")
            stops = []
            for _ in range(12):
                await page.key("Tab")
                stops.append(await page.run(place))
            assert all(each["seen"] and each["name"] and each["ring"] != "none" for each in stops), stops
            inside = [each["top"] for each in stops if not each["bar"] and not each["skip"]]
            # controls of one row differ by half a row
            assert all(after >= before - 40 for before, after in pairwise(inside)), stops
            assert [each["bar"] for each in stops] == sorted((each["bar"] for each in stops), reverse=True)

    visit(browser, viewer.link, steps)


PRINTED = """(() => ({ wide: document.documentElement.scrollWidth - innerWidth,
  controls: [...document.querySelectorAll('button, input, select, #top')].filter((e) => e.offsetParent).length,
  boxes: [...document.querySelectorAll('.prose, .glance .text, .scroll')].filter((e) =>
    e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflowY !== 'visible').length,
  ground: getComputedStyle(document.body).backgroundColor }))()"""


def test_a_page_prints_whole_without_controls(browser: str, viewer: Viewer) -> None:
    key = viewer.get("samples", run="small", task="programs")["rows"][0]["key"]

    async def steps(page: Page) -> None:
        await page.size(794, 1123, dark=True)
        await page.send("Emulation.setEmulatedMedia", media="print")
        for where, ready in (("#/run/small", ".page-overview svg"), (f"#/run/small/sample/{key}", ".glance")):
            await to(page, where, ready)
            found = await page.run(PRINTED)
            assert found == {"wide": 0, "controls": 0, "boxes": 0, "ground": "rgb(255, 255, 255)"}
        pdf = base64.b64decode((await page.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69))["data"])
        assert 1 <= len(re.findall(rb"/Type /Page\b", pdf)) <= 4

    visit(browser, viewer.link, steps)
