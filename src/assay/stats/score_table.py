"""The score table: per-sample values as compact columns, filled one record at a time, read by aggregates.

A number costs eight bytes and a text its place in a vocabulary, so a million samples fit in tens of
megabytes. Rows are read back in the order (sample, attempt) whatever order they arrived in, so that no sum
depends on it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from assay.core.types import Record, ScoreValue
from assay.stats.intervals import Codes, Floats

_ABSENT = -1
_Item = TypeVar("_Item", int, float)


class Numbers(Struct, frozen=True, kw_only=True):
    """The rows that hold a number in every column asked for."""

    rows: Floats
    """One row per attempt, one column per name."""
    clusters: Codes
    """Which rows belong together: 0 … G−1 in reading order."""
    clustered: bool
    """Whether some cluster has more than one row."""
    samples: Codes
    attempts: Codes
    unscored: int
    """Attempts that were scored but lack one of these values."""
    reason: str | None = None
    """Why there are no rows, when there are none."""

    @property
    def values(self) -> Floats:
        return self.rows[:, 0]

    def __len__(self) -> int:
        return len(self.rows)


class Labels(Struct, frozen=True, kw_only=True):
    """The rows that hold a value in every column asked for, as texts: codes into one vocabulary."""

    codes: Codes
    """One row per attempt, one column per name."""
    vocabulary: list[str]
    """Sorted texts."""
    clusters: Codes
    clustered: bool
    unscored: int
    reason: str | None = None

    def __len__(self) -> int:
        return len(self.codes)


class ScoreTable:
    """What the aggregates of one scorer need to know about a run, without the run.

    Every attempt is counted once: as a row (`add`), as failed, as a timeout, or as excluded by an action
    rule.
    """

    def __init__(self) -> None:
        self.failed = 0
        """Attempts that broke for any reason but a timeout."""
        self.timeouts = 0
        self.excluded = 0
        self._samples = array("q")
        self._attempts = array("q")
        self._groups = array("q")
        self._group_codes: dict[str, int] = {}
        self._columns: dict[str, _NumberColumn | _TextColumn] = {}

    @classmethod
    def from_records(
        cls, records: Iterable[Record], scorer: str | None = None, group_by: str | None = None
    ) -> ScoreTable:
        """The table of one scorer; `group_by` names a metadata key whose values cluster samples."""
        table = cls()
        for record in records:
            table.add_record(record, scorer, group_by)
        return table

    def add_record(self, record: Record, scorer: str | None = None, group_by: str | None = None) -> None:
        """Count one finished attempt. A record without that scorer's score and without a failure is not its
        sample.
        """
        if record.excluded:
            self.add_excluded()
            return
        scores = [score for score in record.scores if scorer is None or score.name == scorer]
        if not scores:
            if record.failures:
                self.add_failure(timeout=any(failure.kind == "timeout" for failure in record.failures))
            return
        values = {name: value for score in scores for name, value in score.values.items()}
        group = record.metadata.get(group_by) if group_by is not None else None
        self.add(
            values,
            sample=record.index,
            attempt=record.attempt,
            group=None if group is None else str(group),
        )

    def add(
        self,
        values: Mapping[str, ScoreValue],
        *,
        sample: int,
        attempt: int = 1,
        group: str | None = None,
    ) -> None:
        """One scored attempt. `sample` is the sample's index: attempts that share it form a cluster."""
        row = len(self._samples)
        self._samples.append(sample)
        self._attempts.append(attempt)
        self._groups.append(_ABSENT if group is None else self._group_codes.setdefault(group, len(self._group_codes)))
        for name, value in values.items():
            # a user's scorer may leave lists or mappings for the reader; they have no place in a column
            if isinstance(value, bool | int | float | str):
                self._put(name, row, value)

    def add_failure(self, *, timeout: bool = False) -> None:
        if timeout:
            self.timeouts += 1
        else:
            self.failed += 1

    def add_excluded(self) -> None:
        self.excluded += 1

    @property
    def names(self) -> list[str]:
        """The value names seen, sorted."""
        return sorted(self._columns)

    def __len__(self) -> int:
        return len(self._samples)

    def numbers(self, *names: str) -> Numbers:
        """The rows with a number in every one of these columns, in the order (sample, attempt)."""
        columns = [self._columns.get(name) for name in names]
        reason = self._why_no_numbers(names)
        if reason is None:
            stacked = np.column_stack(
                [column.floats(len(self)) for column in columns if isinstance(column, _NumberColumn)]
            )
            present = ~np.isnan(stacked.sum(axis=1))
            if not present.any():
                reason = f"no sample has a value for {_and(names)}"
        else:
            stacked = np.empty((len(self), len(names)))
            present = np.zeros(len(self), dtype=bool)
        order = self._reading_order(present)
        clusters, clustered = self._clusters(order)
        return Numbers(
            rows=stacked[order],
            clusters=clusters,
            clustered=clustered,
            samples=np.asarray(self._samples, dtype=np.intp)[order],
            attempts=np.asarray(self._attempts, dtype=np.intp)[order],
            unscored=len(self) - len(order),
            reason=reason,
        )

    def labels(self, *names: str) -> Labels:
        """The rows with any value in every one of these columns, as texts, in the order (sample, attempt)."""
        columns = [self._columns[name] for name in names if name in self._columns]
        reason = self._why_nothing(names)
        vocabulary = sorted({text for column in columns for text in column.vocabulary()})
        place = {text: code for code, text in enumerate(vocabulary)}
        if reason is None:
            stacked = np.column_stack([column.codes(len(self), place) for column in columns])
            present = (stacked != _ABSENT).all(axis=1)
            if not present.any():
                reason = f"no sample has a value for {_and(names)}"
        else:
            stacked = np.empty((len(self), len(names)), dtype=np.intp)
            present = np.zeros(len(self), dtype=bool)
        order = self._reading_order(present)
        clusters, clustered = self._clusters(order)
        return Labels(
            codes=stacked[order],
            vocabulary=vocabulary,
            clusters=clusters,
            clustered=clustered,
            unscored=len(self) - len(order),
            reason=reason,
        )

    def _put(self, name: str, row: int, value: float | bool | str) -> None:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _TextColumn() if isinstance(value, str) else _NumberColumn()
        if isinstance(column, _NumberColumn) and isinstance(value, str):
            column = self._columns[name] = column.as_texts()
        if isinstance(column, _TextColumn):
            column.put(row, as_text(value))
        elif not isinstance(value, str):
            column.put(row, value)

    def _why_nothing(self, names: Iterable[str]) -> str | None:
        if not len(self):
            return self._why_empty()
        for name in names:
            if name not in self._columns:
                seen = ", ".join(f"`{known}`" for known in self.names) or "none"
                return f"no sample has a value `{name}`; values seen: {seen}"
        return None

    def _why_no_numbers(self, names: Iterable[str]) -> str | None:
        nothing = self._why_nothing(names)
        if nothing is not None:
            return nothing
        for name in names:
            if isinstance(self._columns[name], _TextColumn):
                return f"`{name}` holds text, which has no arithmetic; `frequency` counts texts"
        return None

    def _why_empty(self) -> str:
        counts = {"failed": self.failed, "timed out": self.timeouts, "excluded": self.excluded}
        told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return f"nothing was scored ({told})" if told else "nothing was scored"

    def _reading_order(self, present: NDArray[np.bool_]) -> Codes:
        rows = np.flatnonzero(present)
        samples = np.asarray(self._samples, dtype=np.intp)[rows]
        attempts = np.asarray(self._attempts, dtype=np.intp)[rows]
        return rows[np.lexsort((attempts, samples))]

    def _clusters(self, order: Codes) -> tuple[Codes, bool]:
        """A row's cluster is its group where it has one, else its sample; numbered by first appearance."""
        groups = np.asarray(self._groups, dtype=np.int64)[order]
        samples = np.asarray(self._samples, dtype=np.int64)[order]
        # groups are 0, 1, 2, … and samples without one are pushed past them
        keys = np.where(groups == _ABSENT, samples + len(self._group_codes), groups)
        _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[codes.reshape(-1)], len(first) < len(order)


