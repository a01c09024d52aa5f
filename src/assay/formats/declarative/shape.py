"""Shapes: a small vocabulary for saying what a YAML field may hold, and the check of a value against it.

The check walks the whole value, reports everything that is wrong at once (each with its field path), and returns
the value with defaults filled in. A field that is not text may hold a whole placeholder (`<< config.x >>`) while the
configuration is still unknown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cache
from math import isfinite
from typing import ClassVar

from msgspec import UNSET, UnsetType

from assay.catalog import OWN_NAME, is_name, names, published
from assay.formats.declarative.own_options import own_option_faults, own_signature
from assay.formats.declarative.yaml_reader import Document, FieldPath, FileFault, PlacedError, Plain, hint_here
from assay.overriding import override
from assay.text.wording import count_of, in_yaml, nearest
from assay.trust.project import is_of_this_project

PLACEHOLDER = re.compile(r"\s*<<\s*(config|secrets)\.([A-Za-z0-9_\-]+)\s*>>\s*\Z")
PLACEHOLDER_INSIDE = re.compile(r"<<\s*config\.([A-Za-z0-9_\-]+)\s*>>")

MOST_SENTENCES = 100


class Report:
    """What was found wrong, in the order of the file."""

    def __init__(self, document: Document, *, configured_at: FieldPath | None = None) -> None:
        self.document = document
        self.configured_at = configured_at
        """The field whose placeholders have no values yet; None for no field."""
        self.faults: list[FileFault] = list(document.faults)
        self._unread = {fault.where for fault in document.faults}
        self.values_over_trials: set[str] = set()
        """The numbers over a sample's trials that metrics may read as well as score values."""
        self.misshapen = 0
        """How many of them are about a value that is not of its shape: rules over it would not hold."""

    def wrong(self, where: FieldPath, message: str, *, lacks: str | None = None) -> None:
        self._add(self.document.fault(where, message)._replace(lacks=lacks))
        self.misshapen += 1

    def unknown_field(self, where: FieldPath, message: str, meant: str | None) -> None:
        self._add(self.document.fault(where, message)._replace(unknown=True, meant=meant))
        self.misshapen += 1

    def wrong_content(self, where: FieldPath, message: str) -> None:
        """Wrong, though of the right shape: checks of the whole may continue."""
        self._add(self.document.fault(where, message)._replace(content=True))

    def _add(self, fault: FileFault) -> None:
        if fault.where not in self._unread:  # a stand-in for a value is not an error
            self.faults.append(fault)

    def warn(self, where: FieldPath, message: str) -> None:
        self.document.warn(where, message)

    def awaits(self, where: FieldPath, text: str) -> bool:
        """Whether the text may become another one once the configuration is known."""
        at = self.configured_at
        return at is not None and where[: len(at)] == at and bool(PLACEHOLDER_INSIDE.search(text))

    def raise_errors(self) -> None:
        if not self.faults:
            return
        in_order = sorted(self.faults, key=lambda fault: astuple(self.document.place(fault.where)))
        sentences = [fault.sentence for fault in in_order[:MOST_SENTENCES]]
        if len(in_order) > MOST_SENTENCES:
            sentences.append(f"… and {len(in_order) - MOST_SENTENCES} more")
        raise PlacedError("\n".join(sentences), in_order)


class Shape:
    """What a value may be. `check` returns it with defaults filled in; what is wrong goes to the report."""

    __slots__ = ()
    may_be_placeholder: ClassVar[bool] = True
    """Whether a whole `<< config.x >>` may stand here until the configuration is known."""

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        raise NotImplementedError

    def stands_for(self, text: str, placeholder: bool) -> bool:
        """Whether a text with a placeholder may stand here until the configuration is known."""
        return placeholder and self.may_be_placeholder and PLACEHOLDER.match(text) is not None


def check(value: Plain, shape: Shape, where: FieldPath, report: Report, *, placeholder: bool = True) -> Plain:
    """The value with defaults filled in, or as it is where it is still to be configured."""
    if isinstance(value, str) and report.awaits(where, value) and shape.stands_for(value, placeholder):
        return value
    return shape.check(value, where, report)


