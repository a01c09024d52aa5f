"""The score table: per-sample values as compact columns, filled one record at a time, read by aggregates.

A mark of right or wrong costs one byte, another number eight, a text its index in a vocabulary, and a row that arrived
out of order four for its sample; attempts and groups cost nothing where there is only one. Rows are read in the order
(sample, attempt) whatever order they arrived in, so that no sum depends on it.
"""

from __future__ import annotations

import copy
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from assay.core.describe import Range
from assay.core.types import ScoreValue
from assay.stats.intervals import Codes, Floats

_VALUES = (bool, int, float, str)
_ABSENT = -1
_Item = TypeVar("_Item", int, float)


RowOrder = Codes | slice
"""The rows in reading order; a slice stands for all of them as they arrived."""


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The rows that hold a number in every requested column. Samples and clusters are computed on demand."""

    rows: Floats
    """One row per attempt, one column per name."""
    table: ScoreTable
    order: RowOrder
    unscored: int
    """Attempts that were scored but lack one of these values."""
    reason: str | None = None
    """Why there are no rows, when there are none."""

    @property
    def clusters(self) -> Codes:
        """Which rows belong together: 0 … G−1 in reading order."""
        return self._clusters[0]

    @property
    def clustered(self) -> bool:
        """Whether some cluster has more than one row."""
        return self.table.may_cluster and self._clusters[1]

    @property
    def samples(self) -> Codes:
        return self.table.samples(self.order)

    @cached_property
    def _clusters(self) -> tuple[Codes, bool]:
        return self.table.clusters(self.order)

    @property
    def values(self) -> Floats:
        return self.rows[:, 0]

    def __len__(self) -> int:
        return len(self.rows)


class Labels(Struct, frozen=True, kw_only=True):
    """The rows that hold a value in every requested column, as texts: codes into one vocabulary."""

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
    """What the aggregates of one scorer need to know about a run.

    Every attempt is counted once: as a row (`add`), as failed, as a timeout, or as excluded by an action rule.
    """

    def __init__(self, ranges: Mapping[str, Range] | None = None) -> None:
        self.ranges: Mapping[str, Range] = ranges or {}
        """The smallest and the largest number that a value can be, where its scorer or the task says so."""
        self.failed = 0
        """Attempts that broke for any reason but a timeout."""
        self.timeouts = 0
        self.excluded = 0
        self.remaining = 0
        """Attempts that are not yet made: they bound a number as failed ones do."""
        self.planned = 0, 1
        """Samples, and attempts at each, of which those remain."""
        self._broken: list[tuple[int, int, str | None]] = []
        """Sample, attempt and group of every failed attempt whose sample is known."""
        self._rows = 0
        self._samples: array[int] | None = None
        """None while row i is sample i."""
        self._attempts = array("I")
        """Up to the last row that is not a first attempt."""
        self._groups = array("i")
        """Up to the last row that has a group."""
        self._group_codes: dict[str, int] = {}
        self._columns: dict[str, _NumberColumn | _TextColumn] = {}

    def add(
        self,
        values: Mapping[str, ScoreValue],
        *,
        sample: int,
        attempt: int = 1,
        group: str | None = None,
    ) -> None:
        """One scored attempt. `sample` is the sample's index: attempts that share it form a cluster."""
        row = self._rows
        self._rows += 1
        if self._samples is not None:
            self._samples.append(sample)
        elif sample != row:
            self._samples = array("I", range(row))
            self._samples.append(sample)
        if attempt != 1:
            _pad(self._attempts, row, 1)
            self._attempts.append(attempt)
        if group is not None:
            _pad(self._groups, row, _ABSENT)
            self._groups.append(self._group_codes.setdefault(group, len(self._group_codes)))
        for name, value in values.items():
            column = self._columns.get(name)
            if type(value) is float and type(column) is _NumberColumn:
                column.put(row, value)  # as nearly always
            # a user's scorer may return lists or mappings for people to read; columns do not hold them
            elif isinstance(value, _VALUES):
                self._put(name, row, value)

    def add_failure(
        self, *, timeout: bool = False, sample: int | None = None, attempt: int = 1, group: str | None = None
    ) -> None:
        if timeout:
            self.timeouts += 1
        else:
            self.failed += 1
        if sample is not None:
            self._broken.append((sample, attempt, group))

    def add_excluded(self) -> None:
        self.excluded += 1

    def with_open_as(self, values: Mapping[str, ScoreValue]) -> ScoreTable | None:
        """The table if every failed or remaining attempt had these values; None where it is unknown which those are."""
        missing = self._missing()
        if len(self._broken) != self.failed + self.timeouts or missing is None:
            return None
        table = copy.deepcopy(self)
        table.failed = table.timeouts = table.remaining = 0
        table._broken.clear()
        for sample, attempt, group in self._broken:
            table.add(values, sample=sample, attempt=attempt, group=group)
        for sample, attempt in missing:
            table.add(values, sample=sample, attempt=attempt)
        return table

    def _missing(self) -> list[tuple[int, int]] | None:
        """Sample and attempt of everything that remains; None where several attempts at a sample were excluded, since
        it is not recorded here which.
        """
        if not self.remaining:
            return []
        samples, repeat = self.planned
        made = {(sample, attempt) for sample, attempt, _ in self._broken}
        rows = self._samples if self._samples is not None else range(self._rows)
        attempts = [*self._attempts, *[1] * (self._rows - len(self._attempts))]
        made.update(zip(rows, attempts, strict=True))
        missing = [(sample, n) for sample in range(samples) for n in range(1, repeat + 1) if (sample, n) not in made]
        if len(missing) == self.remaining:
            return missing
        # which samples were excluded does not matter where each has one attempt
        return missing[: self.remaining] if repeat == 1 and len(missing) > self.remaining else None

    def open_by_sample(self) -> Counter[int]:
        """How many attempts at each sample failed or remain, as far as they are known."""
        broken = [sample for sample, _, _ in self._broken]
        return Counter([*broken, *(sample for sample, _ in self._missing() or ())])

    @property
    def failed_samples(self) -> set[int]:
        """The samples with a failed attempt, as far as they are known."""
        return {sample for sample, _, _ in self._broken}

    @property
    def names(self) -> list[str]:
        """The value names seen, sorted."""
        return sorted(self._columns)

    def __len__(self) -> int:
        return self._rows

    def numbers(self, *names: str) -> Numbers:
        """The rows with a number in every one of these columns, in the order (sample, attempt)."""
        columns = [self._columns.get(name) for name in names]
        reason = self._why_no_numbers(names)
        if reason is None:
            floats = [column.floats(len(self)) for column in columns if isinstance(column, _NumberColumn)]
            stacked = floats[0][:, np.newaxis] if len(floats) == 1 else np.column_stack(floats)
            present = np.asarray(~np.isnan(stacked).any(axis=1))
            if not present.any():
                reason = f"no sample has a value for {_and(names)}"
        else:
            stacked = np.empty((len(self), len(names)))
            present = np.zeros(len(self), dtype=bool)
        order = self._reading_order(present)
        rows = stacked[order]
        return Numbers(rows=rows, table=self, order=order, unscored=len(self) - len(rows), reason=reason)

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
        clusters, clustered = self.clusters(order)
        return Labels(
            codes=stacked[order],
            vocabulary=vocabulary,
            clusters=clusters,
            clustered=clustered,
            unscored=len(self) - len(clusters),
            reason=reason,
        )

    @property
    def may_cluster(self) -> bool:
        """False where every row is its sample's only one, and there are no groups."""
        return bool(len(self._attempts) or self._group_codes)

    @property
    def groupless(self) -> bool:
        """Whether there are attempts, scored or failed, and none has a group."""
        broken = [group for *_, group in self._broken]
        return bool(len(self) or broken) and not self._group_codes and not any(broken)

    def samples(self, order: RowOrder) -> Codes:
        if self._samples is None:
            return np.arange(self._rows, dtype=np.intp)[order]
        return np.asarray(self._samples)[order].astype(np.intp)

    def attempts(self, order: RowOrder) -> Codes:
        return _filled(self._attempts, len(self), 1)[order]

    def clusters(self, order: RowOrder) -> tuple[Codes, bool]:
        """A row's cluster is its group where it has one, else its sample; numbered by first appearance."""
        groups = _filled(self._groups, len(self), _ABSENT)[order]
        # groups are 0, 1, 2, … and samples without one are pushed past them
        keys = np.where(groups == _ABSENT, self.samples(order) + len(self._group_codes), groups)
        _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[codes.reshape(-1)], len(first) < len(groups)

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

    def range_of(self, name: str) -> Range | None:
        """The ends of a value's scale: as described, or those of a yes or no, which is a share by its type."""
        column = self._columns.get(name)
        yes_or_no = isinstance(column, _NumberColumn) and column.is_yes_or_no
        return self.ranges.get(name) or ((0.0, 1.0) if yes_or_no else None)

    def _why_no_numbers(self, names: Iterable[str]) -> str | None:
        reason = self._why_nothing(names)
        if reason is not None:
            return reason
        for name in names:
            if isinstance(self._columns[name], _TextColumn):
                return f"`{name}` holds text, which has no arithmetic; `frequency` counts texts"
        return None

    def _why_empty(self) -> str:
        counts = {"failed": self.failed, "timed out": self.timeouts, "excluded": self.excluded}
        listed = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return f"nothing was scored ({listed})" if listed else "nothing was scored"

    def _reading_order(self, present: NDArray[np.bool_]) -> RowOrder:
        if self._samples is None and present.all():
            return slice(None)  # row i is sample i, so there are no second attempts
        rows = np.flatnonzero(present)
        samples = self.samples(rows)
        keys = (self.attempts(rows), samples) if len(self._attempts) else (samples,)
        return rows[np.lexsort(keys)]


