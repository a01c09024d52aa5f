"""YAML files as plain data with the location of every value.

Reads YAML 1.2 core scalars (`no` is a text, `010` is ten), refuses duplicate keys, and resolves what declarative
files may contain besides plain values: merge keys, `!include` (the text of a file), `$ref` (the content of another
YAML file) and `$VAR` (a variable of the environment). A file is untrusted until proven otherwise: its
size, its depth and what its aliases expand to are bounded, and it reads nothing outside its project unless allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import yaml

from assay.bounded_yaml import CORE_SCHEMA, MAX_DEPTH, MAX_NODES, Yaml12Loader, composed, weight
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.tasks.project import is_hidden, root_of
from assay.wording import hint

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_FILES = 200

FieldPath = tuple[str | int, ...]
if TYPE_CHECKING:
    Plain = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None
    """What YAML can say."""
else:
    Plain = Any  # a record may hold one, and msgspec recurses without end on a type that holds itself

VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))\Z")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_NULLS = {"", "~", "null", "Null", "NULL"}


@dataclass(frozen=True, slots=True)
class Position:
    """The location of a value: file, and line and column counted from one."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class FileFault(NamedTuple):
    """One thing that is wrong with a document."""

    path: Path
    """The document, which may have included other files."""
    where: FieldPath
    """As written in the file, whatever was removed from the document since."""
    sentence: str
    lacks: str | None = None
    """The field that is missing there."""
    unknown: bool = False
    """Whether the field should not be there at all."""
    meant: str | None = None
    """The misspelt field that was meant to be this one."""
    content: bool = False
    """Whether it is a text of the right shape with invalid content."""
    passable: bool = False
    """Whether the field has a value that can still be read."""


class FaultKind(TypedDict, total=False):
    """The fields of a `FileFault` that most do not have."""

    lacks: str | None
    unknown: bool
    meant: str | None
    content: bool
    passable: bool


