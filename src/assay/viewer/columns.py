"""The columns of a run's index by the names that queries use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.core.journal import key_number
from assay.costs.price_columns import costs_of
from assay.costs.prices import Quote
from assay.results.marks import THRESHOLD
from assay.results.outcomes import OUTCOMES
from assay.results.query.evaluate import Mask, Texts
from assay.results.query.fields import BUILT_IN, FieldKind, QueryField, Schema, scorer_fields
from assay.results.query.syntax import SearchText, is_like
from assay.viewer.index import Snapshot
from assay.viewer.packed_texts import PackedTexts
from assay.viewer.rows import TEXT_KEPT, VALUES_KEPT, label_hash

COMPLETED = 100
"""Values of a field that completion offers."""
PLAIN_NUMBERS = ("score", "seconds", "tokens_in", "tokens_out", "retries", "attempt", "attempts", "index", "length")


def schema_of(snapshot: Snapshot, run: str, model: str) -> Schema:
    """Every field that this run has."""
    offered = {
        "task": tuple(sorted(name for name in snapshot.tasks if name)),
        "failure": tuple(dict.fromkeys(name for full in snapshot.failures for name in (full.partition("/")[2], full))),
        "run": (run,),
        "model": (model,),
    }
    fields = [replace(item, values=offered.get(item.name, item.values)[:COMPLETED]) for item in BUILT_IN]
    return Schema([*fields, *_scorers(snapshot), *_metadata(snapshot)])


def _scorers(snapshot: Snapshot) -> list[QueryField]:
    values: list[tuple[str, str, FieldKind, tuple[str, ...]]] = []
    for name in snapshot.names:
        kind, _, full = name.partition(":")
        scorer, _, value = full.rpartition(".")
        if kind == "value":
            values.append((scorer, value, "number", ()))
        elif kind == "label":
            values.append((scorer, value, "text", _offered(snapshot, name)))
    return scorer_fields(values)


def _metadata(snapshot: Snapshot) -> list[QueryField]:
    fields = []
    for name in snapshot.names:
        kind, _, key = name.partition(":")
        if kind == "meta":
            column = key.startswith("sample.")
            about = "column of the dataset" if column else "metadata of the sample"
            holds: FieldKind = "any" if f"num:{key}" in snapshot.names else "text"
            also = (key.removeprefix("sample."), f"metadata.{key}") if column else (key,)
            full = key if column else f"metadata.{key}"
            fields.append(QueryField(name=full, kind=holds, about=about, values=_offered(snapshot, name), also=also))
    return fields


def _offered(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    return tuple(sorted(snapshot.labels.get(name, {}).values())[:COMPLETED])


class IndexColumns:
    def __init__(
        self,
        snapshot: Snapshot,
        *,
        run: str,
        model: str,
        quote: Quote | None,
        marks: Mapping[int, str],
        moved: Sequence[NDArray[np.float64]],
        search: Callable[[Sequence[SearchText]], Mask],
    ) -> None:
        self._snapshot = snapshot
        self._run, self._model = run, model
        self._quote = quote
        self._marks = marks
        self._moved = moved
        """How much better each compared run is, per row."""
        self.search = search

    @property
    def rows(self) -> int:
        return self._snapshot.rows

    def numbers(self, field: str) -> NDArray[Any] | None:
        snapshot = self._snapshot
        if field in PLAIN_NUMBERS:
            column = snapshot.column(field)
            return column if column.dtype.kind == "f" else column.astype(np.float64)
        if field == "tokens":
            tokens: NDArray[Any] = snapshot.column("tokens_in").astype(np.float64) + snapshot.column("tokens_out")
            return tokens
        if field == "cost":
            return self._costs()
        for name in (f"value:{field}", f"num:{_key(field)}"):
            if name in snapshot.names:
                return snapshot.column(name)
        return None

    def _costs(self) -> NDArray[np.float64]:
        column = self._snapshot.column
        return costs_of(
            self._quote,
            tokens_in=column("tokens_in"),
            tokens_out=column("tokens_out"),
            from_server_cache=column("from_server_cache"),
            uncounted=column("uncounted"),
        )

    def texts(self, field: str) -> Texts | None:
        snapshot = self._snapshot
        named = self.coded(field)
        if named is not None:
            return named
        if field == "id":
            return SampleIds(snapshot.texts("id"))
        if field == "key":
            return AttemptKeys(snapshot.column("key"))
        for name in (f"label:{field}", f"meta:{_key(field)}", f"text:{field}"):
            if name in snapshot.names:
                return HashedTexts(snapshot, name)
        return None

    def coded(self, field: str) -> CodedTexts | None:
        """Columns of few words."""
        made: dict[str, Callable[[], CodedTexts]] = {
            "task": lambda: CodedTexts(self._snapshot.column("task"), [(name,) for name in self._snapshot.tasks]),
            "outcome": lambda: CodedTexts(self._snapshot.column("outcome"), [(name,) for name in OUTCOMES]),
            "failure": self._failures,
            "attempts": self._attempts,
            "mark": lambda: CodedTexts(*_marked(self._snapshot, self._marks)),
            "flip": self._flips,
            "run": lambda: CodedTexts(np.zeros(self.rows, np.int8), [(self._run,)]),
            "model": lambda: CodedTexts(np.zeros(self.rows, np.int8), [(self._model,)]),
        }
        return made[field]() if field in made else None

    def _failures(self) -> CodedTexts:
        # the last entry is for rows without a failure: their code is −1
        names = [(full, full.partition("/")[2]) for full in self._snapshot.failures]
        return CodedTexts(self._snapshot.column("failure"), [*names, ()])

    def _attempts(self) -> CodedTexts:
        several = (self._snapshot.column("attempts") > 1).astype(np.int8)
        return CodedTexts(several + self._snapshot.column("mixed"), [(), ("same",), ("mixed",)])

    def _flips(self) -> CodedTexts:
        if not self._moved:
            raise UsageError("whether a sample flipped needs another run to compare with (`against`)")
        return CodedTexts(*_flipped(self._moved))


def _key(field: str) -> str:
    return field.removeprefix("metadata.")


def _marked(snapshot: Snapshot, marks: Mapping[int, str]) -> tuple[NDArray[Any], list[tuple[str, ...]]]:
    """A mark disagrees with a score that is on the other side of the threshold."""
    words: list[tuple[str, ...]] = [("none",)]
    codes = np.zeros(snapshot.rows, np.int8)
    share = snapshot.column("share") if marks else codes
    for row, verdict in marks.items():
        differs = verdict != "unclear" and not np.isnan(share[row])
        differs = differs and (share[row] >= THRESHOLD) != (verdict == "right")
        names = ("any", verdict, *(["disagree"] if differs else []))
        if names not in words:
            words.append(names)
        codes[row] = words.index(names)
    return codes, words


def _flipped(moved: Sequence[NDArray[np.float64]]) -> tuple[NDArray[Any], list[tuple[str, ...]]]:
    """Only rows that both runs scored can have flipped; better means that the other run, or one of several, is."""
    better = np.logical_or.reduce([item > 0 for item in moved])
    worse = np.logical_or.reduce([item < 0 for item in moved])
    same = np.logical_and.reduce([item == 0 for item in moved])
    words: list[tuple[str, ...]] = [(), ("better", "flipped"), ("worse", "flipped")]
    words += [("better", "worse", "flipped"), ("same",)]
    return better + 2 * worse.astype(np.int8) + 4 * same.astype(np.int8), words


class _Texts:
    """Texts that cannot be compared with those of another column, row by row."""

    def same(self, other: Texts) -> Mask | None:
        return None


class CodedTexts(_Texts):
    """Each row has a code, and each code its words."""

    def __init__(self, codes: NDArray[Any], words: Sequence[tuple[str, ...]]) -> None:
        self._codes = codes
        self._words = words

    def present(self) -> Mask:
        return self._with([bool(words) and words != ("",) for words in self._words])

    def equal(self, text: str) -> Mask:
        return self._with([text in words for words in self._words])

    def like(self, parts: Sequence[str]) -> Mask:
        return self._with([any(is_like(word, parts) for word in words) for words in self._words])

    def words(self, row: int) -> tuple[str, ...]:
        return self._words[int(self._codes[row])]

    def _with(self, holds: list[bool]) -> Mask:
        mask: Mask = np.array(holds or [False], bool)[self._codes]
        return mask


class SampleIds(_Texts):
    def __init__(self, texts: PackedTexts) -> None:
        self._texts = texts

    def present(self) -> Mask:
        return np.ones(len(self._texts), bool)

    def equal(self, text: str) -> Mask:
        return self._texts.equal(text[:TEXT_KEPT])

    def like(self, parts: Sequence[str]) -> Mask:
        return self._texts.like(parts)


class AttemptKeys(_Texts):
    """The attempts' keys, 16 digits each."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        self._keys = keys

    def present(self) -> Mask:
        return np.ones(len(self._keys), bool)

    def equal(self, text: str) -> Mask:
        mask: Mask = self._keys == np.uint64(key_number(text))
        return mask

    def like(self, parts: Sequence[str]) -> Mask:
        return np.array([is_like(f"{key:016x}", parts) for key in self._keys.tolist()], bool)


class HashedTexts:
    """A column of hashes; their texts are in a list where they are few, else packed, chunk by chunk."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._snapshot = snapshot
        self._name = name
        self._hashes = snapshot.column(name)

    def present(self) -> Mask:
        mask: Mask = self._hashes != 0
        return mask

    def equal(self, text: str) -> Mask:
        mask: Mask = self._hashes == np.uint64(label_hash(text))
        return mask

    def like(self, parts: Sequence[str]) -> Mask:
        known = self._snapshot.labels.get(self._name, {})
        hashes = [each for each, text in known.items() if is_like(text, parts)]
        mask: Mask = np.isin(self._hashes, np.array(hashes, np.uint64))
        if len(known) >= VALUES_KEPT:
            mask |= self._snapshot.texts(self._name).like(parts) & self.present()
        return mask

    def same(self, other: Texts) -> Mask | None:
        if not isinstance(other, HashedTexts):
            return None
        mask: Mask = (self._hashes == other._hashes) & self.present()
        return mask
