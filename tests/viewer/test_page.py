"""The page in a real Chromium: everything a reader can do, and that nothing leaves the machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.results.board.scripted_boards import write_run
from tests.results.yaml_runs import EQUALS, run_task, write_task
from tests.viewer.browser import Page, new_page
from tests.viewer.demo_runs import HOSTILE, make_demo, make_hostile, marks
from tests.viewer.page_steps import click, pick, text, to, visit, write
from tests.viewer.served import Viewer, viewing

from assay.core.types import Score

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from assay.viewer.entry import OPEN

ACTIVE = "#page script, #page iframe, #page svg:not(.plotted > svg), #page a[href^=javascript], #page [onerror]"
ACTIVE += ", #page [onload]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    make_demo(folder / "small", model="small", skill=0.5)
    make_demo(folder / "large", model="large", skill=0.9)
    make_hostile(folder / "hostile")
    return folder


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder) as found:
        yield found


def test_all_runs_are_listed_searched_sorted_and_compared(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await page.until("document.querySelectorAll('table.runs tbody tr').length === 3")
        small = await page.run(
            "[...document.querySelectorAll('.runs tbody tr')].find((r) => r.textContent.includes('small')).innerText"
        )
        for part in ("small", "arithmetic", "programs", "–", "16", "160 of 160", "finished with failures"):
            assert part in small
        await click(page, "button.sort", "Score")
        assert (await page.run(text("table.runs .c-model a")))[0] == "large"
        await click(page, "button.sort", "Score")
        assert (await page.run(text("table.runs .c-model a")))[-1] == "large"
        await write(page, "Search runs", "larg arith")
        assert await page.run(text("table.runs .c-model a")) == ["large"]
        await write(page, "Search runs", "")
        for name in ("small", "large"):
            await page.run(f"document.querySelector('input[aria-label=\"choose {name}\"]').click()")
        await click(page, "button.primary", "Compare 2 runs")
        await page.until("document.querySelector('.page-compare .verdict')")
        assert "large is better than small" in await page.run("document.querySelector('.verdict').textContent")

    visit(browser, viewer.link, steps)


def test_one_run_shows_leaderboard_distributions_failures_slices_and_provenance(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await to(page, "#/run/small", "table[aria-label='Leaderboard']")
        rows = await page.run(text("table[aria-label='Leaderboard'] tbody tr"))
        assert [row.split("e", 1)[0] for row in rows[-1:]] == ["ov"]
        assert len(rows) == 5
        assert await page.run("document.querySelectorAll('.small-multiple').length") == 4
        assert any(
            "model/timeout" in row for row in await page.run(text("table[aria-label='Failures by kind'] tbody tr"))
        )
        await pick(page, "Slice by", "year")
        await page.until("document.querySelector('table[aria-label=\"Slices by year\"]')")
        values = await page.run(text("table[aria-label='Slices by year'] tbody td:first-child"))
        assert {"2000", "2001", "2002", "2003"} <= set(values)
        bar = "[...document.querySelectorAll('.for-page .m')].find((m) => /^ari.* from 0.95 to 1/.test(m.ariaLabel))"
        await page.until(bar)
        await page.run(f"{bar}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        await page.until("document.querySelector('.page-samples tbody tr')")
        assert "low=0.95" in await page.run("location.hash")
        assert set(await page.run(text(".samples tbody .badge .visually-hidden"))) <= {"right", "excluded"}
        await to(page, "#/run/small/provenance", ".page-provenance .command")
        assert (await page.run("document.querySelector('.command').textContent")).startswith(
            "assay run tasks/ --model openai:small"
        )
        body = await page.run("document.body.innerText")
        for part in ("Versions", "3.11.7", "fingerprint", "content sha256", "temperature"):
            assert part in body

    visit(browser, viewer.link, steps)


def test_the_table_is_filtered_sorted_and_searched(browser: str, viewer: Viewer) -> None:
    shown = "document.querySelector('.summary b').textContent"

    async def steps(page: Page) -> None:
        await to(page, "#/run/small/samples", ".samples tbody tr")
        await page.until(f"{shown} === '160 samples'")
        for label, value, many in (("Task", "capitals", 40), ("Failure kind", "model/timeout", 3)):
            await pick(page, label, value)
            await page.until(f"{shown} === '{many} of 160 samples'")
        await click(page, "button", "Clear filters")
        await page.until(f"{shown} === '160 samples'")
        await click(page, ".outcomes button", "wrong")
        await page.until(
            "[...document.querySelectorAll('.samples tbody .badge .visually-hidden')]"
            ".every((e) => e.textContent === 'wrong')"
        )
        await click(page, "button", "Clear filters")
        await pick(page, "Metadata key", "difficulty")
        await pick(page, "value of difficulty", "hard")
        await page.until(f"{shown} === '52 of 160 samples'")
        await write(page, "from score", "0.4", "change")
        await write(page, "to score", "0.9", "change")
        scores = "[...document.querySelectorAll('.samples tbody td.f-score')].map((e) => +e.textContent)"
        await page.until(f"{scores}.every((score) => score >= 0.4 && score <= 0.9)")
        await click(page, "button", "Clear filters")
        await write(page, "Search samples", '"capital of Peru"')
        peru = viewer.get("samples", run="small", q='"capital of Peru"')["total"]
        await page.until(f"{shown} === '{peru} of 160 samples'")
        await click(page, "button", "Clear filters")
        await click(page, "button.sort", "score")
        # a second click before the table was drawn again would ask for the same order
        await page.until("document.querySelector('.samples th[aria-sort=ascending]')")
        await click(page, "button.sort", "score")
        await page.until("document.querySelector('.samples tbody td.f-score').textContent === '1.00'")
        await pick(page, "Compare with another run", "large")
        await pick(page, "Change", "worse")
        await page.until("location.hash.includes('flip=worse')")
        worse = viewer.get("samples", run="small", against="large", flip="worse")["total"]
        await page.until(f"{shown} === '{worse} of 160 samples'")

    visit(browser, viewer.link, steps)


def test_keys_move_through_the_table_and_between_samples(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await to(page, "#/run/small/samples?outcome=wrong", ".samples tbody tr")
        ids = await page.run(text(".samples .c-id a"))
        await page.key("j")
        await page.key("j")
        await page.until("document.querySelectorAll('tr.chosen').length === 1")
        assert await page.run("document.querySelector('tr.chosen .c-id a').textContent") == ids[1]
        await page.key("Enter")
        await page.until(f"document.querySelector('h1.name')?.textContent === {json.dumps(ids[1])}")
        await page.until("document.querySelector('.places .quiet')?.textContent.startsWith('2 of')")
        for key, expected in (("j", ids[2]), ("k", ids[1]), ("ArrowLeft", ids[0]), ("ArrowRight", ids[1])):
            await page.key(key)
            await page.until(f"document.querySelector('h1.name')?.textContent === {json.dumps(expected)}")
            await page.until("document.querySelector('.places .quiet')")
        await page.key("Escape")
        await page.until("document.querySelector('.page-samples')")
        assert "outcome=wrong" in await page.run("location.hash")
        await page.key("/")
        assert await page.run("document.activeElement.type") == "search"

    visit(browser, viewer.link, steps)


def test_enter_does_what_has_the_focus_does(browser: str, viewer: Viewer) -> None:
    async def focus(page: Page, selector: str, label: str) -> None:
        every = f"[...document.querySelectorAll({json.dumps(selector)})]"
        found = f"{every}.find((e) => e.textContent.includes({json.dumps(label)}))"
        await page.until(f"{found} && ({found}.focus(), document.activeElement === {found})")

    async def steps(page: Page) -> None:
        await to(page, "#/run/small/samples?outcome=wrong", ".samples tbody tr")
        await focus(page, "button", "Clear filters")
        await page.key("Enter")
        await page.until("location.hash === '#/run/small/samples'")
        await focus(page, ".tab", "Overview")
        await page.key("Enter")
        await page.until("document.querySelector('.page-overview')")
        await focus(page, "table[aria-label='Failures by kind'] a", "model/timeout")
        await page.key("Enter")
        await page.until("location.hash.includes('failure=model')")
        await to(page, "#/compare?run=small&run=large", ".side tbody tr")
        await focus(page, "button", "all samples")
        await page.key("Enter")
        await page.until("document.querySelector('.summary').textContent === '160 samples'")

    visit(browser, viewer.link, steps)


def test_one_sample_shows_all_there_is_to_know(browser: str, viewer: Viewer) -> None:
    def key(**filters: str) -> str:
        return str(viewer.get("samples", run="small", **filters)["rows"][0]["key"])

    async def steps(page: Page) -> None:
        await to(page, f"#/run/small/sample/{key(task='capitals', outcome='wrong')}", ".turn")
        assert await page.run(text(".turn .role")) == ["system", "user", "assistant"]
        await to(page, f"#/run/small/sample/{key(task='arithmetic', outcome='wrong')}", ".page-sample del")
        await page.until("document.querySelector('[aria-label=answer]')?.textContent.includes(' is ')")
        assert await page.run(text(".compare-two .label")) == ["answer, as read", "target"]
        assert await page.run(text(".glance .label")) == ["Input", "Target", "Answer (as read)", "Score"]
        assert await page.run("document.querySelectorAll('ins').length") >= 1
        facts = await page.run("document.querySelector('.facts').innerText")
        for part in ("tokens", "in, ", "latency", "retries", "finish reason", "metadata: difficulty", "journal line"):
            assert part in facts
        await click(page, "summary", "The exact request")
        request = json.loads(await page.until("document.querySelector('details[open] .json')?.textContent"))
        assert (request["temperature"], request["seed"], request["max_tokens"]) == (0.2, 7, 256)
        assert request["prompt"].startswith("Compute")
        await to(page, f"#/run/small/sample/{key(task='summaries', outcome='partial')}", ".page-sample .score")
        await page.until("document.querySelector('.page-sample h1').textContent.startsWith('sum')")
        judged = await page.run("document.querySelector('.score').textContent")
        for part in ("grade", "poor", "reason", "postponed", "judge", "prompt", "verdict", "misses the outcome"):
            assert part in judged
        await to(page, f"#/run/small/sample/{key(task='programs', outcome='partial')}", ".page-sample .checks")
        code = await page.run("document.querySelector('.score').textContent")
        for part in ("✓ pass", "✗ error", "add(2, 2) == 4", "stderr", "AssertionError"):
            assert part in code
        await to(page, f"#/run/small/sample/{key(outcome='timeout')}", ".card.failure")
        broken = await page.run("document.querySelector('.card.failure').textContent")
        assert "no answer within 30 s" in broken
        assert 'File "own_model.py", line 7, in <listcomp>' in broken

    visit(browser, viewer.link, steps)


def test_a_sample_is_copied_as_json_and_its_link_leads_back(browser: str, viewer: Viewer) -> None:
    row = viewer.get("samples", run="small", outcome="partial")["rows"][0]

    async def steps(page: Page) -> None:
        await page.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        await to(page, f"#/run/small/sample/{row['key']}?outcome=partial", "h1.name")
        await page.send("Page.bringToFront")
        await click(page, "button", "Copy JSON")
        await page.until("document.querySelector('#toast').textContent === 'Copied as JSON'")
        copied = json.loads(await page.run("navigator.clipboard.readText()"))
        assert (copied["key"], copied["sample_id"]) == (row["key"], row["id"])
        await click(page, "button", "Copy link")
        await page.until("document.querySelector('#toast').textContent === 'Link copied'")
        link = await page.run("navigator.clipboard.readText()")
        assert "token" not in link
        await page.open("about:blank")
        await page.open(link)
        await page.until(f"document.querySelector('h1.name')?.textContent === {json.dumps(row['id'])}")

    visit(browser, viewer.link, steps)


def test_runs_are_compared_side_by_side(browser: str, viewer: Viewer) -> None:
    paired = viewer.get("compare", run=["small", "large"])["pairs"][0]["overall"]

    async def steps(page: Page) -> None:
        await to(page, "#/compare?run=small&run=large", ".side tbody tr")
        top = await page.run("document.querySelector('.page-compare .card').innerText")
        assert f"{paired['wins']}\t{paired['losses']}" in top.replace("\n", "")
        flips = paired["wins"] + paired["losses"]
        assert await page.run("document.querySelector('.summary').textContent") == f"{flips} samples"
        assert await page.run("document.querySelectorAll('.side tbody tr:first-child td.side').length") == 2
        await click(page, "button", "all samples")
        await page.until("document.querySelector('.summary').textContent === '160 samples'")
        await to(page, "#/compare?run=small&run=large&run=hostile", ".side tbody tr")
        await page.until("document.querySelectorAll('.page-compare details.pair').length === 2")
        lines = "table[aria-label='Runs against the first'] tbody tr td:first-child"
        assert await page.run(text(lines)) == ["large", "<b onmouseover=alert(1)>hostile</b>"]
        assert await page.run("document.querySelector('.samples').getBoundingClientRect().top") < 600

    visit(browser, viewer.link, steps)


def test_a_reader_marks_samples_and_sees_the_agreement(browser: str, tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "run", each=12, skill=0.3)

    async def steps(page: Page) -> None:
        await to(page, "#/run/run/samples?outcome=wrong", ".samples tbody tr")
        await page.key("Enter")
        await page.until("document.querySelector('.marking button')")
        await page.key("1")
        await page.until("document.querySelector('.marking .on')?.textContent.includes('right')")
        await write(page, "Note", "the <target> is wrong", "change")
        await page.until("document.querySelector('#toast').textContent.startsWith('Marked')")
        await page.key("j")
        await page.until("document.querySelector('.places .quiet')?.textContent.startsWith('2 of')")
        await page.key("2")
        await page.until("document.querySelector('.marking .on')?.textContent.includes('wrong')")
        await to(page, "#/run/run/marks", "table[aria-label='Marks'] tbody tr")
        await page.until("document.querySelectorAll('table[aria-label=\"Marks\"] tbody tr').length === 2")
        body = await page.run("document.body.innerText")
        assert "50 %" in body
        assert "the <target> is wrong" in body
        await to(page, "#/run/run/samples?mark=disagree", ".samples tbody tr")
        assert await page.run("document.querySelectorAll('.samples tbody tr').length") == 1
        await page.run("document.querySelector('.samples tbody .c-id a').click()")
        await page.until("document.querySelector('.glance .value')")
        await write(page, "Your name", "ann", "change")
        await click(page, ".marking button", "Blind")
        await page.until("document.querySelector('.glance').innerText.includes('hidden until you have marked it')")
        hidden = "document.querySelectorAll('.glance .badge, .glance .value, .score').length"
        assert await page.run(hidden) == 0
        assert "marked right" not in await page.run("document.querySelector('.page').innerText")
        await page.key("2")
        await page.until("document.querySelector('.glance .value')")
        assert "somebody marked right" in await page.run("document.querySelector('.marking').innerText")
        await page.run("localStorage.clear()")

    with viewing(folder) as viewer:
        visit(browser, viewer.link, steps)
    kept = marks(folder)
    assert [(each["verdict"], each.get("note", ""), each.get("by"), each.get("blind")) for each in kept][-3:] == [
        ("right", "the <target> is wrong", None, None),
        ("wrong", "", None, None),
        ("wrong", "", "ann", True),
    ]


def test_hostile_content_is_text_everywhere(browser: str, viewer: Viewer) -> None:
    rows = viewer.get("samples", run="hostile", limit=500)["rows"]

    async def steps(page: Page) -> None:
        await page.until("document.querySelector('table.runs')")
        for place in ("", "/samples", "/provenance", "/marks"):
            await to(page, f"#/run/hostile{place}", f".page-{place[1:] or 'overview'}")
            # charts are drawings of our own, of elements that can do nothing
            active = f"{ACTIVE}, #page b[onmouseover], .plotted :is(script, foreignObject, a, image, use)"
            assert await page.run(f"document.querySelectorAll({json.dumps(active)}).length") == 0
        for row in rows:
            await page.run(f"location.hash = '#/run/hostile/sample/{row['key']}'")
            await page.until(f"document.querySelector('.page-sample')?.dataset.key === {json.dumps(row['key'])}")
            await page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            assert await page.run(f"document.querySelectorAll({json.dumps(ACTIVE)}).length") == 0
        await page.run(
            f"location.hash = '#/run/hostile/sample/{next(r['key'] for r in rows if r['id'].startswith('script'))}'"
        )
        await page.until("document.querySelector('h1.name')?.textContent.startsWith('script')")
        assert HOSTILE["script"] in await page.run("document.querySelector('[aria-label=answer]').textContent")
        await page.run(
            f"location.hash = '#/run/hostile/sample/{next(r['key'] for r in rows if r['id'].startswith('rtl'))}'"
        )
        await page.until("document.querySelector('h1.name')?.textContent.startsWith('rtl')")
        assert "⟦RLO⟧" in await page.run("document.querySelector('[aria-label=answer]').textContent")
        assert await page.run("window.hacked") is None

    visit(browser, viewer.link, steps)


def test_a_five_megabyte_answer_is_cut_and_shown_whole_on_request(browser: str, viewer: Viewer) -> None:
    row = viewer.get("samples", run="hostile", q="long answer")["rows"][0]

    async def steps(page: Page) -> None:
        await to(page, f"#/run/hostile/sample/{row['key']}", "[aria-label=answer]")
        assert await page.run("document.querySelector('[aria-label=answer] .prose').textContent.length") == 100_000
        await click(page, "button", "Show everything")
        await page.until("document.querySelector('[aria-label=answer] .prose').textContent.length === 5000012")

    visit(browser, viewer.link, steps)


def test_weak_passes_stand_next_to_the_outcome(browser: str, tmp_path: Path) -> None:
    weak, strong = (
        Score(name="code", values={"score": 1.0, "outcome": "pass"}, metadata={"grade": grade})
        for grade in ("weak", "strong")
    )
    write_run(tmp_path / "graded", {"code": [[weak], [strong], [weak]]})

    async def steps(page: Page) -> None:
        await to(page, "#/run/graded", "table[aria-label='Leaderboard']")
        assert "weak passes" in await page.run("document.querySelector('table[aria-label=Leaderboard]').innerText")
        await to(page, "#/run/graded/samples", ".samples tbody tr")
        assert await page.run(text(".samples td.c-sign")) == ["✓right weak", "✓right", "✓right weak"]
        await page.run("document.querySelector('.samples td.c-id a').click()")
        await page.until("document.querySelector('h1.name')")
        assert "weak" in await page.run("document.querySelector('.glance').innerText")

    with viewing(tmp_path) as viewer:
        visit(browser, viewer.link, steps)


def test_a_page_from_a_file_leads_in(browser: str, folder: Path, tmp_path: Path) -> None:
    """As the browser does that `assay view` starts: it comes from elsewhere, and its cookie counts all the same."""
    with viewing(folder) as viewer:
        (tmp_path / "open.html").write_text(OPEN.format(link=viewer.link))

        async def go() -> None:
            async with new_page(browser) as page:
                await page.open((tmp_path / "open.html").as_uri())
                await page.until("document.querySelector('#page .page')")
                assert await page.run("location.href") == viewer.base
                await page.open(viewer.link)
                await page.until("document.querySelector('#page .page')")

        asyncio.run(go())


def test_a_run_shows_what_people_call_its_tasks_and_scorers_and_what_these_are_for(
    browser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scorers = [{**EQUALS, "display_name": "Same <b>text</b>"}, {"key": "check", "type": "is_json", "purpose": "qa"}]
    path = write_task(tmp_path, [{"q": "a", "a": "a"}], scorers)
    path.write_text(path.read_text().replace('"display_name": "T"', '"display_name": "Echoes"'))
    run_task(path)

    async def steps(page: Page) -> None:
        await to(page, "#/run/run", "table[aria-label='Leaderboard']")
        assert await page.run(text("table[aria-label='Leaderboard'] .called")) == ["Echoes"]
        await to(page, "#/run/run/provenance", "table[aria-label='Scorers']")
        shown = await page.run(text("table[aria-label='Scorers'] tbody td"))
        assert shown == ["t", "Echoes", "Same <b>text</b>", "score", "t", "Echoes", "check", "qa"]

    with viewing(tmp_path) as viewer:
        visit(browser, viewer.link, steps)
