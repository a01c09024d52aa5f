"""The fields of a part in a YAML file, out of the signature of its factory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
from msgspec import UNSET

from assay.formats.declarative.code_shapes import PatternText, PythonText, TemplatedValue, TemplateText
from assay.formats.declarative.schema.fields import REFERENCED_KEY, Kind
from assay.formats.declarative.schema.together import exactly_one
from assay.formats.declarative.shape import (
    Anything,
    Boolean,
    Field,
    Fields,
    ListOf,
    MapOf,
    Number,
    ObjectOf,
    OrMapping,
    Report,
    Rule,
    Scalar,
    Shape,
    Text,
    TextOr,
    require_one,
)
from assay.formats.declarative.yaml_reader import FieldPath, Plain
from assay.part_options import (
    Doc,
    InFiles,
    ModelKey,
    OldName,
    PartInfo,
    Pattern,
    PythonOption,
    TemplateOption,
    Words,
    info_of,
)


class Option(msgspec.Struct, frozen=True):
    """One option of a signature: its type, what is said of it, and its default."""

    name: str
    type: Any
    markers: tuple[Any, ...]
    default: Any

    def marker(self, kind: type[Any]) -> Any:
        return next((marker for marker in self.markers if isinstance(marker, kind)), None)


def kind_of_part(factory: Callable[..., Any], called: str) -> Kind:
    """What can be written of a part: its doc, rules and fields; `called` is what messages call it."""
    info = info_of(factory)
    if info is None:
        raise AssertionError(f"{called}: its factory has no `@part`")
    options = options_of(factory)
    old = {option.name: option.marker(OldName) for option in options if option.marker(OldName)}
    fields = {option.name: field_of(option) for option in options}
    for new, gone in old.items():
        fields[new] = Field(fields[new].shape, None, fields[new].doc)
        fields[gone.name] = Field(Text(), None, "Old name.")
    either = (*info.one_of, *((new, gone.name) for new, gone in old.items()))
    together = (*info.editor, *(exactly_one(*names) for names in either))
    return Kind(info.doc, _rule(info, old, called), together, fields, info.example)


@cache
def options_of(factory: Callable[..., Any]) -> tuple[Option, ...]:
    """The options of a factory that files may give: those with a doc."""
    called: Any = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]  # of exactly this class
    hints = get_type_hints(called, include_extras=True)
    parameters = inspect.signature(factory).parameters
    for name, each in parameters.items():
        if each.kind is each.VAR_KEYWORD:  # the options of something inside of it, which files give as one mapping
            hints[name] = Annotated[dict[str, Any], *_unwrapped(hints.get(name))[1], InFiles({})]
    return tuple(_options(hints, {name: each.default for name, each in parameters.items()}))


def _options(hints: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[Option]:
    for name, default in defaults.items():
        annotation, markers = _unwrapped(hints.get(name, Any))
        if any(isinstance(marker, Doc) for marker in markers):
            yield Option(name, annotation, markers, default)


def _unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type without its markers and without None, and the markers."""
    markers: tuple[Any, ...] = ()
    while get_origin(annotation) is Annotated:
        markers = (*get_args(annotation)[1:], *markers)
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        if len(kinds) < len(get_args(annotation)):
            inner, said = _unwrapped(Union[tuple(kinds)])  # noqa: UP007 - of a computed list
            return inner, (*markers, *said)
    return annotation, markers


def field_of(option: Option) -> Field:
    in_files = option.marker(InFiles)
    default = option.default if in_files is None else in_files.default
    if default is inspect.Parameter.empty:
        default = UNSET
    if isinstance(default, tuple):
        default = list(default)
    return Field(shape_of(option.type, option.markers), default, option.marker(Doc).text)