class _NumberColumn:
    """Numbers, with NaN where a row has none, inside this class only. As labels they keep their type."""

    def __init__(self) -> None:
        self._marks: array[int] | None = array("b")
        """One byte each while every number is 0 or 1."""
        self._values = array("d")
        self._kind: type | None = None
        """The type of every number so far; None once `_kinds` has one for each."""
        self._kinds = array("b")
        """The index of each row's type in `_KINDS`, once there are several types."""
        self._large: dict[int, int] = {}
        """Integers that a float cannot hold exactly, by row: as labels they keep every digit."""

    @property
    def is_yes_or_no(self) -> bool:
        return self._kind is bool

    def put(self, row: int, value: float | bool) -> None:
        # infinity cannot be averaged and JSON cannot hold it: such a row stays unscored, like NaN
        kind = type(value)
        number = value if kind is float else self._as_float(row, value)
        if kind is not self._kind:
            self._note_kind(row, kind)
        if self._marks is not None:
            if number in (0.0, 1.0):
                if len(self._marks) < row:
                    _pad(self._marks, row, _ABSENT)
                self._marks.append(int(number))
                return
            self._values.extend(self._as_floats(self._marks).tolist())
            self._marks = None
        if len(self._values) < row:
            _pad(self._values, row, math.nan)
        self._values.append(number if math.isfinite(number) else math.nan)

    def _note_kind(self, row: int, kind: type) -> None:
        if self._kind is None and not len(self._kinds):
            self._kind = kind
            return
        if self._kind is not None:
            _pad(self._kinds, row, _KINDS.index(self._kind))
            self._kind = None
        _pad(self._kinds, row, _ABSENT)
        self._kinds.append(_KINDS.index(kind))

    def _as_float(self, row: int, value: float) -> float:
        try:
            number = float(value)
        except OverflowError:
            return math.nan  # an integer too large for a float
        if number != value:
            self._large[row] = int(value)
        return number

    @property
    def present(self) -> Floats:
        """The numbers up to the last row that has one."""
        return np.asarray(self._values) if self._marks is None else self._as_floats(self._marks)

    def _as_floats(self, marks: array[int]) -> Floats:
        floats = np.asarray(marks).astype(np.float64)
        floats[floats < 0] = math.nan
        return floats

    def floats(self, size: int) -> Floats:
        present = self.present
        if len(present) == size:
            return present
        values = np.full(size, math.nan)
        values[: len(present)] = present
        return values

    def vocabulary(self) -> set[str]:
        return {text for _, texts, _ in self._texts() for text in texts} | {*map(str, self._large.values())}

    def codes(self, size: int, place: Mapping[str, int]) -> Codes:
        codes = np.full(size, _ABSENT, dtype=np.intp)
        for rows, texts, inverse in self._texts():
            codes[rows] = np.array([place[text] for text in texts], dtype=np.intp)[inverse]
        for row, value in self._large.items():
            codes[row] = place[str(value)]
        return codes

    def as_texts(self) -> _TextColumn:
        text_of = {row: str(value) for row, value in self._large.items()}
        for rows, texts, inverse in self._texts():
            text_of.update(zip(rows.tolist(), (texts[code] for code in inverse.tolist()), strict=True))
        column = _TextColumn()
        for row in sorted(text_of):
            column.put(row, text_of[row])
        return column

    def _texts(self) -> Iterator[tuple[Codes, list[str], Codes]]:
        """For each type: its rows, their distinct values as texts, and which of these each row has."""
        values = self.present
        exact = np.isfinite(values)
        exact[list(self._large)] = False
        kinds = _filled(self._kinds, len(values), _ABSENT if self._kind is None else _KINDS.index(self._kind))
        for code, kind in enumerate(_KINDS):
            rows = np.flatnonzero(exact & (kinds == code))
            if len(rows):
                distinct, inverse = np.unique(values[rows], return_inverse=True)
                yield rows, [as_text(kind(value)) for value in distinct.tolist()], inverse.reshape(-1)


_KINDS: tuple[type[bool] | type[int] | type[float], ...] = (bool, int, float)


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


def is_answer(text: str, answer: str) -> bool:
    """Whether a value, as text, is this answer; a task file may spell `True` and `False` in lower case."""
    return text == answer or (text in ("True", "False") and text == answer.capitalize())


def as_text(value: float | bool | str) -> str:
    """A score value as tables and names show it: `True`, `3`, `0.5`, or the text itself."""
    return value if isinstance(value, str) else str(value)


def _pad(column: array[_Item], row: int, filler: _Item) -> None:
    # rows before this one had no such value
    if len(column) < row:
        column.extend(array(column.typecode, [filler]) * (row - len(column)))


def _filled(column: array[int], size: int, filler: int) -> Codes:
    values = np.full(size, filler, dtype=np.intp)
    values[: len(column)] = column
    return values


def _and(names: Iterable[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
