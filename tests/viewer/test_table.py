"""The sample table in a real Chromium: queries with completion, columns, lines, selections, several runs, Back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.viewer.browser import Page
from tests.viewer.demo_runs import make_demo, marks
from tests.viewer.page_steps import click, pick, text, to, visit
from tests.viewer.served import Viewer, viewing

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

SHOWN = "document.querySelector('.summary b').textContent"
BOX = "document.querySelector('input.search')"
TABLE = "#/run/small/samples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    for model, skill in (("small", 0.5), ("large", 0.9), ("middle", 0.7)):
        make_demo(folder / model, model=model, skill=skill)
    return folder


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder) as found:
        yield found


async def type_in(page: Page, words: str) -> None:
    """Key by key would be slow: the text at once, as a paste is."""
    await page.run(f"{BOX}.focus(); {BOX}.value = {json.dumps(words)}; {BOX}.setSelectionRange(999, 999)")
    await page.run(f"{BOX}.dispatchEvent(new Event('input'))")


def test_a_query_is_completed_by_keys_filters_the_table_and_points_at_its_errors(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await to(page, TABLE, ".samples tbody tr")
        await type_in(page, "score<1 and outc")
        await page.until("document.querySelectorAll('.options:not([hidden]) li').length === 1")
        await page.key("ArrowDown")
        await page.key("Enter")
        assert await page.run(f"{BOX}.value") == "score<1 and outcome:"
        await type_in(page, "score<1 and outcome:wr")
        await page.key("ArrowDown")
        await page.key("Tab")
        assert await page.run(f"{BOX}.value") == "score<1 and outcome:wrong "
        await page.until(f"{SHOWN}.startsWith('29 of 160')")
        assert "q=score%3C1" in await page.run("location.hash")
        await type_in(page, "score<1 and outcome:wrogn")
        await page.until("document.querySelector('.wrong:not([hidden]) mark')?.textContent === 'wrogn'")
        assert "column 21" in await page.run("document.querySelector('.wrong').textContent")
        assert (await page.run(SHOWN)).startswith("29 of 160")
        await type_in(page, 'metadata.year>=2002 and not failure:* and "capital"')
        expected = viewer.get("samples", run="small", q='metadata.year>=2002 and not failure:* and "capital"')["total"]
        await page.until(f"{SHOWN}.startsWith('{expected} of 160')")

    visit(browser, viewer.link, steps)


def test_columns_and_lines_are_chosen_remembered_and_stick(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await to(page, TABLE, ".samples tbody tr")
        await click(page, "button.columns", "Columns")
        for name in ("end of the question", "reason", "judge.grade", "metadata.year", "cost", "match.score"):
            await click(page, ".choices-of-columns label", name)
        await pick(page, "Lines a row", "4")
        await page.until("document.querySelector('.samples.wide.tall td.f-metadata\\\\.year')?.textContent === '2000'")
        await page.run("window.before = true; location.reload()")
        await page.until("!window.before && document.querySelector('.samples.wide.tall td.f-metadata\\\\.year')")
        await page.run("document.querySelector('.scroll').scrollTo(500, 700)")
        place = "(s) => { const r = document.querySelector(s).getBoundingClientRect(); return [r.left, r.top] }"
        scroll, head, cell = [
            await page.run(f"({place})('{each}')") for each in (".scroll", "th.c-id", "tbody tr:nth-child(5) td.c-id")
        ]
        assert head[0] - scroll[0] < 3
        assert head[1] - scroll[1] < 3
        assert cell[0] - scroll[0] < 3
        await click(page, "button.sort", "metadata.year")
        await page.until("document.querySelectorAll('td.f-metadata\\\\.year')[30]?.textContent === '2000'")
        await page.run("localStorage.clear()")

    visit(browser, viewer.link, steps)


def test_rows_that_were_selected_are_marked_and_downloaded(browser: str, viewer: Viewer, folder: Path) -> None:
    async def steps(page: Page) -> None:
        await to(page, TABLE + "?outcome=wrong", ".samples tbody tr")
        await page.key("j")
        await page.key("x")
        await page.key("j")
        await page.key("x")
        bar = "document.querySelector('.selection').textContent"
        assert "2 samples selected" in await page.run(bar)
        links = await page.run("[...document.querySelectorAll('.selection a')].map((a) => a.getAttribute('href'))")
        status, headers, body = viewer.ask(links[0])
        assert (status, headers["content-disposition"]) == (200, 'attachment; filename="small.csv"')
        assert len(body.decode().splitlines()) == 3
        await click(page, ".selection a", "task")
        await page.until("document.querySelector('#toast.on')?.textContent.includes('run this where the run was made')")
        page.console.clear()  # the browser notes the refused request
        await click(page, ".selection button", "✗ wrong")
        await page.until("document.querySelectorAll('.samples .mark').length === 2")
        assert [mark["verdict"] for mark in marks(folder / "small")] == ["wrong", "wrong"]
        await click(page, ".selection button", "Select all 29 that match")
        links = await page.run("[...document.querySelectorAll('.selection a')].map((a) => a.getAttribute('href'))")
        assert "outcome=wrong" in unquote(links[1])
        lines = viewer.ask(links[1])[2].decode().splitlines()
        assert {json.loads(line)["outcome"] for line in lines} == {"wrong"}
        assert len(lines) == 29
        await click(page, ".selection button", "Clear")
        assert await page.run("document.querySelector('.selection').hidden")

    visit(browser, viewer.link, steps)


def test_back_leads_to_the_filters_the_page_the_row_and_the_scroll(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await to(page, TABLE, ".samples tbody tr")
        await click(page, ".outcomes button", "right")
        await page.until(f"{SHOWN}.includes('of 160')")
        right = await page.run(SHOWN)
        await click(page, ".outcomes button", "wrong")
        await page.until(f"{SHOWN} !== {json.dumps(right)}")
        both = await page.run(SHOWN)
        await page.run("scrollTo(0, 900)")
        await page.until("history.state?.y === 900")
        await page.run("document.querySelectorAll('.samples tbody tr')[30].click()")
        await page.until("document.querySelector('.page-sample .glance')")
        await page.run("history.back()")
        await page.until(f"document.querySelector('.page-samples') && {SHOWN} === {json.dumps(both)}")
        await page.until("document.querySelector('tr.chosen') && Math.abs(scrollY - 900) < 5")
        chosen = "[...document.querySelectorAll('.samples tbody tr')].indexOf(document.querySelector('tr.chosen'))"
        assert await page.run(chosen) == 30
        await page.run("history.back()")
        await page.until(f"{SHOWN} === {json.dumps(right)}")

    visit(browser, viewer.link, steps)


def test_samples_of_several_runs_are_read_together_and_side_by_side(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        for name in ("small", "large", "middle"):
            await page.until(f"document.querySelector('input[aria-label=\"choose {name}\"]')")
            await page.run(f"document.querySelector('input[aria-label=\"choose {name}\"]').click()")
        await click(page, "button", "Read their samples together")
        await page.until(f"{SHOWN} === '480 samples'")
        await type_in(page, "run:large and outcome:wrong or model:middle and failure:timeout")
        await page.until(f"{SHOWN} === '17 samples'")
        assert set(await page.run(text("td.c-run"))) == {"large", "middle"}
        await page.run("history.back()")
        await page.until("document.querySelector('.page-runs')")
        await to(page, "#/compare?run=small&run=large&run=middle", ".side tbody tr")
        assert len(await page.run(text(".side thead th"))) == 6
        differing = await page.run(text(".side mark.differs"))
        assert differing
        assert all(differing)

    visit(browser, viewer.link, steps)


def test_one_sample_stands_next_to_other_runs_with_what_differs_marked(browser: str, viewer: Viewer) -> None:
    asked = {"run": "small", "against": ["large", "middle"], "task": "arithmetic", "q": "outcome:wrong"}
    rows = viewer.get("samples", **asked, flip="better")["rows"]
    row = next(each for each in rows if [other["outcome"] for other in each["others"]] == ["right", "right"])
    marks = "[...document.querySelectorAll('.side-of')].map((s) => [s.dataset.run, s.querySelector('mark')?.innerText])"

    async def steps(page: Page) -> None:
        await to(page, f"#/run/small/sample/{row['key']}", ".beside summary")
        await click(page, ".beside summary", "Compare with other runs")
        await click(page, ".beside label", "large")
        read = row["others"][0]["extracted"]
        await page.until("document.querySelectorAll('.side-of').length === 2")
        assert await page.run(marks) == [["small", row["extracted"]], ["large", read]]  # of two, both are marked
        await click(page, ".beside label", "middle")
        await page.until("document.querySelectorAll('.side-of').length === 3")
        assert await page.run(marks) == [["small", None], ["large", read], ["middle", read]]
        assert "against=large&against=middle" in await page.run("location.hash")
        tops = await page.run("[...document.querySelectorAll('.side-of')].map((s) => s.getBoundingClientRect().top)")
        assert len(set(tops)) == 1
        await click(page, ".side-of[data-run=large] button", "Compare with this")
        await page.until(f"({marks})[0][1] === {json.dumps(row['extracted'])}")
        assert await page.run(marks) == [["small", row["extracted"]], ["large", None], ["middle", None]]
        assert "the same answer" in await page.run("document.querySelector('[data-run=middle]').innerText")
        await page.key("j")
        await page.until(f"document.querySelector('.page-sample').dataset.key !== '{row['key']}'")
        await page.until("document.querySelectorAll('.side-of').length === 3")

    visit(browser, viewer.link, steps)


def test_a_page_that_takes_long_says_so_and_keys_lead_out_of_where_they_led_in(browser: str, viewer: Viewer) -> None:
    row = viewer.get("samples", run="small", against=["large"], flip="flipped")["rows"][0]

    async def steps(page: Page) -> None:
        await page.until("document.querySelector('.runs tbody tr')")
        async with page.held("*/api/*"):
            await page.run("location.hash = '#/run/small/samples'")
            await page.until("document.querySelector('#page [role=status] h1')?.textContent === 'Loading…'")
            assert await page.run("document.querySelector('.runname').textContent") == "small"
            assert not await page.run("document.querySelector('.runs')")
        await page.until("document.querySelector('.samples tbody tr')")
        async with page.held("*/api/*"):
            await click(page, ".outcomes button", "wrong")
            await page.until("document.querySelector('.body.waiting[aria-busy=true]')")
        await page.until("document.querySelector('.body[aria-busy=false]:not(.waiting)')")
        await click(page, "button.columns", "Columns")
        await page.run("document.querySelector('.panel input').focus()")
        await page.key("Escape")
        assert (
            await page.run("document.querySelector('.panel').hidden && document.activeElement.className") == "columns"
        )
        await to(page, "#/run/small/samples", ".samples tbody tr")
        await page.run("scrollTo(0, 300)")
        await page.until("history.state?.y === 300")
        await page.run("document.querySelectorAll('.samples tbody .c-id a')[12].click()")
        await page.until("document.querySelector('.glance')")
        before = await page.run("history.length")
        await page.key("Escape")
        await page.until("document.querySelector('.samples tbody tr.chosen') && scrollY === 300")
        assert await page.run("history.length") == before, "it is the same as Back"
        left = await page.run("document.querySelector('tr.chosen').rowIndex")
        await page.key("Enter")
        await page.until("document.querySelector('.glance')")
        key = "document.querySelector('.page-sample')?.dataset.key"
        shown = await page.run(key)
        await page.key("j")
        await page.until(f"{key} && {key} !== '{shown}'")
        await page.key("Escape")
        await page.until("document.querySelector('.samples tbody tr.chosen')")
        assert await page.run("document.querySelector('tr.chosen').rowIndex") == left + 1, "the one read last"
        compare = "#/compare?run=small&run=large"
        await to(page, compare, ".side tbody tr")
        await page.run(
            f"[...document.querySelectorAll('.side a')].find((a) => a.hash.includes('{row['key']}')).click()"
        )
        await page.until("document.querySelectorAll('.page-sample .side-of').length === 2")
        await page.key("Escape")
        await page.until("document.querySelector('.page-compare .side tbody tr')")
        assert compare in await page.run("location.hash")

    visit(browser, viewer.link, steps)