@dataclass(frozen=True, slots=True)
class Text(Shape):
    """A text, perhaps of a pattern, perhaps one of a few words."""

    min_length: int = 0
    max_length: int | None = None
    pattern: str | None = None
    words: tuple[str, ...] = ()
    kind: str = ""
    """The kind of part that the words name: what installed packages publish of it is taken too."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Words that other programs take here, each with what to do instead."""

    @override
    def stands_for(self, text: str, placeholder: bool) -> bool:
        return bool(self.words)

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, str):
            report.wrong(where, f"expected text, got {in_yaml(value)}")
        elif self.words and value not in self.words and not (self.kind and is_name(self.kind, value)):
            known = names(self.kind) if self.kind else self.words
            instead = self.refused.get(value) or hint_here(value, known)
            report.wrong(where, f"`{value}` is not allowed here. {instead}")
        elif len(value) < self.min_length:
            report.wrong(where, "must not be empty")
        elif self.max_length is not None and len(value) > self.max_length:
            report.wrong(where, f"{len(value)} characters; at most {self.max_length} are allowed")
        elif self.pattern and not report.awaits(where, value) and not re.fullmatch(self.pattern, value):
            report.wrong(where, f"`{value}` does not match {self.pattern}")
        return value


@dataclass(frozen=True, slots=True)
class ValueText(Text):
    """The name of a value that the scores of a scorer hold; a `numeric` one may not be a label."""

    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Number(Shape):
    """A number; `whole` for integers."""

    whole: bool = False
    least: float | None = None
    above: float | None = None
    most: float | None = None

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        kinds = int if self.whole else int | float
        if (
            isinstance(value, bool)
            or not isinstance(value, kinds)
            or (isinstance(value, float) and not isfinite(value))
        ):
            report.wrong(where, f"expected a {'whole ' if self.whole else ''}number, got {in_yaml(value)}")
        elif abs(value) > sys.float_info.max:
            report.wrong(where, "expected a number up to about 1.8e308")
        elif self.least is not None and value < self.least:
            report.wrong(where, f"must be at least {self.least:g}, got {value}")
        elif self.above is not None and value <= self.above:
            report.wrong(where, f"must be above {self.above:g}, got {value}")
        elif self.most is not None and value > self.most:
            report.wrong(where, f"must be at most {self.most:,}, got {value}")
        return value


@dataclass(frozen=True, slots=True)
class Boolean(Shape):
    """true or false."""

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, bool):
            report.wrong(where, f"expected true or false, got {in_yaml(value)}")
        return value


@dataclass(frozen=True, slots=True)
class Anything(Shape):
    """Whatever YAML can say."""

    may_be_placeholder = False  # a text with one is as good as any value

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        return value


@dataclass(frozen=True, slots=True)
class Scalar(Shape):
    """A text, number or truth value: what filters compare against."""

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, str | bool | int | float):
            report.wrong(where, f"expected a text, a number or true/false, got {in_yaml(value)}")
        return value


@dataclass(frozen=True, slots=True)
class ListOf(Shape):
    item: Shape
    least: int = 0

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, list):
            report.wrong(where, f"expected a list, got {in_yaml(value)}")
            return value
        if len(value) < self.least:
            report.wrong(where, f"needs at least {count_of(self.least, 'item')}")
        return [check(item, self.item, (*where, at), report) for at, item in enumerate(value)]


@dataclass(frozen=True, slots=True)
class MapOf(Shape):
    value: Shape
    least: int = 0

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, dict):
            report.wrong(where, f"expected a mapping, got {in_yaml(value)}")
            return value
        if len(value) < self.least:
            report.wrong(where, "must not be empty")
        return {name: check(item, self.value, (*where, name), report) for name, item in value.items()}


@dataclass(frozen=True, slots=True)
class OneOfTwo(Shape):
    """The second shape for values of which `is_second` is true, else the first."""

    first: Shape
    second: Shape

    def is_second(self, value: Plain) -> bool:
        raise NotImplementedError

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        return check(value, self.second if self.is_second(value) else self.first, where, report)


