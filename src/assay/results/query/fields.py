"""The fields that a query may name: those every run has, and one for each scorer's value, metadata key and column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.results.outcomes import OUTCOMES
from assay.results.query.syntax import QueryError
from assay.text.wording import few, nearest

FieldKind = Literal["number", "text", "choice", "any"]
"""A `choice` has fixed values; `any` may hold numbers and texts."""


class QueryField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    kind: FieldKind
    about: str = ""
    values: tuple[str, ...] = ()
    """Values that completion offers; of a choice, all of them."""
    also: tuple[str, ...] = ()
    """Shorter names."""


MARKED = ("any", "none", "right", "wrong", "unclear", "disagree")
FLIPS = ("flipped", "same", "better", "worse")

BUILT_IN = (
    QueryField(name="task", kind="text", about="the task's name"),
    QueryField(name="id", kind="text", about="the sample's id", also=("sample_id", "sample")),
    QueryField(name="outcome", kind="choice", about="outcome of the attempt", values=OUTCOMES),
    QueryField(name="score", kind="number", about="the number that the task averages"),
    QueryField(name="answer", kind="text", about="the extracted answer, if it is short"),
    QueryField(name="target", kind="text", about="the first target"),
    QueryField(
        name="failure", kind="text", about="kind of failure: timeout, or model/timeout", also=("failure_kind", "kind")
    ),
    QueryField(name="seconds", kind="number", about="time the attempt took"),
    QueryField(name="tokens", kind="number", about="tokens in and out"),
    QueryField(name="tokens_in", kind="number", about="tokens of the prompt"),
    QueryField(name="tokens_out", kind="number", about="tokens of the answer"),
    QueryField(name="cost", kind="number", about="what the attempt cost, where prices are known"),
    QueryField(name="retries", kind="number", about="requests that were repeated"),
    QueryField(name="attempt", kind="number", about="which repetition, from 1"),
    QueryField(
        name="attempts",
        kind="any",
        about="how many attempts at the sample; mixed: their scores differ",
        values=("mixed", "same"),
    ),
    QueryField(name="index", kind="number", about="position in the dataset, from 0"),
    QueryField(name="length", kind="number", about="bytes of the record", also=("bytes",)),
    QueryField(name="mark", kind="choice", about="people's verdict", values=MARKED),
    QueryField(name="flip", kind="choice", about="against the run it is compared with", values=FLIPS),
    QueryField(name="run", kind="text", about="the run's name"),
    QueryField(name="model", kind="text", about="the run's model"),
    QueryField(name="key", kind="text", about="the attempt's key"),
)
MAIN_VALUES = ("score", "is_correct")
"""The values that a scorer's name alone stands for; else its only value."""


class Schema:
    """The fields of some runs, by each of their names."""

    def __init__(self, fields: Iterable[QueryField]) -> None:
        self.fields = tuple(fields)
        self._known: dict[str, QueryField] = {}
        for field in self.fields:
            self._known.setdefault(field.name, field)
        for each in self.fields:
            for name in each.also:
                self._known.setdefault(name, each)

    def find(self, name: str) -> QueryField | None:
        return self._known.get(name) or self._known.get(f"metadata.{name.removeprefix('meta.')}")

    def resolve(self, name: str, at: int) -> QueryField:
        """The field of that name; the error suggests another."""
        field = self.find(name)
        if field is not None:
            return field
        near = nearest(name, self._known)
        meant = f"Did you mean `{near}`?" if near else f"Fields: {few([each.name for each in self.fields], 30)}."
        raise QueryError(f"there is no field `{name[:60]}` here. {meant} A text to look for goes in quotes", at)

    def together(self, other: Schema) -> Schema:
        """The fields of both, with the values of both."""
        merged = {each.name: each for each in self.fields}
        for field in other.fields:
            known = merged.get(field.name)
            merged[field.name] = field if known is None else _wider(known, field)
        return Schema(merged.values())


def _wider(first: QueryField, second: QueryField) -> QueryField:
    kind = first.kind if first.kind == second.kind else "any"
    return replace(first, kind=kind, values=tuple(dict.fromkeys((*first.values, *second.values))))


def scorer_fields(values: Sequence[tuple[str, str, FieldKind, tuple[str, ...]]]) -> list[QueryField]:
    """A field for each value of each scorer, given as scorer, value, kind and texts; with its shorter names."""
    kinds: dict[tuple[str, str], QueryField] = {}
    for scorer, value, kind, texts in values:
        field = QueryField(name=f"{scorer}.{value}", kind=kind, about=f"value of the scorer {scorer}", values=texts)
        known = kinds.get((scorer, value))
        kinds[scorer, value] = field if known is None else _wider(known, field)
    fields = []
    for (scorer, value), each in kinds.items():
        names = [name for by, name in kinds if by == scorer]
        main = next((name for name in MAIN_VALUES if name in names), names[0] if len(names) == 1 else None)
        alone = sum(name == value for _, name in kinds) == 1
        also = [*([scorer] if value == main else []), *([value] if alone else [])]
        fields.append(replace(each, also=tuple(also)))
    return fields
