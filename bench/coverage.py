"""How often intervals hold the truth and verdicts err, over simulated data: `docs/coverage.md`.

Run `python -m bench.coverage`: some twenty minutes of CPU, on two processes. `--only WORDS` measures the rows whose
section, method or data has these words, `--sets N` at most so many data sets for each figure; both print and write
nothing. Every figure is made by the product's own functions and seeded by what it is a figure of.
"""

from __future__ import annotations

import argparse
import multiprocessing
from functools import cache
from pathlib import Path

from bench import _coverage_history, _coverage_many, _coverage_means, _coverage_pairs, _coverage_scores
from bench._coverage_cell import Measured, Row, fails, measure

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
HEADING = """\
# Coverage: how often intervals and verdicts are right

After this page you know where an interval or a verdict of assay can be relied on, and where not.

Each figure is the share of simulated data sets with a known truth. An interval *covers* where it holds the truth: 0.95
is promised. A test *errs* where it calls a result better, worse or the same that is not: at most 0.05 is promised, and
0.025 of one side. It *finds* a difference that is there with the power that is given. In brackets: the width of the
interval as a multiple of Student's t's, or how often Student's t would err or find it.

**Bold figures fail**: they cover less than promised by more than 0.02, err more often by more than 0.01, or find less
by more than 0.05. Made by `python -m bench.coverage` (seed 20261119), which calls the functions that make every other
number. Of 4,000 data sets, as in most rows, a figure of 0.95 is uncertain by 0.007; of 1,000 by 0.014. What is measured
here is described in [methods](methods.md).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="WORDS", default="")
    parser.add_argument("--sets", type=int, metavar="N")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    chosen = [row for row in rows() if options.only.lower() in f"{row.section} {row.method} {row.data}".lower()]
    page = page_of([(row, figures) for row, figures in measured(chosen, options.sets, options.processes)])
    if options.only or options.sets:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(PAGE.parents[1])}")


@cache
def rows() -> list[Row]:
    """Everything that is measured."""
    parts = (_coverage_means, _coverage_pairs, _coverage_scores, _coverage_many, _coverage_history)
    return [row for part in parts for row in part.rows()]


def measured(chosen: list[Row], sets: int | None, processes: int) -> list[tuple[Row, list[Measured]]]:
    names = {_name(row) for row in chosen}
    places = [
        (place, size, min(row.sets, sets or row.sets))
        for place, row in enumerate(rows())
        if _name(row) in names
        for size in row.trials
    ]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        found = iter(pool.map(_measured, places, chunksize=1))
    return [(row, [next(found) for _ in row.trials]) for row in chosen]


def _name(row: Row) -> tuple[str, str, str]:
    return row.section, row.method, row.data


def _measured(place: tuple[int, str, int]) -> Measured:
    return measure(rows()[place[0]], place[1], place[2])


def page_of(found: list[tuple[Row, list[Measured]]]) -> str:
    lines = [HEADING]
    failing = [row for row, figures in found if any(fails(row, each.share) for each in figures)]
    total = sum(len(figures) for _, figures in found)
    number = sum(fails(row, each.share) for row, figures in found for each in figures)
    lines += [f"{total:,} figures, of which {number:,} fail, in {len(failing):,} rows:", ""]
    lines += [f"- {row.section}: {row.data}" + (f" ({row.why})" if row.why else "") for row in failing]
    section = ""
    for row, figures in found:
        if row.section != section:
            section = row.section
            lines += [
                "",
                f"## {section}",
                "",
                "| method | data | promised | measured | note |",
                "| --- | --- | --- | --- | --- |",
            ]
        said = "; ".join(_figure(row, size, each) for size, each in zip(row.trials, figures, strict=True))
        promised = "" if row.promised is None else f"{row.asks} {row.promised:g}"
        note = row.why if any(_notable(row, each) for each in figures) else ""
        lines.append(f"| {row.method} | {row.data} | {promised or row.asks} | {said} | {note} |")
    return "\n".join(lines) + "\n"


def _figure(row: Row, size: str, each: Measured) -> str:
    share = f"{each.share:.3f}"
    said = f"{size}: {f'**{share}**' if fails(row, each.share) else share}"
    if each.beside is not None:
        said += f" ({each.beside:.2f} ×)" if row.asks == "covers" else f" ({each.beside:.3f})"
    return said + (f" [none in {each.none:.0%}]" if each.none >= 0.005 else "")


def _notable(row: Row, each: Measured) -> bool:
    """Far from the promise, on either side."""
    if row.promised is None:
        return True
    return (
        fails(row, each.share)
        or (row.asks == "covers" and each.share > row.promised + 0.02)
        or (row.asks == "errs" and each.share < row.promised / 2.0)
    )


if __name__ == "__main__":
    main()
