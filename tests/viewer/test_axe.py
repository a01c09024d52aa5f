"""axe finds nothing on any page of the viewer, of the exported site, and of the HTML reports, in light and in dark."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.optimize.scripted import AddingProposer, WordEvaluator
from tests.pages.html.test_page import four_models
from tests.viewer.axe_check import axe
from tests.viewer.browser import Page, new_page
from tests.viewer.demo_runs import make_demo
from tests.viewer.page_steps import to, visit
from tests.viewer.rich_runs import make_rich
from tests.viewer.served import Viewer, viewing

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("gepa")

from assay.cli.main import main
from assay.optimize.run import SearchSettings, optimize
from assay.viewer.export import export_site

PLACES = {
    "#/": ".runs tbody tr",
    "#/run/small": ".plotted svg",
    "#/history": ".page-history .plotted svg",
    "#/run/small/samples": ".samples tbody tr",
    "#/run/small/marks": ".page-marks",
    "#/run/rich/samples": ".page-samples .samples tbody tr",
    "#/run/small/provenance": ".page-provenance",
    "#/compare?run=small&run=large": ".samples tbody tr",
    "#/run/optimize-1?record=dataset+1": "tr.detail:not([hidden]) .sides",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("axe") / "runs"
    make_demo(folder / "small", model="small", skill=0.5, each=14)
    make_demo(folder / "large", model="large", skill=0.9, each=14)
    make_rich(folder / "rich")
    settings = SearchSettings(seed="Be", dataset=[{"words": ["clear"]}, {"words": ["kind"]}], budget=30)
    optimize(settings, WordEvaluator(), AddingProposer(), folder=folder / "optimize-1", probe=False)
    return folder


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder) as found:
        yield found


@pytest.fixture(scope="module")
def places(viewer: Viewer) -> dict[str, str]:
    """Every page, and of the page of one sample one of each kind."""
    failed = viewer.get("samples", run="small", outcome="failed")["rows"][0]["key"]
    rich = {row["task"]: row["key"] for row in viewer.get("samples", run="rich")["rows"]}
    samples = {f"#/run/rich/sample/{key}": ".glance" for key in rich.values()}
    return {**PLACES, **samples, f"#/run/small/sample/{failed}?against=large": ".glance"}


def small_demo(folder: Path, model: str, skill: float) -> Path:
    return make_demo(folder, model=model, skill=skill, each=3)


async def walk(page: Page, places: dict[str, str], *, dark: bool, width: int = 1280) -> str:
    found = {}
    for place, ready in places.items():
        await page.size(width, 900)
        await to(page, place, ready)
        found[place] = await axe(page)
        if dark:
            await page.size(1280, 900, dark=True)
            found[place + " (dark)"] = await axe(page, only=["color-contrast"])
    return "\n".join(f"{place} {line}" for place, lines in found.items() for line in lines)


def test_nothing_on_any_page_of_the_viewer(browser: str, viewer: Viewer, places: dict[str, str]) -> None:
    async def steps(page: Page) -> None:
        assert await walk(page, places, dark=True) == ""

    visit(browser, viewer.link, steps)


def test_nothing_on_any_page_of_the_exported_site(
    browser: str, folder: Path, places: dict[str, str], tmp_path: Path
) -> None:
    async def steps(page: Page) -> None:
        # its colours are those of the viewer
        assert await walk(page, places, dark=False, width=390) == ""
        for place in ("#/run/small", "#/run/small/samples"):
            await to(page, place, ".note")
            assert "the first 30 of 56 samples" in await page.run("document.querySelector('.page').innerText")

    visit(browser, export_site([folder], tmp_path / "site", 30).as_uri(), steps)


def test_nothing_on_the_reports(browser: str, folder: Path, tmp_path: Path) -> None:
    small, large = str(folder / "small"), str(folder / "large")
    made = {name: tmp_path / f"{name}.html" for name in ("one", "two", "diff", "board")}
    assert main(["report", small, "--output", str(made["one"])]) == 0
    assert main(["report", small, large, "--output", str(made["two"])]) == 0
    assert main(["diff", small, large, "--html", str(made["diff"])]) == 0
    assert main(["leaderboard", small, large, "--html", str(made["board"])]) == 0
    made["rendered"] = four_models(tmp_path / "four", small_demo)
    made["search"] = folder / "optimize-1" / "page.html"

    async def go() -> None:
        async with new_page(browser) as page:
            for name, path in made.items():
                await page.size(1280, 900)
                await page.open(path.as_uri())
                await page.until("document.readyState === 'complete'")
                assert "\n".join(await axe(page)) == "", name
                await page.size(1280, 900, dark=True)
                assert await axe(page, only=["color-contrast"]) == [], name

    asyncio.run(go())