class TextOr(OneOfTwo):
    """A text of one shape, or something else of another."""

    @override
    def is_second(self, value: Plain) -> bool:
        return not isinstance(value, str)


class OrMapping(OneOfTwo):
    """Something of one shape, or a mapping of another."""

    @override
    def is_second(self, value: Plain) -> bool:
        return isinstance(value, dict)


@dataclass(frozen=True, slots=True)
class OrWithField(OneOfTwo):
    """A mapping of one shape, or of another if it has this field."""

    may_be_placeholder = False
    field: str

    @override
    def is_second(self, value: Plain) -> bool:
        return isinstance(value, dict) and self.field in value


@dataclass(frozen=True, slots=True)
class Refused(Shape):
    """What other programs write here and assay does not take."""

    reason: str

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        report.wrong(where, self.reason)
        return value


@dataclass(frozen=True, slots=True)
class Later(Shape):
    """A shape that refers to one defined further down, for builders that nest."""

    get: Callable[[], Shape]

    @override
    def stands_for(self, text: str, placeholder: bool) -> bool:
        return self.get().stands_for(text, placeholder)

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        return self.get().check(value, where, report)


@dataclass(frozen=True, slots=True)
class Field:
    shape: Shape
    default: Plain | UnsetType = UNSET
    """Without one the field is required."""
    doc: str = ""
    placeholder: bool = True
    """Whether a whole `<< config.x >>` may stand here until the configuration is known."""
    configured: bool = False
    """Whether it may hold placeholders at all: this is what parameters are for."""

    @property
    def is_required(self) -> bool:
        return self.default is UNSET


Fields = dict[str, Plain]
Rule = Callable[[Fields, FieldPath, Report], None]


@dataclass(frozen=True, slots=True)
class ObjectOf(Shape):
    """A mapping of known fields."""

    may_be_placeholder = False
    name: str
    doc: str
    fields: dict[str, Field]
    rule: Rule | None = None
    """Rules over several fields: which fields go together."""
    together: tuple[Fields | Callable[[], Fields], ...] = ()
    """The part of it that a JSON Schema can express, for editors."""
    example: str = ""
    """YAML of one such thing, where it says so itself."""

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, dict):
            report.wrong(where, f"expected {self.name} (a mapping), got {in_yaml(value)}")
            return value
        before = report.misshapen
        for name in value:
            if name not in self.fields:
                near = nearest(name, list(self.fields))
                message = f"unknown field of {self.name}. {hint_here(name, self.fields)}"
                report.unknown_field((*where, name), message, near if near not in value else None)
        result: Fields = {}
        for name, entry in self.fields.items():
            if name not in value:
                if entry.default is UNSET:
                    report.wrong(where, f"{self.name} {need(self.name)} the field `{name}`", lacks=name)
                else:
                    result[name] = entry.default
            elif value[name] is None and entry.default is None:
                result[name] = None
            else:
                result[name] = check(value[name], entry.shape, (*where, name), report, placeholder=entry.placeholder)
        if self.rule is not None and report.misshapen == before:
            self.rule(result, where, report)
            report.misshapen = before  # what a rule reports is not an error of shape
        return result


