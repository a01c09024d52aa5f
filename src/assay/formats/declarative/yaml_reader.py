"""YAML files as plain data with the location of every value.

Reads YAML 1.2 core scalars (`no` is a text, `010` is ten), refuses duplicate keys, and resolves what declarative
files may contain other than plain values: merge keys, `!include` (the text of a file), `$ref` (the content of another
YAML file) and `$VAR` (a variable of the environment). A file is untrusted until proven otherwise: its
size, its depth and what its aliases expand to are bounded, and it reads nothing outside its project unless allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.formats.declarative.extending import EXTENDS, MOST_PARENTS, Written, merged
from assay.overriding import override
from assay.prompts.written_text import as_data
from assay.reading.bounded_yaml import (
    CORE_SCHEMA,
    MAX_DEPTH,
    MAX_NODES,
    Yaml12Loader,
    check_expansion,
    composed,
    weight,
)
from assay.text.wording import hint
from assay.trust.project import out_of_bounds, root_of

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_FILES = 200

FieldPath = tuple[str | int, ...]
if TYPE_CHECKING:
    Plain = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None
    """What YAML can say."""
else:
    Plain = Any  # a record may hold one, and msgspec recurses forever on a type that holds itself

VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))\Z")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_NULLS = {"", "~", "null", "Null", "NULL"}


@dataclass(frozen=True, slots=True)
class Position:
    """The location of a value: file, and line and column counted from one."""

    file: str
    line: int
    column: int
    text: str | None = field(default=None, compare=False)
    """What the file has there, where the value prints as another text: `2.50`, `1e3`, `TRUE`."""

    @override
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


class PlacedError(UsageError):
    """What is wrong, with file, line and column: one sentence per error."""

    def __init__(self, message: str, faults: Sequence[FileFault] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


def all_of(errors: Iterable[UsageError]) -> PlacedError:
    """Several errors as one, each sentence and each fault once."""
    errors = list(errors)
    sentences = dict.fromkeys(line for error in errors for line in str(error).split("\n"))
    faults = dict.fromkeys(fault for error in errors if isinstance(error, PlacedError) for fault in error.faults)
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
        path: FieldPath = ()
        for step in where:
            kept = self.kept.get(path)
            if kept is not None and isinstance(step, int):
                path = (*path, kept[step])
            else:
                path = (*path, self.renamed.get((*path, step), step))
        return path

    def mark(self, where: FieldPath) -> Position:
        """The place of a field, or of the nearest field around it."""
        return self.place(self.written(where))

    def place(self, where: FieldPath) -> Position:
        """The place of a field as the file counts it."""
        for end in range(len(where), -1, -1):
            if (position := self.marks.get(where[:end])) is not None:
                return position
        return Position(str(self.path), 1, 1)

    def texts(self, value: Plain, where: FieldPath) -> dict[str, Plain]:
        """The texts of the values of a mapping that print as others than the file has, by their names."""
        texts: dict[str, Plain] = {}
        for at, item in inside(value, where) if isinstance(value, dict) else ():
            mark = self.marks.get(self.written(at))
            text = self.texts(item, at) if isinstance(item, dict) else mark.text if mark is not None else None
            if text:
                texts[str(at[-1])] = text
        return texts

    def directory(self, where: FieldPath) -> Path:
        """The folder of the file in which a field was written: what its relative paths are relative to."""
        return Path(self.mark(where).file).parent

    def sentence(self, where: FieldPath, message: str) -> str:
        named = dotted(self.written(where))
        return f"{self.mark(where)}: {named + ': ' if named else ''}{message}"

    def fault(self, where: FieldPath, message: str) -> FileFault:
        return FileFault(self.path, self.written(where), self.sentence(where, message))

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
    collect_faults: bool = False,
    of_another_program: bool = False,
) -> Document:
    """Read a YAML file with everything it refers to; `UsageError` with file, line and column when it is bad.

    `environ` are the variables it may name; None leaves every `$NAME` as it stands and lists them. With
    `collect_faults`, what is wrong with single fields is left in the document's `faults` for its checker. In a file
    `of_another_program` a `$` has no special meaning: every value is what YAML says.
    """
    path = Path(path)
    if not path.exists():
        raise UsageError(f"{path}: there is no such file")
    document = Document(None, path, {})
    root = (root or root_of(path)).resolve()
    reading = _Reading(document, root, allow_outside, environ, of_another_program)
    document.value = reading.file(path, (), document.marks, ())
    if document.faults and not collect_faults:
        raise PlacedError("\n".join(fault.sentence for fault in document.faults), document.faults)
    return document


_STANDARD = "tag:yaml.org,2002:"


@dataclass(slots=True)
class _Reading:
    """One reading of one document, filled on the way: what it may read, and how much was read so far."""

    document: Document
    root: Path
    allow_outside: bool
    environ: Mapping[str, str] | None
    of_another_program: bool
    nodes: int = 0

    def fault(self, where: FieldPath, error: UsageError, *, passable: bool = False) -> None:
        """An error in a single field: the others are still read."""
        self.document.faults.append(FileFault(self.document.path, where, str(error), passable=passable))

    def warn(self, mark: Position, where: FieldPath, message: str) -> None:
        self.document.warnings.append(str(_error(mark, where, message)))

    def file(
        self,
        path: Path,
        where: FieldPath,
        marks: dict[FieldPath, Position],
        above: tuple[Path, ...],
        *,
        parents: int = 0,
    ) -> Plain:
        """The value of one YAML file, its marks put under `where`; `above` are the files that lead to it.

        `parents` of those are one after the other what a task extends.
        """
        node = composed(self.text(path), str(path), Yaml12Loader)
        if node is None:
            raise UsageError(f"{path}:1:1: the file is empty")
        check_expansion(node, str(path))
        return _File(self, path, (*above, path.resolve()), where, parents).value(node, where, marks)

    def text(self, path: Path) -> str:
        """The text of a file that is small, regular and UTF-8."""
        if len(self.document.files) >= MAX_FILES:
            raise UsageError(f"{path}: more than {MAX_FILES} files are included")
        try:
            text = read_regular(path, MAX_FILE_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error
        self.document.files.append(path)
        return text


@dataclass(frozen=True, slots=True)
class _File:
    """One YAML file of a document, and the values of its nodes."""

    reading: _Reading
    path: Path
    above: tuple[Path, ...]
    """The files that lead here, and this one: none of them may be referred to."""
    top: FieldPath
    """Where the file stands in the document."""
    parents: int

    def value(self, node: yaml.Node, where: FieldPath, marks: dict[FieldPath, Position]) -> Plain:
        self.reading.nodes += weight(node)
        marks[where] = mark = self._mark(node)
        if self.reading.nodes > MAX_NODES:
            raise UsageError(f"{mark}: more than {MAX_NODES:,} values with its aliases expanded; the file is refused")
        if len(where) > MAX_DEPTH:
            raise UsageError(f"{mark}: nested more than {MAX_DEPTH} levels deep")
        if isinstance(node, yaml.ScalarNode):
            try:
                scalar = self._scalar(node, where)
                if isinstance(scalar, bool | int | float) and str(as_data(scalar)) != node.value:
                    marks[where] = replace(mark, text=str(node.value))
                return scalar
            except UsageError as error:
                self.reading.fault(where, error)
                return ""
        if node.tag not in (_STANDARD + "seq", _STANDARD + "map"):
            if node.tag == "!include":
                raise _error(mark, where, "`!include` takes the name of a file, such as `!include prompt.txt`")
            raise _error(mark, where, f"unknown tag `{node.tag}`; only `!include` is known")
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*where, at), marks) for at, item in enumerate(node.value)]
        return self._mapping(node, where, marks)

    def _mapping(self, node: yaml.Node, where: FieldPath, marks: dict[FieldPath, Position]) -> Plain:
        reading = self.reading
        merged: dict[str, Plain] = {}
        own: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _STANDARD + "merge":
                for name, value in self._merged(value_node, where, marks).items():
                    merged.setdefault(name, value)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise _error(self._mark(key_node), where, "a key must be plain text")
            key = str(key_node.value)
            at = (*where, key)
            if key in own:
                reading.fault(at, _error(self._mark(key_node), at, "the key is given twice"), passable=True)
                continue
            value = self.value(value_node, at, marks)
            is_scalar = isinstance(value_node, yaml.ScalarNode) and not reading.of_another_program
            if is_scalar and isinstance(value, str) and value.startswith("$") and key != "$ref":
                value = self._variable(value, at, self._mark(value_node))
            own[key] = value
            if not isinstance(value, list | dict):
                # an error about a field points at its name, where the eye looks first
                marks[at] = replace(self._mark(key_node), text=marks[at].text)
        whole = {**merged, **own}
        return whole if reading.of_another_program else self._resolved(whole, where, marks, refers="$ref" in own)

    def _resolved(
        self, value: dict[str, Plain], where: FieldPath, marks: dict[FieldPath, Position], *, refers: bool
    ) -> Plain:
        """A mapping with what it refers to in other files."""
        reading = self.reading
        result: Plain = value
        try:
            if refers:
                result = self._referred(value, where, marks)
            if isinstance(result, dict) and self._may_be_task(where):
                self._expand_scorers(result, where, marks)
                if EXTENDS in result:
                    result = self._extended(result, where, marks)
        except UsageError as error:
            if not where or reading.nodes > MAX_NODES or len(reading.document.files) >= MAX_FILES:
                raise
            reading.fault(where, error)
            return {}
        return result

    def _may_be_task(self, where: FieldPath) -> bool:
        """Whether this is a whole file, or one of the tasks of a run file."""
        return where == self.top or (where[: len(self.top)] == self.top and where[len(self.top) : -1] == ("tasks",))

    def _expand_scorers(self, task: dict[str, Plain], where: FieldPath, marks: dict[FieldPath, Position]) -> None:
        """Put the scorers that the task names by key alone in their places, as the project's file has them."""
        definition = task.get("definition")
        scorers = definition.get("scorers") if isinstance(definition, dict) else None
        at = (*where, "definition", "scorers")
        if not isinstance(scorers, list) or not any(isinstance(scorer, str) for scorer in scorers):
            return
        from assay.formats.project.libraries import scorer_file  # most tasks write their scorers themselves

        path = scorer_file(self.path)
        shared: dict[FieldPath, Position] = {}
        content = None if path is None else self.reading.file(path, at, shared, self.above)
        items = content if isinstance(content, list) else []
        keyed = [item for item in items if isinstance(item, dict) and "key" in item]
        by_key = {str(each["key"]): number for number, each in enumerate(keyed)}
        if (path is not None and len(by_key) < len(items)) or not isinstance(content, list | None):
            raise UsageError(f"{path}:1:1: a file of scorers is a list of them, each with its own `key`")
        for number, name in enumerate(scorers):
            here = (*at, number)
            if not isinstance(name, str) or "<<" in name:
                continue
            if path is None:
                message = f"`{name}`: a scorer by its key alone needs `scorers: FILE` in the project's assay.yaml"
                self.reading.fault(here, _error(marks[here], here, message))
            elif name not in by_key:
                message = f"no scorer `{name}` in {path}. {hint_here(name, by_key)}"
                self.reading.fault(here, _error(marks[here], here, message))
            else:
                there = (*at, by_key[name])
                scorers[number] = items[by_key[name]]
                of_item = {each: mark for each, mark in shared.items() if each[: len(there)] == there}
                marks.update({(*here, *each[len(there) :]): mark for each, mark in of_item.items()})

    def _extended(self, value: dict[str, Plain], where: FieldPath, marks: dict[FieldPath, Position]) -> Plain:
        """A task with what it inherits from the file that it extends."""
        document, named, at = self.reading.document, value[EXTENDS], (*where, EXTENDS)
        mark = marks[at]
        if not isinstance(named, str):
            raise _error(mark, at, f"`{EXTENDS}` names one file, such as `_base.yaml`")
        target = self._inside(named, at, mark, EXTENDS)
        if target.resolve() in self.above:
            circle = self.above[self.above.index(target.resolve()) :]
            raise _error(mark, at, f"files extend each other: {' → '.join(item.name for item in (*circle, target))}")
        if self.parents >= MOST_PARENTS:
            raise _error(mark, at, f"more than {MOST_PARENTS} files, each of which extends the next; extend fewer")
        own = Written(value, {path: each for path, each in marks.items() if path[: len(where)] == where})
        inner: dict[FieldPath, Position] = {}
        before = len(document.faults)
        content = self.reading.file(target, where, inner, self.above, parents=self.parents + 1)
        if not isinstance(content, dict):
            raise _error(mark, at, f"{target} is a list or a value, not a task that can be extended")
        parent = Written(content, inner)
        whole = merged(parent, own, where)
        for each in own.marks:
            del marks[each]
        marks.update(whole.marks)
        document.faults[:] = [
            fault._replace(where=(own if number < before else parent).moved.get(fault.where, fault.where))
            for number, fault in enumerate(document.faults)
        ]
        for problem in whole.problems:
            self.reading.fault(problem.where, _error(problem.mark, problem.where, problem.message))
        return whole.value

    def _merged(self, node: yaml.Node, where: FieldPath, marks: dict[FieldPath, Position]) -> dict[str, Plain]:
        """What a merge key brings in: one mapping, or several of which the first wins."""
        result: dict[str, Plain] = {}
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            inner: dict[FieldPath, Position] = {}
            mapping = self._mapping(part, where, inner) if isinstance(part, yaml.MappingNode) else None
            if not isinstance(mapping, dict):
                raise _error(self._mark(part), where, "`<<` merges mappings only")
            for name, value in mapping.items():
                result.setdefault(name, value)
            for at, mark in inner.items():
                marks.setdefault(at, mark)
        return result

    def _scalar(self, node: yaml.ScalarNode, where: FieldPath) -> Plain:
        tag, text, mark = node.tag, str(node.value), self._mark(node)
        if tag == "!include":
            return self._included(text, where, mark)
        if tag == _STANDARD + "str":
            if text.startswith("!include "):
                self.reading.warn(mark, where, "a quoted `!include` is plain text; write it unquoted")
            return text
        try:
            if tag in CORE_SCHEMA and (tag != _STANDARD + "null" or text in _NULLS):
                return CORE_SCHEMA[tag](text)
        except ValueError as error:
            raise _error(mark, where, f"not a number: {text[:40]}") from error
        if tag == _STANDARD + "merge":
            return text
        raise _error(mark, where, f"unknown tag `{tag}`; only `!include` is known")

    def _included(self, named: str, where: FieldPath, mark: Position) -> str:
        target = self._inside(named, where, mark, "!include")
        try:
            return self.reading.text(target).strip()
        except UsageError as error:
            raise _error(mark, where, f"!include: {error}") from error

    def _referred(self, value: dict[str, Plain], where: FieldPath, marks: dict[FieldPath, Position]) -> Plain:
        """A mapping with `$ref`: the other file's content, whose keys win over the ones written next to it."""
        named, mark = value["$ref"], marks[(*where, "$ref")]
        if not isinstance(named, str) or named.startswith("#") or "://" in named:
            raise _error(mark, where, "`$ref` names a file; `#…` and addresses are not supported")
        target = self._inside(named, where, mark, "$ref")
        if target.resolve() in self.above:
            raise PlacedError(str(_error(mark, where, "the file refers to itself through `$ref`")))
        siblings = {name: item for name, item in value.items() if name != "$ref"}
        inner: dict[FieldPath, Position] = {}
        content = self.reading.file(target, where, inner, self.above)
        if siblings and not isinstance(content, dict):
            raise _error(mark, where, f"{named} is not a mapping, so `$ref` must be the only key")
        if isinstance(content, dict):
            self._refuse_ignored(siblings, content, named, where, marks)
        marks.update(inner)
        return {**siblings, **content} if isinstance(content, dict) else content

    def _refuse_ignored(
        self,
        siblings: Mapping[str, Plain],
        content: Mapping[str, Plain],
        named: str,
        where: FieldPath,
        marks: Mapping[FieldPath, Position],
    ) -> None:
        """The author wrote these keys, and they would have no effect."""
        for name in siblings:
            if name in content and siblings[name] != content[name]:
                message = (
                    f"`{name}` is also in {named}, whose keys count over those beside `$ref`, so this one would be "
                    f"ignored; keep one of the two. In a task, `extends: {named}` lets the file's own keys count"
                )
                at = (*where, name)
                self.reading.fault(at, _error(marks[at], at, message), passable=True)

    def _inside(self, named: str, where: FieldPath, mark: Position, what: str) -> Path:
        """The file a tag names, which must exist, be a regular file and lie inside the project."""
        if not named.strip():
            raise _error(mark, where, f"{what} names no file")
        target, root = self.path.parent / named, self.reading.root
        try:
            resolved = target.resolve()
            there, is_file = resolved.exists(), resolved.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # too long, a null byte, links that lead in a circle
            raise _error(mark, where, f"{what} of `{named}`: {error}") from error
        if not self.reading.allow_outside and (reason := out_of_bounds(resolved, root)):
            raise _error(mark, where, f"{what}: `{named}` {reason}; allow it with --allow-outside")
        if not there:
            raise _error(mark, where, f"{what}: there is no file {target}")
        if not is_file:
            raise _error(mark, where, f"{what} of `{named}`: not a regular file")
        plain = Path(os.path.normpath(target))
        return plain if plain.resolve() == resolved else target  # with a link on the way `..` leads elsewhere

    def _variable(self, text: str, where: FieldPath, mark: Position) -> str:
        """`$NAME` or `${NAME}` as a whole value: what the environment says."""
        match, reading = VARIABLE.match(text), self.reading
        if not match:
            return text
        name = match[1] or match[2]
        if _SECRET_NAME.search(name):
            if not (where[0] == "secrets" or "config" in where or where[-1] == "api_key"):
                message = (
                    f"`${name}` looks like a secret; secrets belong in `secrets` or in a model's `config`, nowhere else"
                )
                reading.fault(where, _error(mark, where, message))
            return text  # resolved by the model that needs it, so that no file or journal ever holds it
        if reading.environ is None:
            reading.document.variables.append(name)
        elif name not in reading.environ:
            reading.warn(mark, where, f"the variable `{name}` is not set")
        else:
            return reading.environ[name]
        return text

    def _mark(self, node: yaml.Node) -> Position:
        return Position(str(self.path), node.start_mark.line + 1, node.start_mark.column + 1)


def _error(mark: Position, where: FieldPath, message: str) -> UsageError:
    return UsageError(f"{mark}: {dotted(where) + ': ' if where else ''}{message}")
