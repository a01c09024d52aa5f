"""Shapes: a small vocabulary for saying what a YAML field may hold, and the check of a value against it.

The check walks the whole value, reports everything that is wrong at once (each with its field path), and returns
the value with defaults filled in. A field that is not text may hold a whole placeholder (`<< config.x >>`) while the
configuration is still unknown.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from math import isfinite

from msgspec import UNSET, UnsetType

from assay.catalog import OWN_NAME, published
from assay.core.errors import UsageError
from assay.prompts.template import Reads, expression_reads, template_reads
from assay.tasks.declarative.yaml_reader import Document, FieldPath, PlacedError, Plain, hint_here
from assay.wording import in_yaml

PLACEHOLDER = re.compile(r"\s*<<\s*(config|secrets)\.([A-Za-z0-9_\-]+)\s*>>\s*\Z")
PLACEHOLDER_INSIDE = re.compile(r"<<\s*config\.([A-Za-z0-9_\-]+)\s*>>")


class Report:
    """What was found wrong, in the order of the file."""

    def __init__(self, document: Document, *, configured_at: FieldPath | None = None) -> None:
        self.document = document
        self.configured_at = configured_at
        """The field in which placeholders stand for values that are not known yet; None for no field."""
        self.errors: list[tuple[FieldPath, str]] = []
        self.misshapen = 0
        """How many of them are about a value that is not of its shape: rules over it would not hold."""

    def wrong(self, where: FieldPath, message: str) -> None:
        self.errors.append((where, message))
        self.misshapen += 1

    def wrong_content(self, where: FieldPath, message: str) -> None:
        """Wrong, though of the right shape: whoever looks at the whole may go on."""
        self.errors.append((where, message))

    def warn(self, where: FieldPath, message: str) -> None:
        self.document.warn(where, message)

    def awaits(self, where: FieldPath, text: str) -> bool:
        """Whether the text may become another one once the configuration is known."""
        at = self.configured_at
        return at is not None and where[: len(at)] == at and bool(PLACEHOLDER_INSIDE.search(text))

    def raise_errors(self) -> None:
        if not self.errors:
            return
        in_order = sorted(self.errors, key=lambda error: astuple(self.document.mark(error[0])))
        sentences = [self.document.sentence(where, message) for where, message in in_order[:20]]
        if len(self.errors) > 20:
            sentences.append(f"… and {len(self.errors) - 20} more")
        raise PlacedError("\n".join(sentences))


class Shape:
    """What a value may be. `check` returns it with defaults filled in; what is wrong goes to the report."""

    __slots__ = ()

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        raise NotImplementedError

    def stands_for(self, text: str, placeholder: bool) -> bool:
        """Whether a text with a placeholder may stand here until the configuration is known."""
        return placeholder and PLACEHOLDER.match(text) is not None


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
    refused: Mapping[str, str] = field(default_factory=dict)
    """Words that other programs take here, each with what to do instead."""

    def stands_for(self, text: str, placeholder: bool) -> bool:
        return bool(self.words)

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, str):
            report.wrong(where, f"expected text, got {in_yaml(value)}")
        elif self.words and value not in self.words:
            instead = self.refused.get(value) or hint_here(value, self.words)
            report.wrong(where, f"`{value}` is not allowed here. {instead}")
        elif len(value) < self.min_length:
            report.wrong(where, "must not be empty")
        elif self.max_length is not None and len(value) > self.max_length:
            report.wrong(where, f"{len(value)} characters; at most {self.max_length} are allowed")
        elif self.pattern and not report.awaits(where, value) and not re.fullmatch(self.pattern, value):
            report.wrong(where, f"`{value}` does not match {self.pattern}")
        return value


@dataclass(frozen=True, slots=True)
class TemplateText(Shape):
    """Jinja text, compiled here so that what is wrong with it has a place."""

    names: tuple[str, ...] | None
    """What it may read; None where nobody knows."""
    min_length: int = 0

    def stands_for(self, text: str, placeholder: bool) -> bool:
        return False

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        checked = Text(min_length=self.min_length).check(value, where, report)
        if isinstance(checked, str) and not report.awaits(where, checked):
            check_template(template_reads, checked, self.names, where, report)
        return checked


@dataclass(frozen=True, slots=True)
class ExpressionText(Shape):
    """A Jinja expression, such as `{{ sample.category }}`."""

    names: tuple[str, ...] | None
    """What it may read; None where every column of a dataset is a name too."""

    def stands_for(self, text: str, placeholder: bool) -> bool:
        return False

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        checked = Text(min_length=1).check(value, where, report)
        if isinstance(checked, str) and checked and not report.awaits(where, checked):
            check_template(expression_reads, checked, self.names, where, report)
        return checked


def check_template(
    reads: Callable[[str], Reads], source: str, names: tuple[str, ...] | None, where: FieldPath, report: Report
) -> None:
    """That a template can be compiled and reads names that it will be given."""
    try:
        found = reads(source)
    except UsageError as error:
        report.wrong_content(where, str(error))
        return
    for name in found.unknown_filters:
        report.warn(where, f"there is no filter or test `{name}`: the template fails where it is used")
    for name in dict.fromkeys(path[0] for path in found.paths):
        if names is not None and name not in (*names, *found.guarded):
            report.wrong_content(where, f"the template reads `{name}`, which it is not given. {hint_here(name, names)}")


@dataclass(frozen=True, slots=True)
class TemplatedValue(Shape):
    """Any data; its texts are Jinja."""

    names: tuple[str, ...]

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if isinstance(value, str) and not report.awaits(where, value):
            check_template(template_reads, value, self.names, where, report)
        for at, item in (
            value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
        ):
            self.check(item, (*where, at), report)
        return value


@dataclass(frozen=True, slots=True)
class TextOr(Shape):
    """A text of one shape, or something else of another."""

    text: Shape
    other: Shape

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        return check(value, self.text if isinstance(value, str) else self.other, where, report)


@dataclass(frozen=True, slots=True)
class PythonText(Shape):
    """The author's Python: parsed here, never executed. It defines the function that the field is named after."""

    function: str

    def stands_for(self, text: str, placeholder: bool) -> bool:
        return False

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        checked = Text(min_length=1).check(value, where, report)
        if isinstance(checked, str) and checked and not report.awaits(where, checked):
            problem = snippet_problem(checked, self.function)
            if problem is not None:
                report.wrong_content(where, problem)
        return checked


