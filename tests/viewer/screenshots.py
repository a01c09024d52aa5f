"""Pictures of eight pages for the documentation: `python -m tests.viewer.screenshots`, which `make docs` runs."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from pathlib import Path

from tests.chromium import PROGRAM, REASON
from tests.viewer.browser import Page, chromium, new_page
from tests.viewer.demo_runs import make_demo
from tests.viewer.page_steps import to
from tests.viewer.rich_runs import make_rich
from tests.viewer.served import Viewer, viewing

from assay.cli.main import main
from assay.results.marks import Mark, MarkVerdict, append_mark

FOLDER = Path(__file__).parents[2] / "docs" / "images"
LARGEST = 200_000
"""Bytes of one picture."""
WIDTH, HEIGHT = 1280, 860
REPORT = "report"
PLACES = {
    "runs": ("#/", ".runs tbody tr"),
    "run": ("#/run/large", "table[aria-label='Slices by difficulty'] tbody tr"),
    "samples": ("#/run/large/samples", ".samples tbody tr"),
    "sample": ("#/run/conversations/sample/{rich}", ".markdown mfrac"),
    "tools": ("#/run/conversations/sample/{tools}", ".call"),
    "compare": ("#/compare?run=small&run=large", ".samples tbody tr"),
    "marks": ("#/run/medium/marks", "table[aria-label=Marks] tbody tr"),
}
"""Name of the picture, where it is taken, and what has to be there first."""


def make_runs(folder: Path, each: int = 40) -> Path:
    """Runs like those that people have, one of them marked by two."""
    for name, skill in (("small", 0.5), ("medium", 0.7), ("large", 0.9)):
        make_demo(folder / name, model=f"acme-{name}", skill=skill, each=each)
    make_rich(folder / "conversations")
    _mark(folder / "medium")
    return folder


def _mark(run: Path) -> None:
    """Two people who agree with most scores, and with each other on most samples."""
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    scored = [line for line in lines if line.get("scores")][:30]
    for name, every in (("ann", 11), ("bob", 9)):
        for place, line in enumerate(scored):
            right = (line["scores"][0]["values"]["score"] >= 0.5) is not (place % every == every - 1)
            verdict: MarkVerdict = "right" if right else "wrong"
            about = {"key": line["key"], "task": line["task"], "sample_id": line["sample_id"]}
            append_mark(run, Mark(**about, verdict=verdict, by=name, blind=True, time="2026-11-17T09:30:00Z"))


def take(browser: str, viewer: Viewer, runs: Path, into: Path) -> list[Path]:
    """Every picture, written as WebP."""
    into.mkdir(parents=True, exist_ok=True)
    tools, rich = (
        viewer.get("samples", run="conversations", task=task)["rows"][0]["key"] for task in ("summaries", "capitals")
    )
    report = runs.parent / "report.html"
    assert main(["report", *(str(runs / name) for name in ("small", "medium", "large")), "--output", str(report)]) == 0

    async def go() -> list[Path]:
        async with new_page(browser) as page:
            await page.size(WIDTH, HEIGHT)
            await page.open(viewer.link)
            made = []
            for name, (place, ready) in PLACES.items():
                await page.until("document.querySelector('#page .page')")
                await to(page, place.format(tools=tools, rich=rich), ready)
                made.append(await _keep(page, into / f"{name}.webp"))
            await page.open(report.as_uri())
            await page.until("document.querySelector('footer')")
            return [*made, await _keep(page, into / f"{REPORT}.webp")]

    return asyncio.run(go())


async def _keep(page: Page, path: Path) -> Path:
    await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shot = await page.send("Page.captureScreenshot", format="webp", quality=72)
    path.write_bytes(base64.b64decode(shot["data"]))
    return path


def run() -> None:
    if PROGRAM is None:
        print(f"no pictures were taken: {REASON}")
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = make_runs(Path(folder) / "runs")
        with viewing(runs) as viewer, chromium() as browser:
            for path in take(browser, viewer, runs, FOLDER):
                print(f"{path.relative_to(FOLDER.parents[1])} {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    run()
