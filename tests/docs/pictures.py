"""The pictures of `docs/statistics.md`: charts of the pages that commands write, as SVG files.

`python -m tests.docs.pictures` writes them; a test fails when they are stale. The runs are those of the example
`checkpoints`, four made-up models and nine made-up nights.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

import numpy as np

from assay.cli.main import main
from assay.pages.charts.figure import style_sheet
from tests.results.scored_runs import Scores, write_scored

FOLDER = Path(__file__).parents[2] / "docs" / "images"
LIGHT = "--page-ink:#1f2328;--page-quiet:#59636e;--page-ground:#ffffff;--page-line:#d1d9e0;--page-soft:#f6f8fa"
DARK = "--page-ink:#f0f6fc;--page-quiet:#9198a1;--page-ground:#0d1117;--page-line:#3d444d;--page-soft:#151b23"
PICTURES = {
    "score": ("report runs/before --output", "Score per task"),
    "difference": ("diff runs/before runs/after --html", "checkpoints:after minus"),
    "power": ("plan tasks/sums.jsonl --detect 0.05 --guess 0.7,disagree=0.15 --html", "sums"),
    "ranks": ("leaderboard ranked/large ranked/medium ranked/small ranked/tiny --html", "Overall score"),
    "history": ("history nights --html", "Score in order"),
}
"""The command whose page has the chart, and how its title begins."""


def pictures() -> dict[Path, str]:
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name), contextlib.redirect_stdout(io.StringIO()):
        make_runs()
        return {
            FOLDER / f"{picture}.svg": alone(_page(command), title) for picture, (command, title) in PICTURES.items()
        }


def make_runs() -> None:
    _do("init --example checkpoints my-evals")
    os.chdir("my-evals")
    for model in ("before", "after"):
        _do(f"run tasks/ --model checkpoints:{model} --run-dir runs/{model} --quiet")
    random = np.random.default_rng(4)
    hard = random.random(100)
    for model, skill in (("large", 0.85), ("medium", 0.8), ("small", 0.6), ("tiny", 0.35)):
        chances = np.where(hard < skill, 0.95, 0.05)
        write_scored(Path("ranked") / model, {"questions": Scores((random.random(100) < chances).astype(float))})
    chances = np.repeat([1.0, 0.5, 0.0], [200, 40, 60])
    for night in range(9):
        known = np.where(np.arange(300) < 15, 0.0, chances) if night > 5 else chances
        scores = {"nightly": Scores((random.random(300) < known).astype(float))}
        write_scored(Path("nights") / f"night-{night}", scores, model="m", created=f"2026-03-{night + 1:02d}")


def alone(page: str, title: str) -> str:
    """The chart of a page whose title begins so, as a file of its own."""
    charts = re.findall(r'<svg[^>]*class="for-page"[^>]*>.*?</svg>', page, re.DOTALL)
    [chart] = [each for each in charts if re.search(rf"<title>{re.escape(title)}", each)][:1]
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', chart)
    assert box is not None
    inner = chart[chart.index(">") + 1 : chart.rindex("</svg>")]
    inner = re.sub(r' (?:tabindex|role|aria-[a-z]+|data-[a-z]+)="[^"]*"', "", inner)
    rules = [
        line.strip() for line in style_sheet().splitlines() if re.match(r"\s*\.plotted (\.m-|\.s\d|\.bett|text)", line)
    ]
    colours = re.search(r"\.plotted \{(.*?)\}", style_sheet(), re.DOTALL)
    assert colours is not None
    variables = re.sub(r"\s+", " ", " ".join(re.findall(r"--[\w]+: #\w+;", colours[1])))
    style = (
        f".plotted{{{LIGHT};{variables}--c:var(--s0);font-family:system-ui,sans-serif}}"
        f"@media(prefers-color-scheme:dark){{.plotted{{{DARK}}}}}{''.join(rules)}"
    )
    size = f'viewBox="0 0 {box[1]} {box[2]}" width="{box[1]}" height="{box[2]}"'
    ground = '<rect width="100%" height="100%" fill="var(--page-ground)"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" class="plotted" {size}><style>{style}</style>{ground}{inner}</svg>'
    return re.sub(r"(?=<(?:g|text|line|path|title)\b)", "\n", svg) + "\n"


def _page(command: str) -> str:
    _do(f"{command} page.html")
    return Path("page.html").read_text(encoding="utf-8")


def _do(command: str) -> None:
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        code = main(command.split())
    assert code == 0 or "report" in command, errors.getvalue()


if __name__ == "__main__":
    for path, text in pictures().items():
        path.write_text(text, encoding="utf-8")