def snippet_problem(source: str, function: str) -> str | None:
    """Why a snippet cannot be called."""
    try:
        names = set(_names_given(ast.parse(source)))
    except SyntaxError as error:
        return f"line {error.lineno} of the snippet: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"the snippet cannot be parsed: {error}"
    if function in names or "*" in names:
        return None
    given = ", ".join(f"`{name}`" for name in sorted(names)[:10]) or "nothing"
    return f"the snippet must define a function `{function}`; it defines {given}"


def _names_given(tree: ast.AST) -> Iterator[str]:
    """Every name that code gives a value to outside of its functions and classes; `*` for who knows which."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.alias):
            yield node.asname or node.name
        yield from _names_given(node)


@dataclass(frozen=True, slots=True)
class Number(Shape):
    """A number; `whole` for integers."""

    whole: bool = False
    least: float | None = None
    above: float | None = None

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
        return value


@dataclass(frozen=True, slots=True)
class Truth(Shape):
    """true or false."""

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, bool):
            report.wrong(where, f"expected true or false, got {in_yaml(value)}")
        return value


@dataclass(frozen=True, slots=True)
class Anything(Shape):
    """Whatever YAML can say."""

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        return value


@dataclass(frozen=True, slots=True)
class Scalar(Shape):
    """A text, number or truth value: what filters compare against."""

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, str | bool | int | float):
            report.wrong(where, f"expected a text, a number or true/false, got {in_yaml(value)}")
        return value


@dataclass(frozen=True, slots=True)
class ListOf(Shape):
    item: Shape
    least: int = 0

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, list):
            report.wrong(where, f"expected a list, got {in_yaml(value)}")
            return value
        if len(value) < self.least:
            report.wrong(where, f"needs at least {self.least} item")
        return [check(item, self.item, (*where, at), report) for at, item in enumerate(value)]


@dataclass(frozen=True, slots=True)
class MapOf(Shape):
    value: Shape
    least: int = 0

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, dict):
            report.wrong(where, f"expected a mapping, got {in_yaml(value)}")
            return value
        if len(value) < self.least:
            report.wrong(where, "must not be empty")
        return {name: check(item, self.value, (*where, name), report) for name, item in value.items()}


@dataclass(frozen=True, slots=True)
class Either(Shape):
    """One of two shapes, told apart by whether the value is a mapping."""

    plain: Shape
    mapping: Shape

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        return check(value, self.mapping if isinstance(value, dict) else self.plain, where, report)


@dataclass(frozen=True, slots=True)
class ByField(Shape):
    """One of two mappings, told apart by whether a field is given."""

    field: str
    given: Shape
    other: Shape

    def stands_for(self, text: str, placeholder: bool) -> bool:
        return False

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        is_given = isinstance(value, dict) and self.field in value
        return check(value, self.given if is_given else self.other, where, report)


@dataclass(frozen=True, slots=True)
class Refused(Shape):
    """What other programs write here and assay does not take."""

    reason: str

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        report.wrong(where, self.reason)
        return value


@dataclass(frozen=True, slots=True)
class Later(Shape):
    """A shape that refers to one defined further down, for builders that nest."""

    name: str
    get: Callable[[], Shape]

    def stands_for(self, text: str, placeholder: bool) -> bool:
        return self.get().stands_for(text, placeholder)

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        return self.get().check(value, where, report)


@dataclass(frozen=True, slots=True)
class Field:
    shape: Shape
    default: Plain | UnsetType = UNSET
    """Without one the field is required."""
    doc: str = ""
    nullable: bool = False
    placeholder: bool = True
    """Whether a whole `<< config.x >>` may stand here until the configuration is known."""
    configured: bool = False
    """Whether placeholders may stand inside at all: what parameters are for."""


Fields = dict[str, Plain]
Rule = Callable[[Fields, FieldPath, Report], None]


@dataclass(frozen=True, slots=True)
class Shaped(Shape):
    """A mapping of known fields."""

    name: str
    doc: str
    fields: dict[str, Field]
    rule: Rule | None = None
    """What no single field can say: which fields go together."""

    def stands_for(self, text: str, placeholder: bool) -> bool:
        return False

    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if not isinstance(value, dict):
            report.wrong(where, f"expected {self.name} (a mapping), got {in_yaml(value)}")
            return value
        before = report.misshapen
        for name in value:
            if name not in self.fields:
                report.wrong((*where, name), f"unknown field of {self.name}. {hint_here(name, self.fields)}")
        result: Fields = {}
        for name, entry in self.fields.items():
            if name not in value:
                if entry.default is UNSET:
                    report.wrong(where, f"{self.name} needs the field `{name}`")
                else:
                    result[name] = entry.default
            elif value[name] is None and (entry.nullable or entry.default is None):
                result[name] = None
            else:
                result[name] = check(value[name], entry.shape, (*where, name), report, placeholder=entry.placeholder)
        if self.rule is not None and report.misshapen == before:
            self.rule(result, where, report)
            report.misshapen = before  # a rule is broken by fields that are of their shapes
        return result


@dataclass(frozen=True, slots=True)
class Tagged(Shape):
    """One of several mappings, told apart by the word in `tag`."""

    what: str
    choices: dict[str, Shaped]
    default: str | None = None
    aliases: dict[str, str] = field(default_factory=dict)
    tag: str = "type"
    kind: str | None = None
    """The catalog's word for it, where the tag may also name a part of an installed package or of one's own."""
    own: Shaped | None = None
    """The fields that such a part shares with the others; whatever else is given are its options."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Words that other programs take as `tag`, each with what to do instead."""

    def stands_for(self, text: str, placeholder: bool) -> bool:
        return False

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
            options: Fields = {name: each for name, each in value.items() if name not in self.own.fields}
            shared: Fields = {name: each for name, each in value.items() if name not in options}
            checked = self.own.check(shared, where, report)
            return {**checked, **options} if isinstance(checked, dict) else checked
        if chosen is None:
            instead = self.refused.get(str(word)) or hint_here(str(word), self.choices)
            report.wrong((*where, self.tag), f"unknown {self.what} `{word}`. {instead}")
            return value
        return chosen.check({**value, self.tag: word}, where, report)

    def _is_elsewhere(self, word: str) -> bool:
        """Whether the word names a part that is not ours. Its options are checked when it may be imported."""
        return self.kind is not None and (bool(OWN_NAME.fullmatch(word)) or word in published(self.kind))


def mappings(value: Plain) -> list[Fields]:
    """The items of a checked list of mappings; none while the list is a placeholder or left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def refuse_repeated_keys(items: Plain, where: FieldPath, report: Report) -> None:
    """Keys of a checked list of mappings are unique."""
    seen: set[Plain] = set()
    for at, item in enumerate(mappings(items)):
        key = item.get("key")
        if key is not None and key in seen:
            report.wrong((*where, at, "key"), f"`{key}` is given twice")
        seen.add(key)