class PlacedError(UsageError):
    """What is wrong, with file, line and column: one sentence per error."""

    def __init__(self, message: str, faults: Sequence[FileFault] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


def all_of(errors: Iterable[UsageError]) -> PlacedError:
    """Several errors as one, each sentence and each fault once."""
    errors = list(errors)
    sentences = dict.fromkeys(line for error in errors for line in str(error).split("\n"))
    faults = dict.fromkeys(each for error in errors if isinstance(error, PlacedError) for each in error.faults)
    return PlacedError("\n".join(sentences), list(faults))


PLACED_SENTENCE = re.compile(r"(.+?:\d+:\d+): (?:([\w$-]+(?:\.[\w$-]+|\[\d+\])*): )?(.*)")
"""Place, field and message of such a sentence."""


@dataclass(slots=True)
class Document:
    """The plain value of a YAML file, and the place of every field in it."""

    value: Plain
    path: Path
    marks: dict[FieldPath, Position]
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    """Every file that was read on the way, the document's own first."""
    variables: list[str] = field(default_factory=list)
    """The `$NAME`s that were left as they stand, because the file may not read variables."""
    faults: list[FileFault] = field(default_factory=list)
    """Errors in the file itself that did not stop its reader."""
    kept: dict[FieldPath, list[int]] = field(default_factory=dict)
    """Of lists from which something was cut, the items that are left."""
    renamed: dict[FieldPath, str] = field(default_factory=dict)
    """Of fields that were given the name that was meant, the one that the file has."""

    def written(self, where: FieldPath) -> FieldPath:
        """A field of the value as the file counts it."""
        if not self.kept and not self.renamed:
            return where
        found: FieldPath = ()
        for step in where:
            kept = self.kept.get(found)
            if kept is not None and isinstance(step, int):
                found = (*found, kept[step])
            else:
                found = (*found, self.renamed.get((*found, step), step))
        return found

    def mark(self, where: FieldPath) -> Position:
        """The place of a field, or of the nearest field around it."""
        return self.place(self.written(where))

    def place(self, where: FieldPath) -> Position:
        """The place of a field as the file counts it."""
        for end in range(len(where), -1, -1):
            found = self.marks.get(where[:end])
            if found is not None:
                return found
        return Position(str(self.path), 1, 1)

    def directory(self, where: FieldPath) -> Path:
        """The folder of the file in which a field was written: what its relative paths are relative to."""
        return Path(self.mark(where).file).parent

    def sentence(self, where: FieldPath, message: str) -> str:
        named = dotted(self.written(where))
        return f"{self.mark(where)}: {named + ': ' if named else ''}{message}"

    def fault(self, where: FieldPath, message: str, **kind: Unpack[FaultKind]) -> FileFault:
        return FileFault(self.path, self.written(where), self.sentence(where, message), **kind)

    def error(self, where: FieldPath, message: str) -> PlacedError:
        fault = self.fault(where, message)
        return PlacedError(fault.sentence, [fault])

    def warn(self, where: FieldPath, message: str) -> None:
        self.warnings.append(self.sentence(where, message))


def inside(value: Plain, where: FieldPath = ()) -> Iterator[tuple[FieldPath, Plain]]:
    """The fields of a mapping or the items of a list, each with its path; nothing for any other value."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return (((*where, step), item) for step, item in steps)


def dotted(where: FieldPath) -> str:
    """A field path as people write it: `definition.scorers[1].type`."""
    text = ""
    for step in where:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def hint_here(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a name that a file does not know."""
    return hint(name, sorted(known), "Known here")


def read_yaml(
    path: Path | str,
    *,
    root: Path | None = None,
    allow_outside: bool = False,
    environ: Mapping[str, str] | None = None,
    goes_on: bool = False,
    of_another_program: bool = False,
) -> Document:
    """Read a YAML file with everything it refers to; `UsageError` with file, line and column when it is bad.

    `environ` are the variables it may name; None leaves every `$NAME` as it stands and lists them. With `goes_on`, what
    is wrong with single fields is left in the document's `faults` for its checker. In a file `of_another_program`
    a `$` has no special meaning: every value is what YAML says.
    """
    path = Path(path)
    if not path.exists():
        raise UsageError(f"{path}: there is no such file")
    reader = _Reader(
        root=(root or root_of(path)).resolve(),
        allow_outside=allow_outside,
        environ=environ,
        of_another_program=of_another_program,
    )
    document = Document(
        value=None, path=path, marks={}, warnings=reader.warnings, files=reader.files, variables=reader.variables
    )
    document.value = reader.file(path, (), document.marks, ())
    document.faults = [
        FileFault(path, where, sentence, passable=where in reader.passable) for where, sentence in reader.faults
    ]
    if document.faults and not goes_on:
        raise PlacedError("\n".join(fault.sentence for fault in document.faults), document.faults)
    return document


_STANDARD = "tag:yaml.org,2002:"


@dataclass(slots=True)
class _Reader:
    """One reading of one document: what it may read, and how much it has read so far."""

    root: Path
    allow_outside: bool
    environ: Mapping[str, str] | None
    of_another_program: bool = False
    warnings: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    nodes: int = 0
    faults: list[tuple[FieldPath, str]] = field(default_factory=list)
    """Errors in single fields: the others are still read."""
    passable: set[FieldPath] = field(default_factory=set)
    """Those of them that have a value."""

    def file(self, path: Path, where: FieldPath, marks: dict[FieldPath, Position], above: tuple[Path, ...]) -> Plain:
        """The value of one YAML file, its marks put under `where`."""
        resolved = path.resolve()
        node = composed(self.text(path), str(path), Yaml12Loader)
        if node is None:
            raise UsageError(f"{path}:1:1: the file is empty")
        return self.value(node, where, marks, path, (*above, resolved))

    def text(self, path: Path) -> str:
        """The text of a file that is small, regular and UTF-8."""
        if len(self.files) >= MAX_FILES:
            raise UsageError(f"{path}: more than {MAX_FILES} files are included")
        try:
            text = read_regular(path, MAX_FILE_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error
        self.files.append(path)
        return text

    def value(
        self, node: yaml.Node, where: FieldPath, marks: dict[FieldPath, Position], path: Path, above: tuple[Path, ...]
    ) -> Plain:
        self.nodes += weight(node)
        if self.nodes > MAX_NODES:
            raise UsageError(
                f"{_mark(node, path)}: more than {MAX_NODES:,} values with its aliases expanded; the file is refused"
            )
        if len(where) > MAX_DEPTH:
            raise UsageError(f"{_mark(node, path)}: nested more than {MAX_DEPTH} levels deep")
        marks[where] = _mark(node, path)
        if isinstance(node, yaml.ScalarNode):
            try:
                return self.scalar(node, where, path)
            except UsageError as error:
                self.faults.append((where, str(error)))
                return ""
        if node.tag not in (_STANDARD + "seq", _STANDARD + "map"):
            raise UsageError(f"{_at(_mark(node, path), where)}: unknown tag `{node.tag}`; only `!include` is known")
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*where, at), marks, path, above) for at, item in enumerate(node.value)]
        return self.mapping(node, where, marks, path, above)

    def mapping(
        self, node: yaml.Node, where: FieldPath, marks: dict[FieldPath, Position], path: Path, above: tuple[Path, ...]
    ) -> Plain:
        merged: dict[str, Plain] = {}
        own: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _STANDARD + "merge":
                for name, value in self.merged(value_node, where, marks, path, above).items():
                    merged.setdefault(name, value)
                continue
            key = self.key(key_node, where, path)
            if key in own:
                sentence = f"{_mark(key_node, path)}: {dotted((*where, key))}: the key is given twice"
                self.faults.append(((*where, key), sentence))
                self.passable.add((*where, key))
                continue
            value = self.value(value_node, (*where, key), marks, path, above)
            is_scalar = isinstance(value_node, yaml.ScalarNode) and not self.of_another_program
            if is_scalar and isinstance(value, str) and value.startswith("$"):
                value = self.variable(value, (*where, key), value_node, path) if key != "$ref" else value
            own[key] = value
            # an error about a field points at its name, which is where the eye looks first
            marks[(*where, key)] = (
                _mark(key_node, path) if not isinstance(value, (list, dict)) else marks[(*where, key)]
            )
        result = {**merged, **own}
        if "$ref" not in own or self.of_another_program:
            return result
        try:
            return self.reference(result, where, marks, path, above)
        except UsageError as error:
            if not where or self.nodes > MAX_NODES or len(self.files) >= MAX_FILES:
                raise
            self.faults.append((where, str(error)))  # the other files are still read
            return {}

    def merged(
        self, node: yaml.Node, where: FieldPath, marks: dict[FieldPath, Position], path: Path, above: tuple[Path, ...]
    ) -> dict[str, Plain]:
        """What a merge key brings in: one mapping, or several of which the first wins."""
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        result: dict[str, Plain] = {}
        for part in parts:
            inner: dict[FieldPath, Position] = {}
            mapping = self.mapping(part, where, inner, path, above) if isinstance(part, yaml.MappingNode) else None
            if not isinstance(mapping, dict):
                raise UsageError(f"{_at(_mark(part, path), where)}: `<<` merges mappings, this is something else")
            for name, value in mapping.items():
                if name not in result:
                    result[name] = value
            for at, mark in inner.items():
                marks.setdefault(at, mark)
        return result

    def key(self, node: yaml.Node, where: FieldPath, path: Path) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise UsageError(f"{_at(_mark(node, path), where)}: a key must be plain text")
        return str(node.value)

    def scalar(self, node: yaml.ScalarNode, where: FieldPath, path: Path) -> Plain:
        tag, text = node.tag, str(node.value)
        if tag == "!include":
            return self.included(node, where, path)
        if tag == _STANDARD + "str":
            if text.startswith("!include "):
                self.warnings.append(
                    f"{_at(_mark(node, path), where)}: a quoted `!include` is plain text; write it unquoted"
                )
            return text
        try:
            if tag in CORE_SCHEMA and (tag != _STANDARD + "null" or text in _NULLS):
                return CORE_SCHEMA[tag](text)
        except ValueError as error:
            raise UsageError(f"{_at(_mark(node, path), where)}: not a number: {text[:40]}") from error
        if tag == _STANDARD + "merge":
            return text
        raise UsageError(f"{_at(_mark(node, path), where)}: unknown tag `{tag}`; only `!include` is known")

    def included(self, node: yaml.ScalarNode, where: FieldPath, path: Path) -> str:
        target = self.inside(str(node.value), node, where, path, "!include")
        try:
            return self.text(target).strip()
        except UsageError as error:
            raise UsageError(f"{_at(_mark(node, path), where)}: !include: {error}") from error

    def reference(
        self,
        value: dict[str, Plain],
        where: FieldPath,
        marks: dict[FieldPath, Position],
        path: Path,
        above: tuple[Path, ...],
    ) -> Plain:
        """A mapping with `$ref`: the other file's content, whose keys win over the ones written beside it."""
        named, at = value["$ref"], marks[(*where, "$ref")]
        if not isinstance(named, str) or named.startswith("#") or "://" in named:
            raise UsageError(f"{_at(at, where)}: `$ref` names a file; `#…` and addresses are not supported")
        target = self.inside(named, at, where, path, "$ref")
        if target.resolve() in above:
            raise PlacedError(f"{_at(at, where)}: the file refers to itself through `$ref`")
        siblings = {name: item for name, item in value.items() if name != "$ref"}
        inner: dict[FieldPath, Position] = {}
        content = self.file(target, where, inner, above)
        if siblings and not isinstance(content, dict):
            raise UsageError(f"{_at(at, where)}: {named} is not a mapping, so nothing may stand beside its `$ref`")
        marks.update(inner)
        return {**siblings, **content} if isinstance(content, dict) else content

    def inside(self, named: str, at: yaml.Node | Position, where: FieldPath, path: Path, what: str) -> Path:
        """The file a tag names, which must exist, be a regular file and lie inside the project."""
        mark = at if isinstance(at, Position) else _mark(at, path)
        if not named.strip():
            raise UsageError(f"{_at(mark, where)}: {what} names no file")
        target = path.parent / named
        try:
            resolved = target.resolve()
            there, is_file = resolved.exists(), resolved.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # too long, a null byte, links that lead in a circle
            raise UsageError(f"{_at(mark, where)}: {what} of `{named}`: {error}") from error
        if not self.allow_outside and not resolved.is_relative_to(self.root):
            raise UsageError(
                f"{_at(mark, where)}: {what} of `{named}` leads outside the project ({self.root}); "
                "allow it with --allow-outside"
            )
        if not self.allow_outside and is_hidden(resolved, self.root):
            raise UsageError(f"{_at(mark, where)}: {what} of the hidden file `{named}`; allow it with --allow-outside")
        if not there:
            raise UsageError(f"{_at(mark, where)}: {what}: there is no file {target}")
        if not is_file:
            raise UsageError(f"{_at(mark, where)}: {what} of `{named}`: not a regular file")
        return target

    def variable(self, text: str, where: FieldPath, node: yaml.Node, path: Path) -> str:
        """`$NAME` or `${NAME}` as a whole value: what the environment says."""
        matched = VARIABLE.match(text)
        if not matched:
            return text
        name = matched[1] or matched[2]
        if _SECRET_NAME.search(name):
            if _may_hold_secret(where):
                return text  # resolved by the model that needs it, so that no file or journal ever holds it
            message = (
                f"`${name}` looks like a secret; secrets belong in `secrets` or in a model's `config`, nowhere else"
            )
            self.faults.append((where, f"{_at(_mark(node, path), where)}: {message}"))
            return text
        if self.environ is None:
            self.variables.append(name)
            return text
        if name not in self.environ:
            self.warnings.append(f"{_at(_mark(node, path), where)}: the variable `{name}` is not set")
            return text
        return self.environ[name]


def _may_hold_secret(where: FieldPath) -> bool:
    return bool(where) and (where[0] == "secrets" or "config" in where or where[-1] == "api_key")


def _at(mark: Position, where: FieldPath) -> str:
    return f"{mark}: {dotted(where)}" if where else str(mark)


def _mark(node: yaml.Node, path: Path) -> Position:
    return Position(str(path), node.start_mark.line + 1, node.start_mark.column + 1)
