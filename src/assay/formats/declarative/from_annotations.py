"""The shape of what is declared by annotations: a factory's signature, a `TypedDict`, or a record."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
from msgspec import NODEFAULT, UNSET, Struct

from assay.formats.declarative.code_shapes import PatternText, PythonText, TemplatedValue, TemplateText
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
    PartTypes,
    Report,
    Rule,
    Scalar,
    Shape,
    Tagged,
    Text,
    TextOr,
    ValueText,
    require_one,
)
from assay.formats.declarative.yaml_reader import FieldPath, Plain
from assay.part_options import (
    Choice,
    Doc,
    InFiles,
    ModelKey,
    Named,
    OldName,
    PartInfo,
    PathOption,
    Pattern,
    Placeholders,
    PythonOption,
    TemplateOption,
    ValueName,
    Words,
    info_of,
)
from assay.schema_rules import Schema, at_least_one, exactly_one

REFERENCED_KEY = Text(min_length=1, max_length=250, pattern=r"[a-zA-Z0-9_\-$]+")


class Option(Struct, frozen=True):
    """One option: its type, what is said of it, and its default."""

    name: str
    type: Any
    markers: tuple[Any, ...]
    default: Any

    def marker(self, kind: type[Any]) -> Any:
        return next((marker for marker in self.markers if isinstance(marker, kind)), None)

    @property
    def written(self) -> str:
        """What files call it."""
        named, path = self.marker(Named), self.marker(PathOption)
        return str(named.name if named else path.named if path else self.name)


def object_of(
    declared: Any,
    called: str = "",
    *together: Schema | Callable[[], Schema],
    word: Mapping[str, Field] | None = None,
    common: Mapping[str, Field] | None = None,
    rule: Rule | None = None,
    info: PartInfo | None = None,
    shapes: Mapping[str, Shape] | None = None,
    only: Sequence[str] = (),
) -> ObjectOf:
    """The mapping that a factory, a `TypedDict` or a record declares, with its rules, doc and example.

    `called` is what messages call it; `word` is the field that chooses it. `common` are fields that it shares with
    others of its kind, `rule` and `together` what there is to say beyond the part, and `shapes` the shapes of fields
    whose types do not show them; `info` is given where the part itself does not say what it is, and
    `only` where not all of its fields are there.
    """
    info = info or info_of(declared) or PartInfo((inspect.getdoc(declared) or "").partition("\n")[0])
    called = info.name or called
    options = [option for option in options_of(declared) if option.marker(Doc) and (option.name in only or not only)]
    old = {option.written: option.marker(OldName) for option in options if option.marker(OldName)}
    fields = {**(word or {}), **(common or {})}
    for option in options:
        fields[option.written] = field_of(option, (shapes or {}).get(option.name))
    for new, gone in old.items():
        fields[new] = Field(fields[new].shape, None, fields[new].doc)
        fields[gone.name] = Field(Text(), None, "Old name.")
    either = (*info.one_of, *((new, gone.name) for new, gone in old.items()))
    schemas = (*info.editor, *(exactly_one(*names) for names in either))
    if info.any_of:
        schemas = (*schemas, at_least_one(*info.any_of))
    rules = [item for item in (_rule(info, old, called), rule) if item is not None]
    return ObjectOf(called, info.doc, fields, _all(rules), (*schemas, *together), info.example)


def _all(rules: Sequence[Rule]) -> Rule | None:
    if len(rules) < 2:
        return next(iter(rules), None)

    def check(result: Fields, where: FieldPath, report: Report) -> None:
        for rule in rules:
            rule(result, where, report)

    return check


def word(value: str) -> dict[str, Field]:
    """The field `type` that chooses a mapping."""
    return {"type": _word(value)}


def _word(value: str) -> Field:
    return Field(Text(words=(value,)), doc=f"`{value}`", placeholder=False)


@cache
def options_of(declared: Any) -> tuple[Option, ...]:
    """Everything that can be given by name; files may give what has a doc."""
    if isinstance(declared, type) and issubclass(declared, Struct):
        return tuple(_fields_of(declared))
    if is_typeddict(declared):
        hints = get_type_hints(declared, include_extras=True)
        left_out = {name: None for name, hint in hints.items() if get_origin(hint) is NotRequired}
        hints = {name: get_args(hint)[0] if name in left_out else hint for name, hint in hints.items()}
        return tuple(_options(hints, {name: left_out.get(name, UNSET) for name in hints}))
    if isinstance(declared, inspect.Signature):  # of a part whose source was read, and not imported
        return tuple(
            _options({name: each.annotation for name, each in declared.parameters.items()}, _defaults(declared))
        )
    called: Any = declared.__init__ if isinstance(declared, type) else declared  # type: ignore[misc]  # of exactly this class
    hints = get_type_hints(called, include_extras=True)
    parameters = inspect.signature(declared).parameters
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:  # the options of something in it, which files give as one mapping
            hints[name] = Annotated[dict[str, Any], *_unwrapped(hints.get(name))[1], InFiles({})]
    return tuple(_options(hints, _defaults(inspect.signature(declared))))


def _defaults(signature: inspect.Signature) -> dict[str, Any]:
    required = inspect.Parameter.empty
    return {name: UNSET if each.default is required else each.default for name, each in signature.parameters.items()}


def _fields_of(record: type[Struct]) -> Iterator[Option]:
    for field in msgspec.structs.fields(record):
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        yield Option(field.encode_name, *_unwrapped(field.type), UNSET if default is NODEFAULT else default)


def _options(hints: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[Option]:
    for name, default in defaults.items():
        yield Option(name, *_unwrapped(hints.get(name, Any)), default)


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


def field_of(option: Option, shape: Shape | None = None) -> Field:
    in_files, filled = option.marker(InFiles), option.marker(Placeholders) or Placeholders()
    default = option.default if in_files is None else in_files.default
    if isinstance(default, tuple):
        default = list(default)
    shape = shape or shape_of(option.type, option.markers)
    return Field(shape, default, option.marker(Doc).text, filled.whole, filled.inside)


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
                return PythonText(marker.function, marker.arguments, marker.fewest)
            case ModelKey():
                return REFERENCED_KEY
            case Pattern():
                return PatternText(limits.min_length or 0)
            case ValueName():
                return ValueText(min_length=limits.min_length or 0, numeric=marker.numeric)
            case Words():
                return Text(words=marker.words, kind=marker.kind)
            case Choice() if get_origin(kind) in (Union, UnionType):
                return _choice_of(get_args(kind), marker)
            case Choice():  # only one of them may stand here
                return next(iter(_choice_of((kind,), marker).choices.values()))
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
        return Text(min_length=limits.min_length or 0, max_length=limits.max_length, pattern=limits.pattern)
    if kind is bool:
        return Boolean()
    if kind in (int, float):
        return Number(whole=kind is int, least=limits.ge, above=limits.gt, most=limits.le)
    return object_of(kind) if is_typeddict(kind) or _is_record(kind) else Anything()


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _union_of(kinds: tuple[Any, ...], markers: Sequence[Any]) -> Shape:
    inner = [_unwrapped(kind) for kind in kinds]
    if {kind for kind, _ in inner} == {int, float}:
        return shape_of(float, inner[-1][1])
    if set(kinds) <= {str, bool, int, float}:
        return Scalar()
    text, other = (shape_of(*item) for item in inner)
    if any(isinstance(marker, TemplateOption) for marker in markers):
        text = shape_of(str, markers)
    return OrMapping(text, other) if isinstance(other, ObjectOf | MapOf) else TextOr(text, other)


@cache
def _choice_of(kinds: tuple[Any, ...], choice: Choice) -> Tagged:
    """One of several records or `TypedDict`s: each is compiled when a file has it, and may hold the choice again."""
    tags = dict(map(_tag_of, kinds))
    (tag,) = {field for field, _ in tags.values()}

    def compiled(word: str) -> ObjectOf:
        return object_of(tags[word][1], an(choice.called.format(word)), word={tag: _word(word)})

    return Tagged(choice.what, PartTypes(tags, compiled), default=choice.default, tag=tag)


def _tag_of(kind: Any) -> tuple[str, tuple[str, Any]]:
    """The word of a record or `TypedDict`, its field, and the type itself."""
    if _is_record(kind):
        return str(kind.__struct_config__.tag), (str(kind.__struct_config__.tag_field), kind)
    [word] = next(get_args(option.type) for option in options_of(kind) if option.name == "type")
    return word, ("type", kind)


def an(noun: str) -> str:
    """With its article."""
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


def _rule(info: PartInfo, old: Mapping[str, OldName], called: str) -> Rule | None:
    """The rules of a part, with the place of each problem."""
    if not (info.one_of or info.any_of or info.check or old):
        return None

    def check(result: Fields, where: FieldPath, report: Report) -> None:
        for new, gone in old.items():
            _read_old_name(result, new, gone, where, report, called)
        one_of(info.one_of, called)(result, where, report)
        if info.any_of and all(result[name] is None for name in info.any_of):
            *most, last = (f"`{name}`" for name in info.any_of)
            report.wrong(where, f"{called} needs {', '.join(most)}, {last} or both")
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
