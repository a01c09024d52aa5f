"""The page of one sample in a real Chromium: read in one glance, rendered, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.viewer.browser import Page
from tests.viewer.page_steps import click, text, to, visit
from tests.viewer.rich_runs import make_rich, make_world
from tests.viewer.served import Viewer, viewing

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from assay.viewer.export import export_site

FEW_SHOT = "#/run/rich/sample/0000000000000001"


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("sample")
    make_rich(folder / "rich")
    make_world(folder / "world")
    with viewing(folder) as found:
        yield found


def key(viewer: Viewer, task: str) -> str:
    return str(viewer.get("samples", run="rich", task=task)["rows"][0]["key"])


def test_a_few_shot_sample_shows_its_own_question_in_table_glance_and_conversation(
    browser: str, viewer: Viewer
) -> None:
    async def steps(page: Page) -> None:
        await to(page, "#/run/rich/samples", ".samples tbody tr")
        asked = await page.run(text(".samples tbody td.f-input"))
        assert asked[0].startswith("Question: Janet's ducks")
        await to(page, FEW_SHOT, ".glance")
        glance = await page.run("document.querySelector('.glance').innerText")
        for part in ("Input", "Janet's ducks", "Target", "112", "Answer (as read)", "Score", "1.000", "right"):
            assert part in glance
        assert "What is 2 + 2" not in await page.run("document.querySelector('.page').innerText")
        assert await page.run(text(".messages summary")) == ["8 few-shot examples, the same in every sample"]
        await click(page, "summary", "8 few-shot examples")
        await page.until("document.querySelector('.messages').innerText.includes('What is 2 + 2')")
        assert await page.run("document.querySelectorAll('.page-sample del, .page-sample .bad').length") == 0
        await page.run("document.querySelector('.attempts a').click()")
        await page.until("document.querySelector('.attempts .here')?.textContent.includes('2')")
        await page.until("document.querySelector('.page-sample del')")
        await to(page, "#/run/rich", ".head a.button")
        await click(page, ".head a", "Sometimes right")
        await page.until("document.querySelectorAll('.samples tbody tr').length === 2")
        assert await page.run(text(".samples tbody .c-id a")) == ["ari-000", "ari-000"]

    visit(browser, viewer.link, steps)


SHOWN = """(() => { const answer = document.querySelector('[aria-label=answer]'); return {
  bold: answer.querySelector('strong')?.textContent, cell: answer.querySelector('td em')?.textContent,
  word: answer.querySelector('.hl-keyword')?.textContent, sums: answer.querySelectorAll('math').length,
  fraction: answer.querySelector('mfrac')?.textContent, links: answer.querySelectorAll('a').length,
  far: answer.querySelectorAll('img').length, markup: answer.querySelectorAll('b').length,
  products: answer.innerText.includes('So 3*60 = 180, and 30*2 is less.'), rows: answer.querySelectorAll('mtr').length,
  side: getComputedStyle(answer.querySelector('td')).textAlign,
  money: answer.innerText.includes('costs $5 and $6'), address: answer.innerText.includes('(https://example.org/x)'),
}; })()"""
EXPECTED = {
    "bold": "answer",
    "cell": "two",
    "word": "def",
    "sums": 3,
    "fraction": "13",
    "links": 0,
    "far": 0,
    "markup": 0,
    "products": True,
    "rows": 2,
    "side": "right",
    "money": True,
    "address": True,
}


def test_markdown_maths_code_and_pictures_are_rendered_from_tokens_and_raw_is_remembered(
    browser: str, viewer: Viewer, tmp_path: Path
) -> None:
    place = f"#/run/rich/sample/{key(viewer, 'capitals')}"

    async def steps(page: Page) -> None:
        await to(page, place, ".markdown")
        assert await page.run(SHOWN) == EXPECTED
        await page.until("document.querySelector('.turn img.picture').naturalWidth === 8")
        assert await page.run("document.querySelectorAll('.turn audio').length") == 1
        glance = "document.querySelectorAll('.glance .markdown').length"
        assert await page.run(glance) >= 1, "a long answer is read in the glance as below"
        await click(page, "button", "Raw")
        assert await page.run(glance) == 0
        await page.until("document.querySelector('[aria-label=answer] .prose')?.textContent.startsWith('### Result')")
        preview = "[...document.querySelectorAll('.f-answer')].find((e) => /Result/.test(e.textContent)).textContent"
        await to(page, "#/run/rich/samples", ".samples tbody tr")
        assert (await page.run(preview)).startswith("### Result The **answer** follows from $a^2+b^2=c^2$ and costs $5")
        await to(page, place, "[aria-label=answer] .prose")
        await click(page, "button", "Rendered")
        await page.until("document.querySelector('.markdown')")
        await to(page, "#/run/rich/samples", ".samples tbody tr")
        assert (await page.run(preview)).startswith("Result The answer follows from $a^2+b^2=c^2$ and costs $5")

    visit(browser, viewer.link, steps)
    folder = make_rich(tmp_path / "rich").parent
    visit(browser, export_site([folder], tmp_path / "site", 100).as_uri(), steps)


def test_a_tool_call_stands_with_its_result_and_reasoning_before_its_words(browser: str, viewer: Viewer) -> None:
    async def steps(page: Page) -> None:
        await to(page, f"#/run/rich/sample/{key(viewer, 'summaries')}", ".call")
        assert await page.run(text(".turn > .role")) == ["user", "assistant", "assistant"]
        call = await page.run("document.querySelector('.call').innerText")
        order = [call.index(part) for part in ("get_weather", "city", "Oslo", "result", "temp", "3")]
        assert order == sorted(order)
        assert await page.run("[...document.querySelectorAll('.call .tree summary')].map((s) => s.textContent)") == [
            "{1}",
            "{1}",
        ], "arguments and result are trees"
        assert "Three degrees above zero." in await page.run("document.querySelector('.glance').innerText")
        last = await page.run("document.querySelector('.turn:last-child').innerText")
        assert last.index("Three degrees.") < last.index("It is 3 degrees.")

    visit(browser, viewer.link, steps)


def test_a_metric_shows_what_it_found_and_a_right_answer_is_not_red(browser: str, viewer: Viewer) -> None:
    row = viewer.get("samples", run="rich", q="green square")["rows"][0]

    async def steps(page: Page) -> None:
        await to(page, f"#/run/rich/sample/{row['key']}", ".page-sample mark")
        assert await page.run(text("mark")) == ["red"]
        assert await page.run("document.querySelector('mark').previousSibling.textContent") == (
            "It is a green square, not a "
        )
        assert await page.run("document.querySelectorAll('del, ins, .page-sample .bad').length") == 0

    visit(browser, viewer.link, steps)


def test_the_table_shows_what_was_scored_two_outcomes_at_once_and_is_come_back_to(browser: str, viewer: Viewer) -> None:
    shown = "document.querySelector('.summary b')?.textContent"

    async def steps(page: Page) -> None:
        await to(page, "#/run/rich/samples", ".samples tbody tr")
        assert (await page.run(text(".samples tbody .read")))[:2] == ["112", "96"]
        await click(page, ".outcomes button", "wrong")
        await page.until(f"{shown} === '2 of 7 samples'")
        await click(page, ".outcomes button", "right")
        await page.until(f"{shown} === '5 of 7 samples'")
        await page.run("history.back()")
        await page.until(f"{shown} === '2 of 7 samples'")
        await page.run("document.querySelectorAll('.samples tbody .c-id a')[1].click()")
        await page.until("document.querySelector('.glance')")
        await page.key("Escape")
        await page.until("document.querySelector('tr.chosen')")
        chosen = "[...document.querySelectorAll('.samples tbody tr')].indexOf(document.querySelector('tr.chosen'))"
        assert await page.run(chosen) == 1
        assert "outcome=wrong" in await page.run("location.hash")

    visit(browser, viewer.link, steps)


def test_any_script_is_found_and_read_in_its_direction_and_long_answers_stay_quick(
    browser: str, viewer: Viewer
) -> None:
    rows = {row["id"]: row["key"] for row in viewer.get("samples", run="world")["rows"]}
    turned = "getComputedStyle(document.querySelector('.turn.r-assistant .prose')).direction"

    async def steps(page: Page) -> None:
        await to(page, "#/run/world/samples?q=東京", ".samples tbody tr")
        assert await page.run(text(".samples tbody .c-id a")) == ["cap-000"]
        await page.run("document.querySelector('.samples tbody .c-id a').click()")
        await page.until("document.querySelector('.glance')?.innerText.includes('日本の首都はどこですか。')")
        assert await page.run("document.title.split(' ')[0]") == "cap-000"
        await to(page, f"#/run/world/sample/{rows['cap-001']}", f".page-sample[data-key='{rows['cap-001']}']")
        assert await page.run(turned) == "rtl"
        await to(page, f"#/run/world/sample/{rows['cap-002']}", f".page-sample[data-key='{rows['cap-002']}']")
        assert await page.run("document.querySelector('[aria-label=answer]').textContent.length") >= 100_000
        await to(page, f"#/run/world/sample/{rows['cap-003']}", f".page-sample[data-key='{rows['cap-003']}']")
        assert await page.run(text(".turn > .role")) == ["user", "assistant", "user", "assistant"]
        assert "Somewhere cheaper" in await page.run("document.querySelector('.glance').innerText")
        await to(page, "#/run/world/nonsense", ".error")
        assert "no page “nonsense”" in await page.run("document.querySelector('.error').innerText")

    visit(browser, viewer.link, steps)
