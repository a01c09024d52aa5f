"""What a notebook shows: our parts with their style, which stays at home; what models wrote stays text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from tests.results.browser import browser, needs_chromium
from tests.results.every_kind import write_run

import assay
from assay.core.types import Failure, Record, Score, Trace
from assay.storage.checksum import with_checksums

EVIL = "</style></pre><script>window.taken = 1</script><img src=x onerror='window.taken = 1'>"


def write_evil(folder: Path) -> assay.Run:
    write_run(folder, EVIL, 0.5, ("graded",))
    scores = (Score(name=EVIL, values={EVIL: EVIL, "score": 0.5}, reason=EVIL, answer=EVIL),)
    known = {"task": "graded", "targets": (EVIL,), "metadata": {EVIL: EVIL}, "scores": scores}
    broken = Failure(stage="model", kind=EVIL, message=EVIL, part=EVIL)
    records = [
        Record(key="01", sample_id=EVIL, index=0, trace=Trace(prediction=EVIL, prompt=EVIL), **known),
        Record(key="02", sample_id="s2", index=1, last_request=EVIL, failures=(broken,), **known),
    ]
    (folder / "journal.jsonl").write_bytes(bytes(with_checksums([msgspec.json.encode(each) for each in records], 1)))
    return assay.open_run(folder)


def everything_of(run: assay.Run) -> str:
    parts = [run, run.leaderboard, run.diff(run), run.sample(EVIL), run.sample("s2"), next(run.attempts())]
    return "".join(part._repr_html_() for part in parts)


def test_everything_that_models_and_files_say_is_text(tmp_path: Path) -> None:
    shown = everything_of(write_evil(tmp_path / "run"))
    assert "<script" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;" in shown


def test_a_failed_attempt_shows_its_request_and_what_broke(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "m", 0.5, ("failed",))
    shown = assay.open_run(tmp_path / "run").sample("s3")._repr_html_()
    assert "model, timeout: " in shown
    assert "no answer" in shown


def test_a_sample_that_was_attempted_a_hundred_times_does_not_fill_the_notebook(tmp_path: Path) -> None:
    run = assay.open_run(write_run(tmp_path / "run", "m", 0.5, ("graded",), repeat=25))
    shown = run.sample("s0")._repr_html_()
    assert shown.count("<h4>graded: ") == 20
    assert "5 more attempts" in shown


@needs_chromium
def test_in_a_browser_the_style_reaches_only_our_part_and_nothing_runs(tmp_path: Path) -> None:
    page_file = tmp_path / "notebook.html"
    page_file.write_text(
        "<!doctype html><meta charset=utf-8><body><table id=theirs><tr><td>x</table>"
        + everything_of(write_evil(tmp_path / "run"))
    )

    async def look() -> None:
        async with browser(tmp_path / "profile") as page:
            await page.open(page_file)
            assert await page.evaluate("window.taken === undefined")
            style = "getComputedStyle(document.querySelector('{}')).{}"
            assert await page.evaluate(style.format(".assay-notebook table", "borderCollapse")) == "collapse"
            assert await page.evaluate(style.format("#theirs", "borderCollapse")) == "separate"
            assert await page.evaluate(style.format("body", "maxWidth")) == "none"
            assert not [each for each in page.requests if not each.startswith("file:")]

    asyncio.run(look())
