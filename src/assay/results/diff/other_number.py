"""Whether the score of a task is the same number in several results: else a difference of it means nothing."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.describe import Range
from assay.results.board.board_types import TaskRow
from assay.results.diff.paired_columns import Side
from assay.results.measure import Measure
from assay.stats.cells import UNIT
from assay.stats.sums import names_in
from assay.task_records import QuantileOf


def other_number(task: str, sides: Sequence[Side]) -> str | None:
    """Why the task's scores are of different numbers, such as a share and a number of words; None where they are not.

    Two means of shares are compared whatever they are shares of: so one way of scoring is compared with another.
    """
    rows = [row for side in sides for row in side.board.tasks if row.task == task]
    directions = {row.lower_is_better for row in rows}
    if None in directions and len(directions) > 1:
        return "whether a higher score is better is not known of all of them"
    if len(directions) > 1:
        return "a higher score is better in one of them, and a lower one in another"
    ranges = list(dict.fromkeys(row.range for row in rows))
    known = [_shown(within) for within in ranges if within is not None]
    if len(known) > 1:
        return f"their scores are on different scales, {' and '.join(known)}"
    measures = [side.measures[task] for side in sides if any(row.task == task for row in side.board.tasks)]
    if len({measure.headline for measure in measures}) > 1:
        return "one of their scores is a mean over samples, and another is not"
    numbers = dict.fromkeys(_number(measure, row) for measure, row in zip(measures, rows, strict=True))
    if None in numbers or len(numbers) < 2 or (ranges == [UNIT] and measures[0].headline):
        return None
    return f"their scores are of different numbers, {' and '.join(map(str, numbers))}"


def _shown(within: Range) -> str:
    return f"{within[0]:g} to {within[1]:g}"


def _number(measure: Measure, row: TaskRow) -> str | None:
    """What the score is made of; None where a leaderboard file does not say what it is the mean of."""
    if isinstance(measure.made_of, QuantileOf):
        return f"the {measure.made_of.q:g} quantile of `{measure.made_of.value}`"
    if measure.made_of is not None:
        return f"sums of {', '.join(f'`{name}`' for name in names_in(measure.made_of))}"
    if not measure.headline:
        return f"`{row.metric}`"
    if measure.same_as is not None:
        return f"the agreement of `{measure.same_as[0]}` and `{measure.same_as[1]}`"
    return None if measure.field is None else f"`{measure.field}`"
