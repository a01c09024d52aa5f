"""An aggregate over samples of numbers over the attempts at each: the mean of pass^3, of the worst of five.

A sample of which such a number is not known, since attempts at it failed or remain, has none: it is left out and
counted as unscored, as in `repetitions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
from msgspec.structs import replace

from assay import catalog
from assay.core.describe import About, Mean, Range, Shares, Value, Whole, describes
from assay.core.types import Summary
from assay.stats.described import Options, Values, name_in
from assay.stats.intervals import Floats
from assay.stats.pass_at_k import pass_at_k, pass_hat_k
from assay.stats.repetitions import Attempts, attempts_of, known_chance
from assay.stats.score_table import ScoreTable

Function = Literal["mean", "min", "max", "pass@k", "pass^k"]
_CHANCES: Mapping[str, Callable[[int, int, int], float]] = {"pass@k": pass_at_k, "pass^k": pass_hat_k}
_REDUCED: Mapping[str, np.ufunc] = {"mean": np.add, "min": np.minimum, "max": np.maximum}


class TrialNumber(TypedDict):
    """A number of each sample, over the attempts at it."""

    name: str
    field: str
    """The score value of each attempt."""
    function: Function
    k: int | None


def of_over_trials(options: Options, values: Values) -> Whole | Shares:
    """It never falls as the score of an attempt rises, where the aggregate over samples does not."""
    numbers: Sequence[TrialNumber] = options["trials"]
    bases = {each["field"]: values.get(each["field"]) or Value(name=each["field"]) for each in numbers}
    described = {each["name"]: _described(each, bases[each["field"]]) for each in numbers}
    about: About | None = catalog.describe("aggregate", name_in(options, "use"), options["options"], described)
    base = next(iter(bases.values()))
    attempts = max(each["k"] or 1 for each in numbers)
    match about:
        case Mean(value=value):
            made = Whole(lower_is_better=value.lower_is_better, range=value.range, proxy=base, rises_with=base)
        case Whole(rises_with=Value()):
            made = replace(about, proxy=base, rises_with=base, made_of=None)
        case Whole():
            made = replace(about, proxy=None, rises_with=None, made_of=None)
        case Shares():
            return about
        case _:
            made = Whole(numbers=("*",))
    return replace(made, attempts=attempts)


def _described(number: TrialNumber, base: Value) -> Value:
    if number["function"] in _CHANCES:
        return Value(name=number["name"], range=(0.0, 1.0), lower_is_better=False)
    return replace(base, name=number["name"])


@describes(of_over_trials)
def over_trials(
    table: ScoreTable,
    *,
    trials: Sequence[TrialNumber],
    use: str,
    options: Mapping[str, Any],
    name: str | None = None,
    level: float = 0.95,
) -> list[Summary]:
    """The aggregate `use` with its `options`, over one row for each sample: the numbers of `trials` over its attempts.

    `scored` counts the attempts at the samples that have such a number.
    """
    samples, known, others = _by_sample(table, trials)
    aggregate = catalog.resolve("aggregate", use)
    named = options if name is None else {**options, "name": name}
    of_trials = ",".join(f"{each['function']}({each['field']},{each['k']})" for each in trials)
    return [
        replace(
            each,
            scored=known,
            unscored=others,
            failed=table.failed,
            timeouts=table.timeouts,
            signature=f"{of_trials}.{each.signature}",
        )
        for each in aggregate(samples, **named, level=level)
    ]


def _by_sample(table: ScoreTable, trials: Sequence[TrialNumber]) -> tuple[ScoreTable, int, int]:
    """A table with a row for each sample, and how many of the attempts are at samples that have all numbers."""
    ranges = {each["name"]: within for each in trials if (within := _range_of(each, table)) is not None}
    samples = ScoreTable(ranges)
    samples.excluded = table.excluded
    rows: dict[int, dict[str, float]] = {}
    sizes: dict[int, int] = {}
    groups: dict[int, str] = {}
    for number in trials:
        codes, attempts = attempts_of(table, number["field"])
        for at, value in enumerate(_numbers(number, attempts)):
            sample = int(codes[at])
            rows.setdefault(sample, {})
            sizes[sample] = int(attempts.sizes[at])
            if attempts.groups is not None:
                groups[sample] = str(attempts.groups[at])
            if np.isfinite(value):
                rows[sample][number["name"]] = float(value)
    for sample in sorted({*rows, *table.failed_samples}):
        samples.add(rows.get(sample, {}), sample=sample, group=groups.get(sample))
    known = sum(sizes[sample] for sample, row in rows.items() if len(row) == len(trials))
    return samples, known, len(table) - known


def _range_of(number: TrialNumber, table: ScoreTable) -> Range | None:
    return (0.0, 1.0) if number["function"] in _CHANCES else table.range_of(number["field"])


def _numbers(number: TrialNumber, attempts: Attempts) -> Floats:
    """The number of every sample; NaN where attempts that failed or remain decide it."""
    lost = np.zeros(len(attempts), dtype=np.intp) if attempts.open is None else attempts.open
    function, k = number["function"], number["k"]
    if not len(attempts):
        return np.empty(0)
    if function in _CHANCES:
        right = attempts.right(1.0)
        chances = [
            known_chance(_CHANCES[function], int(n), int(c), int(o), int(k or n + o))
            for n, c, o in zip(attempts.sizes, right, lost, strict=True)
        ]
        return np.array(chances, dtype=np.float64)
    reduced = _REDUCED[function].reduceat(attempts.values, attempts.starts).astype(np.float64)
    if function == "mean":
        reduced = reduced / attempts.sizes
    return np.where(lost > 0, np.nan, reduced)