class _NumberColumn:
    """Numbers, with NaN where a row has none: absence inside this class only."""

    def __init__(self) -> None:
        self._values = array("d")
        self._kinds: set[type] = set()

    def put(self, row: int, value: float | bool) -> None:
        # infinity cannot be averaged and JSON cannot hold it: such a row stays unscored, as NaN does
        number = _float_or_nan(value)
        _pad(self._values, row, math.nan)
        self._values.append(number if math.isfinite(number) else math.nan)
        self._kinds.add(type(value))

    def floats(self, size: int) -> Floats:
        values = np.full(size, math.nan)
        values[: len(self._values)] = self._values
        return values

    def vocabulary(self) -> set[str]:
        distinct = np.unique(np.asarray(self._values))
        return {self._text(value) for value in distinct.tolist() if math.isfinite(value)}

    def codes(self, size: int, place: Mapping[str, int]) -> Codes:
        floats = self.floats(size)
        codes = np.full(size, _ABSENT, dtype=np.intp)
        present = np.isfinite(floats)
        distinct, inverse = np.unique(floats[present], return_inverse=True)
        lookup = np.array([place[self._text(value)] for value in distinct.tolist()], dtype=np.intp)
        codes[present] = lookup[inverse.reshape(-1)]
        return codes

    def as_texts(self) -> _TextColumn:
        column = _TextColumn()
        for row, value in enumerate(self._values):
            if math.isfinite(value):
                column.put(row, self._text(value))
        return column

    def _text(self, value: float) -> str:
        if self._kinds == {bool}:
            return as_text(bool(value))
        return as_text(int(value) if self._kinds == {int} else value)


class _TextColumn:
    """Texts as codes into a vocabulary."""

    def __init__(self) -> None:
        self._codes = array("i")
        self._vocabulary: dict[str, int] = {}

    def put(self, row: int, text: str) -> None:
        _pad(self._codes, row, _ABSENT)
        self._codes.append(self._vocabulary.setdefault(text, len(self._vocabulary)))

    def vocabulary(self) -> set[str]:
        return set(self._vocabulary)

    def codes(self, size: int, place: Mapping[str, int]) -> Codes:
        lookup = np.array([*(place[text] for text in self._vocabulary), _ABSENT], dtype=np.intp)
        codes = np.full(size, _ABSENT, dtype=np.intp)
        codes[: len(self._codes)] = lookup[np.asarray(self._codes, dtype=np.intp)]
        return codes


def as_text(value: float | bool | str) -> str:
    """A score value as tables and names show it: `True`, `3`, `0.5`, or the text itself."""
    return value if isinstance(value, str) else str(value)


def _float_or_nan(value: float | bool) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.nan  # an integer beyond any float


def _pad(column: array[_Item], row: int, filler: _Item) -> None:
    # rows before this one had no such value
    if len(column) < row:
        column.extend(array(column.typecode, [filler]) * (row - len(column)))


def _and(names: Iterable[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
