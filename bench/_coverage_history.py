"""Histories of made-up runs, judged by the product's own rule: how often it errs, and how soon it sees."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from bench._coverage_cell import LEVEL, Floats, Outcome, Random, Row, Trial
from msgspec import structs
from numpy.typing import NDArray

from assay.results.diff.paired_columns import Columns, Side, read_side
from assay.results.history.history_types import History
from assay.results.history.timeline import HistorySource, histories
from assay.results.measure import measure_of
from assay.results.report_settings import View
from assay.run_config import RunConfig
from assay.run_file import read_run_file
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks

VIEW = View(level=LEVEL)
Runs = Callable[[Random], Floats]
"""Runs × samples."""


class MadeUp:
    """Histories of one task with made-up scores, around one real run."""

    def __init__(self, run: Path) -> None:
        self._folder, self._run = run, read_run_file(run)
        [definition] = self._run.definitions
        self._measures = {definition.name: measure_of(definition)}
        self._board = read_side(run, VIEW).board

    def __call__(self, columns: Sequence[Columns]) -> History:
        size = len(columns[0])
        [definition] = self._run.definitions
        of_size = structs.replace(definition, dataset=structs.replace(definition.dataset, size=size))
        run = structs.replace(self._run, definitions=[of_size])
        sides = [Side(self._folder, self._board, {definition.name: each}, self._measures) for each in columns]
        sources = [HistorySource(f"{n:02d}", run, lambda side=side: side) for n, side in enumerate(sides)]
        [found] = histories(sources, VIEW)
        return found


def columns_of(scores: Floats, failed: NDArray[np.bool_] | None = None) -> Columns:
    count = len(scores)
    zeros, ids = np.zeros(count, dtype=np.int64), np.arange(count, dtype=np.int64)
    broken = np.zeros(count, dtype=np.bool_) if failed is None else failed
    kept = np.where(broken, np.nan, scores)
    return Columns(ids, ids, zeros, zeros, zeros, ids, {}, kept, broken, ids, {})


def answers(random: Random, chances: Floats, runs: int) -> Floats:
    return (random.random((runs, len(chances))) < chances).astype(np.float64)


def mixed(random: Random, samples: int, coins: float) -> Floats:
    """Questions that the model knows or does not, and some that it answers by chance."""
    chances = (random.random(samples) < 0.75).astype(np.float64)
    return np.where(random.random(samples) < coins, 0.5, chances)


def dropped(random: Random, chances: Floats, points: float) -> Floats:
    """So many of the samples that were known are lost."""
    lower = chances.copy()
    known = np.flatnonzero(chances == 1.0)
    lower[random.choice(known, round(points * len(chances)), replace=False)] = 0.0
    return lower


def rows() -> list[Row]:
    section = "Histories of runs"
    noisy = "noise that is common to a whole run looks like a change, and is one on these samples"
    coins = "the more answers are chance, the longer it takes"
    unchanged = [
        Row(section, "windows of runs", f"30 runs of 300 samples, nothing changed, {name}: any alarm", "errs",
            0.05, {"300": alarmed(lambda r, make=make: make(r))}, sets)
        for name, make, sets in (
            ("10 % answered by chance", lambda r: answers(r, mixed(r, 300, 0.1), 30), 2000),
            ("20 % answered by chance", lambda r: answers(r, mixed(r, 300, 0.2), 30), 2000),
            ("chances from Beta(4, 1)", lambda r: answers(r, r.beta(4.0, 1.0, 300), 30), 500),
        )
    ]  # fmt: skip
    unchanged += [
        Row(section, "windows of runs", "12 runs of 50 samples, nothing changed, 20 % answered by chance: any alarm",
            "errs", 0.05, {"50": alarmed(lambda r: answers(r, mixed(r, 50, 0.2), 12))}, 1000),
        Row(section, "windows of runs", "12 runs of 60 graded samples, nothing changed: any alarm", "errs", 0.05,
            {"60": alarmed(lambda r: graded(r, 60, [0.0] * 12))}, 500),
        Row(section, "windows of runs", "30 runs of 100 graded samples, nothing changed: any alarm", "errs", 0.05,
            {"100": alarmed(lambda r: graded(r, 100, [0.0] * 30))}, 500),
    ]  # fmt: skip
    unchanged += [
        Row(section, "windows of runs", f"30 runs, nothing changed but {points:g} points of noise of each run", "errs",
            0.05, {"300": alarmed(lambda r, points=points: shaken(r, points / 100.0))}, 300, noisy)
        for points in (0.5, 1.0, 2.0)
    ]  # fmt: skip
    drops = [
        Row(section, "windows of runs", f"{100 * points:g} points lost, {share:.0%} answered by chance: seen {when}",
            "finds", promised, {f"run {before + 1}": seen(points, before, within, share) for before in earlier}, 500,
            coins)
        for points, share, within, when, promised, earlier in (
            (0.10, 0.1, 1, "in that run", 0.9, (1, 5, 20)), (0.10, 0.2, 1, "in that run", 0.9, (1, 5, 20)),
            (0.05, 0.1, 5, "within five runs", 0.8, (5,)),
            (0.03, 0.1, 5, "within five runs", 0.8, (5, 20)), (0.03, 0.2, 5, "within five runs", 0.8, (5, 20)))
    ]  # fmt: skip
    few = "the fewer runs came before, the longer it takes"
    drops.append(
        Row(section, "windows of runs", "3 points lost after few runs, 10% answered by chance: seen within five runs",
            "finds", 0.8, {f"run {before + 1}": seen(0.03, before, 5, 0.1) for before in (1, 2, 3)}, 200, few)
    )  # fmt: skip
    drops += [
        Row(section, "windows of runs", f"100 graded samples, {name}", "finds", promised,
            {"100": graded_drop(changes, first)}, 200)
        for name, promised, changes, first in (
            ("0.03 lost by each in run 6: seen within five runs", 0.8, [0.0] * 5 + [-0.03] * 5, 5),
            ("0.1 lost by each in run 6: seen in that run", 0.9, [0.0] * 5 + [-0.1], 5),
            ("0.05 gained by each in run 6 and lost in run 11: seen in run 11", 0.8, [-0.05] * 5 + [0.0] * 5 + [-0.05],
             10))
    ]  # fmt: skip
    rise = Row(section, "windows of runs", "10 points gained in run 6 and lost in run 11: seen in run 11", "finds", 0.9,
               {"300": after_a_rise()}, 500)  # fmt: skip
    since = [
        Row(section, "Z² within 8", f"{100 * points:g} points lost in run 11 of 20: it is among the runs named",
            "covers", LEVEL, {"300": began(points)}, 500)
        for points in (0.10, 0.05, 0.03)
    ]  # fmt: skip
    return [*unchanged, *drops, rise, *since]


def alarmed(runs: Runs) -> Trial:
    return lambda random: Outcome(bool(history(runs(random)).steps))


def graded(random: Random, samples: int, changes: Sequence[float]) -> Floats:
    """Each sample has a score of its own, which varies a little from run to run, and by the change of each run."""
    moved = random.normal(0.0, 0.1, (len(changes), samples)) + np.array(changes)[:, None]
    return np.clip(random.beta(4.0, 2.0, samples) + moved, 0.0, 1.0)


def graded_drop(changes: Sequence[float], first: int) -> Trial:
    """Whether a run from the first on is called worse."""

    def once(random: Random) -> Outcome:
        found = history(graded(random, 100, changes))
        return Outcome(any(point.verdict == "worse" for point in found.runs[first:]))

    return once


def shaken(random: Random, deviation: float) -> Floats:
    chances = mixed(random, 300, 0.1)
    each = random.normal(0.0, deviation, 30)
    return (random.random((30, 300)) < np.clip(chances + np.where(chances == 0.5, 0, each[:, None]), 0, 1)).astype(
        float
    )


def seen(points: float, before: int, within: int, share: float) -> Trial:
    """After so many runs the samples are lost: whether a run of the next few is called worse."""

    def once(random: Random) -> Outcome:
        chances = mixed(random, 300, share)
        lower = dropped(random, chances, points)
        found = history(np.concatenate([answers(random, chances, before), answers(random, lower, within)]))
        return Outcome(any(point.verdict == "worse" for point in found.runs[before:]))

    return once


def after_a_rise() -> Trial:
    def once(random: Random) -> Outcome:
        chances = mixed(random, 300, 0.1)
        lower = dropped(random, chances, 0.1)
        runs = [answers(random, each, count) for each, count in ((lower, 5), (chances, 5), (lower, 1))]
        found = history(np.concatenate(runs))
        return Outcome(found.runs[10].verdict == "worse")

    return once


def began(points: float) -> Trial:
    def once(random: Random) -> Outcome:
        chances = mixed(random, 300, 0.1)
        lower = dropped(random, chances, points)
        found = history(np.concatenate([answers(random, chances, 10), answers(random, lower, 10)]))
        steps = [point.step for point in found.runs if point.step is not None and point.verdict == "worse"]
        return Outcome("10" in steps[0].since if steps else None)

    return once


def history(runs: Floats) -> History:
    return _made()([columns_of(row) for row in runs])


@cache
def _made() -> MadeUp:
    folder = Path(tempfile.mkdtemp(prefix="assay-histories-"))
    line = {"id": "a", "prompt": "a", "targets": ["a"], "metric": "exact_match"}
    (folder / "task.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    run_evaluation(load_tasks([str(folder / "task.jsonl")]), RunConfig(), model=_Echo(), folder=folder / "run")
    return MadeUp(folder / "run")


class _Echo:
    name = "echo"

    def generate(self, prompts: list[str]) -> list[str]:
        return prompts
