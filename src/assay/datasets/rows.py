"""What every row dataset shares: filters, columns, sample ids, and the walk that turns rows into samples.

A dataset is read twice: once to count what its filters keep and to hash its content, then again, streaming, each time
it is iterated. A source that knows its size is not read to be counted. Only the current row is kept in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Annotated, Any

from msgspec import Meta

from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.types import Sample
from assay.part_options import Doc
from assay.prompts.filters import Filter, FilterError
from assay.storage.key_set import KeySet

Row = dict[str, Any]


class WrittenRow(Row):
    """A row with the texts of those of its values that print as another text than the file has."""

    def __init__(self, values: Row, written: dict[str, Any]) -> None:
        super().__init__(values)
        self.written = written


MOST_REPEATED = 5
"""At most this many repeated sample ids are named."""


class RepeatedIdsError(UsageError):
    """Samples with the same id; code that only displays them may name them differently."""


class RowDataset(ABC):
    """Rows as samples: `Sample(id=…, row=…)`, in file order, streamed."""

    def __init__(
        self,
        *,
        name: str,
        filters: Annotated[Sequence[Mapping[str, Any]], Doc("Rows kept: those that match all.")] = (),
        columns: Annotated[
            Sequence[Annotated[str, Meta(min_length=1)]] | None, Doc("Columns kept; all when absent.")
        ] = None,
        num_samples: int | None = None,
        subsampling: str = "head",
        seed: int = 0,
        renames_repeated: bool = False,
    ) -> None:
        self.name = name
        self._filters = [Filter(spec, where=f"dataset `{name}`: filters[{at}]") for at, spec in enumerate(filters)]
        self._columns = tuple(columns) if columns is not None else None
        self._num_samples = num_samples
        self._subsampling = subsampling
        self._seed = seed
        self._renames_repeated = renames_repeated

    @property
    def where(self) -> str:
        """Its name in messages."""
        return f"dataset `{self.name}`"

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Every row of the source, before filters."""

    def known_size(self) -> int | None:
        """How many rows there are, where the source says so without being read and every row has an id of its own."""
        return None

    @property
    @abstractmethod
    def sha256(self) -> str:
        """The hash of the content, as stored."""

    def __len__(self) -> int:
        if self._chosen is not None:
            return len(self._chosen)
        return self._kept if self._num_samples is None else min(self._kept, self._num_samples)

    def __iter__(self) -> Iterator[Sample]:
        chosen, limit = self._chosen, self._num_samples
        seen = KeySet()
        for at, (index, row) in enumerate(self._kept_rows()):
            if chosen is None and limit is not None and at >= limit:
                return
            if chosen is None or at in chosen:
                yield self._sample(index, row, seen)

    def _sample(self, index: int, row: Row, seen: KeySet) -> Sample:
        """The row as a sample; a `sample_id` column names it, else its position in the source."""
        name = row.get("sample_id")
        written = row.written if isinstance(row, WrittenRow) else None
        if name is None or name == "":
            return Sample(id=str(index), row=row, written=written)
        name = str(name)
        key = int(short_fingerprint(name), 16)
        if key in seen and self._renames_repeated:
            return Sample(id=f"{name} (row {index + 1})", row=row, written=written)
        if key in seen and self._is_given_before(name, index):
            raise _RepeatedIdError(self.where, name, index)
        seen.add(key)
        return Sample(id=name, row=row, written=written)

    def _is_given_before(self, name: str, index: int) -> bool:
        """Two names may have the same key by chance, so the rows themselves are compared."""
        return any(
            str(row.get("sample_id")) == name for _, row in takewhile(lambda at: at[0] < index, self._kept_rows())
        )

    @cached_property
    def _kept(self) -> int:
        """How many rows the filters keep; names that are given twice are refused here, before any model call."""
        if not self._filters and (known := self.known_size()) is not None:
            return known
        seen, count = KeySet(), 0
        repeated: list[_RepeatedIdError] = []
        limit = self._num_samples if self._subsampling != "random" else None
        for index, row in self._kept_rows():
            if limit is None or count < limit:
                try:
                    self._sample(index, row, seen)
                except _RepeatedIdError as error:
                    repeated.append(error)
                    if len(repeated) > MOST_REPEATED:
                        break
            count += 1
        if repeated:
            raise RepeatedIdsError(_all_repeated(repeated, self.where))
        return count

    @cached_property
    def _chosen(self) -> frozenset[int] | None:
        """The positions of a random subsample: the same for the same seed and dataset."""
        if self._subsampling != "random" or self._num_samples is None:
            return None
        from random import Random

        return frozenset(Random(self._seed).sample(range(self._kept), min(self._kept, self._num_samples)))

    def _kept_rows(self) -> Iterator[tuple[int, Row]]:
        for index, row in enumerate(self.rows()):
            if self._filters and not self._keeps(row, index):
                continue
            yield index, row if self._columns is None else self._selected(row, index)

    def _keeps(self, row: Row, index: int) -> bool:
        # the columns are also there by their bare names, for files written before `sample.` was the rule
        variables = {**{name: value for name, value in row.items() if name.isidentifier()}, "sample": row}
        try:
            return all(rule.matches(variables) for rule in self._filters)
        except FilterError as error:
            raise UsageError(f"{error} (row {index + 1})") from error

    def _selected(self, row: Row, index: int) -> Row:
        missing = [name for name in self._columns or () if name not in row and name != "sample_id"]
        if missing:
            raise UsageError(f"{self.where}: row {index + 1}: columns: {unknown_name('column', missing[0], row)}")
        kept = set(self._columns or ())
        selected = {name: value for name, value in row.items() if name in kept or name == "sample_id"}
        return WrittenRow(selected, row.written) if isinstance(row, WrittenRow) else selected


class _RepeatedIdError(UsageError):
    def __init__(self, where: str, name: str, index: int) -> None:
        super().__init__(f"{where}: row {index + 1}: the sample_id `{name}` is given twice")
        self.name, self.index = name, index


def _all_repeated(repeated: Sequence[_RepeatedIdError], where: str) -> str:
    """The first few of them; a whole column of equal ids is not a list to read."""
    if len(repeated) == 1:
        return str(repeated[0])
    shown = ", ".join(f"`{item.name}` in row {item.index + 1}" for item in repeated[:MOST_REPEATED])
    more = ", …" if len(repeated) > MOST_REPEATED else ""
    return f"{where}: sample_ids that an earlier row has: {shown}{more}; each sample needs one of its own"


def check_rows(rows: Iterable[Any], name: str) -> list[Row]:
    """A list of mappings, or a sentence saying which item is something else."""
    rows = list(rows)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise UsageError(f"dataset `{name}`: row {number} is not a mapping of columns")
    return rows