class PartTypes(Mapping[str, ObjectOf]):
    """The types of a kind of part, each made when it is first looked at: its fields are those of its factory.

    `make` returns None for a part that no file names.
    """

    def __init__(self, names: Iterable[str], make: Callable[[str], ObjectOf | None]) -> None:
        self._names = dict.fromkeys(names)
        self._make = cache(make)

    @override
    def __getitem__(self, name: str) -> ObjectOf:
        made = self._make(name) if name in self._names else None
        if made is None:
            raise KeyError(name)
        return made

    @override
    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if self._make(name) is not None)

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class Tagged(Shape):
    """One of several mappings, told apart by the word in `tag`."""

    may_be_placeholder = False
    what: str
    choices: Mapping[str, ObjectOf]
    default: str | None = None
    aliases: dict[str, str] = field(default_factory=dict)
    tag: str = "type"
    kind: str | None = None
    """The catalog's word for it, where the tag may also name a part of an installed package or your own."""
    own: ObjectOf | None = None
    """The fields that such a part shares with the others; whatever else is given are its options."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Words that other programs take as `tag`, each with what to do instead."""

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, dict):
            report.wrong(where, f"expected {self.what} (a mapping with `{self.tag}`), got {in_yaml(value)}")
            return value
        word = value.get(self.tag, self.default)
        if word is None:
            report.wrong(where, f"{self.what} needs `{self.tag}`: one of {', '.join(self.choices)}")
            return value
        if isinstance(word, str) and word in self.aliases:
            report.warn((*where, self.tag), f"`{word}` is another name of `{self.aliases[word]}`; write that")
            word = self.aliases[word]
        chosen = self.choices.get(word) if isinstance(word, str) else None
        if chosen is None and self.own is not None and isinstance(word, str) and self._is_elsewhere(word):
            return self._check_own(self.own, word, value, where, report)
        if chosen is None:
            known = {*self.choices, *(published(self.kind) if self.kind is not None else ())}
            instead = self.refused.get(str(word)) or hint_here(str(word), known)
            report.wrong((*where, self.tag), f"unknown {self.what} `{word}`. {instead}")
            return value
        return chosen.check({**value, self.tag: word}, where, report)

    def _check_own(self, own: ObjectOf, word: str, value: Fields, where: FieldPath, report: Report) -> Plain:
        """A third-party part: options that its source does not show are checked once it may be imported."""
        options: Fields = {name: each for name, each in value.items() if name not in own.fields}
        shared: Fields = {name: each for name, each in value.items() if name not in options}
        if self.kind is not None and is_of_this_project(report.document.path):
            awaited = [name for name, each in options.items() if report.awaits((*where, name), str(each))]
            declared = declared_options(self.kind, word)
            for fault in own_option_faults(self.kind, word, options, (*awaited, *declared)):
                if fault.is_missing:
                    report.wrong(where, fault.message, lacks=fault.option)
                else:
                    report.wrong((*where, fault.option), fault.message)
            for name in [name for name in declared if options.get(name) is not None]:
                check(options[name], declared[name].shape, (*where, name), report)
        checked = own.check(shared, where, report)
        return {**checked, **options} if isinstance(checked, dict) else checked

    def _is_elsewhere(self, word: str) -> bool:
        """Whether the word names a third-party part."""
        return self.kind is not None and (bool(OWN_NAME.fullmatch(word)) or word in published(self.kind))


def declared_options(kind: str, word: str) -> Mapping[str, Field]:
    """The options of a third-party part that say what they are for: they are checked as those of our own are."""
    from assay.formats.declarative.from_annotations import object_of  # which is made of shapes

    signature = own_signature(kind, word)
    return object_of(signature).fields if signature is not None else {}


def mappings(value: Plain) -> list[Fields]:
    """The items of a checked list of mappings; none while the list is a placeholder or left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def need(name: str) -> str:
    """`need` or `needs` after a name, of several things or of one."""
    return "need" if name.endswith("s") and not name.startswith(("a ", "an ")) else "needs"


def require_one(result: Fields, names: Sequence[str], where: FieldPath, report: Report, of: str) -> None:
    """Exactly one of these fields is given."""
    given = [name for name in names if result[name] is not None]
    if len(given) != 1:
        *most, last = (f"`{name}`" for name in names)
        got = " and ".join(given) or ("neither" if len(names) == 2 else "none of them")
        report.wrong(where, f"{of} {need(of)} one of {', '.join(most)} and {last}; got {got}")


def refuse_repeated_keys(items: Plain, where: FieldPath, report: Report) -> None:
    """Keys of a checked list of mappings are unique."""
    seen: set[Plain] = set()
    for at, item in enumerate(mappings(items)):
        key = item.get("key")
        if key is not None and key in seen:
            report.wrong((*where, at, "key"), f"`{key}` is given twice")
        seen.add(key)