def shape_of(kind: Any, markers: Sequence[Any] = ()) -> Shape:  # noqa: PLR0911, PLR0912 - one case per type
    """The shape of values of a type."""
    limits = next((marker for marker in markers if isinstance(marker, msgspec.Meta)), msgspec.Meta())
    for marker in markers:
        match marker:
            case TemplateOption() if kind is str:
                return TemplateText(marker.reads, limits.min_length or 0)
            case TemplateOption() if kind is Any:
                return TemplatedValue(marker.reads)
            case PythonOption():
                return PythonText(marker.function)
            case ModelKey():
                return REFERENCED_KEY
            case Pattern():
                return PatternText(limits.min_length or 0)
            case Words():
                return Text(words=marker.words)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return Text(words=inner)
    if origin in (Union, UnionType):
        return _union_of(inner, markers)
    if origin is not None and issubclass(origin, Mapping):
        return MapOf(shape_of(*_unwrapped(inner[1])), limits.min_length or 0)
    if origin is not None and issubclass(origin, Sequence):
        return ListOf(shape_of(*_unwrapped(inner[0])), limits.min_length or 0)
    if kind is str:
        return Text(min_length=limits.min_length or 0, pattern=limits.pattern)
    if kind is bool:
        return Boolean()
    if kind in (int, float):
        return Number(whole=kind is int, least=limits.ge, above=limits.gt, most=limits.le)
    if is_typeddict(kind):
        return object_of(kind)
    return Anything()


def _union_of(kinds: tuple[Any, ...], markers: Sequence[Any]) -> Shape:
    if set(kinds) <= {str, bool, int, float}:
        return Scalar()
    text, other = (shape_of(*_unwrapped(kind)) for kind in kinds)
    if any(isinstance(marker, TemplateOption) for marker in markers):
        text = shape_of(str, markers)
    return OrMapping(text, other) if isinstance(other, ObjectOf | MapOf) else TextOr(text, other)


def object_of(record: Any) -> ObjectOf:
    """The mapping of a `TypedDict`; its docstring is its name, a colon, and what it is."""
    hints = get_type_hints(record, include_extras=True)
    hints = {name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint for name, hint in hints.items()}
    name, _, doc = (inspect.getdoc(record) or "").partition(": ")
    options = _options(hints, dict.fromkeys(hints, inspect.Parameter.empty))
    return ObjectOf(name, doc, {option.name: field_of(option) for option in options})


def _rule(info: PartInfo, old: Mapping[str, OldName], called: str) -> Rule | None:
    """The rules of a part, with the place of each problem."""
    if not (info.one_of or info.check or old):
        return None

    def check(result: Fields, where: FieldPath, report: Report) -> None:
        for new, gone in old.items():
            _read_old_name(result, new, gone, where, report, called)
        one_of(info.one_of, called)(result, where, report)
        for place, sentence in info.check(result) if info.check is not None else ():
            if not report.awaits((*where, *place), str(_inside(result, place))):
                report.wrong((*where, *place), sentence)

    return check


def one_of(choices: Sequence[Sequence[str]], called: str) -> Rule:
    """The rule that exactly one of each of these choices is given."""

    def check(result: Fields, where: FieldPath, report: Report) -> None:
        for names in choices:
            require_one(result, names, where, report, called)

    return check


def _inside(value: Plain, place: Sequence[str | int]) -> Plain:
    for step in place:
        match value:
            case dict():
                value = value.get(str(step))
            case list() if isinstance(step, int):
                value = value[step]
    return value


def _read_old_name(result: Fields, new: str, gone: OldName, where: FieldPath, report: Report, of: str) -> None:
    old = result.pop(gone.name)
    meant = None if old is None else gone.read(str(old))
    if meant is not None:
        report.warn((*where, gone.name), f"is deprecated; write `{new}: '{meant}'`")
    if result[new] is None and meant is not None:
        result[new] = meant
    elif result[new] is None:
        report.wrong(where, f"{of} needs the field `{new}`")
    elif old is not None:
        report.wrong((*where, gone.name), f"`{new}` is given too; keep only that")
