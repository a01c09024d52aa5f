"""`assay diff`: what moved between two results, and which answers changed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.reports.diff import BoardDiff, TaskDiff


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Leaderboards written with --include-per-example, and run folders, also show which answers changed."
    parser.add_argument("a", metavar="A", help="a leaderboard.json or a run folder: before")
    parser.add_argument("b", metavar="B", help="a leaderboard.json or a run folder: after")
    parser.add_argument("--samples", type=int, default=5, metavar="N", help="changed answers to show (default 5)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace) -> int:
    import msgspec

    from assay.cli.main import DONE
    from assay.reports.diff import diff

    found = diff(options.a, options.b)
    if options.json:
        print(msgspec.json.encode(found).decode())
    else:
        tell(found, options.samples)
    return DONE


def tell(found: BoardDiff, samples: int) -> None:
    from assay.reports.markdown import table

    if found.same_result:
        print("no difference: the same questions, settings, answers and scores\n")
    rows = [_row(each) for each in found.tasks]
    overall = ["**overall**", _number(found.overall_a), _number(found.overall_b), _signed(found.overall_moved)]
    rows.append([*overall, "", "", "", ""])
    print(table(["task", "A", "B", "moved", "better", "worse", "content", "scoring"], rows, numeric_from=1))
    for change in found.settings_changed:
        print(f"\n{change}")
    if not found.per_example:
        print("\nscores only: at least one of the two has no per-example records")
    for each in found.tasks:
        _tell_answers(each, samples)


def _tell_answers(each: TaskDiff, samples: int) -> None:
    flipped = [change for change in each.changed if change.score_a != change.score_b]
    said = len(each.changed) - len(flipped)
    if not each.changed:
        return
    print(f"\n{each.task}: {len(flipped)} scores changed, {said} answers changed without moving the score")
    for change in (flipped or each.changed)[:samples]:
        prompt = "" if change.same_prompt else "   (the prompt changed too)"
        print(f"  {change.id}: {_number(change.score_a)} → {_number(change.score_b)}{prompt}")
        print(f"    A: {_shown(change.prediction_a)}\n    B: {_shown(change.prediction_b)}")


def _row(each: TaskDiff) -> list[str]:
    return [
        each.task,
        _number(each.score_a),
        _number(each.score_b),
        _signed(each.moved),
        str(each.wins),
        str(each.losses),
        each.content,
        each.scoring,
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"


def _shown(text: str | None) -> str:
    if text is None:
        return "–"
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= 160 else flat[:159] + "…"
