"""`assay.yaml` as a record with its places; `UsageError` with file, line and column for everything that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.catalog import is_name
from assay.core.errors import UsageError
from assay.formats.declarative.records import record
from assay.formats.declarative.shape import Report, check
from assay.formats.declarative.yaml_reader import VARIABLE, Document, FieldPath, PlacedError, Plain, inside, read_yaml
from assay.formats.project.records import ProjectEntry, ProjectModel, Suite
from assay.formats.project.shapes import PROJECT
from assay.text.wording import hint

_NAME = re.compile(r"\w[\w.\-]*")
_VARIABLE_FIELDS = ("api_key", "base_url")


@dataclass(frozen=True, slots=True, eq=False)
class Project:
    """A project file: what it says, and where."""

    entry: ProjectEntry
    document: Document

    @property
    def path(self) -> Path:
        """The file, as it is named in messages."""
        return self.document.path

    @property
    def root(self) -> Path:
        """The folder of the file: what its paths are relative to."""
        return self.path.parent

    @property
    def name(self) -> str:
        return self.entry.name or self.path.resolve().parent.name

    @property
    def models(self) -> Mapping[str, ProjectModel]:
        """The models by alias, short forms written out."""
        return {
            alias: ProjectModel(model=each) if isinstance(each, str) else each
            for alias, each in self.entry.models.items()
        }

    def suite(self, name: str) -> Suite:
        """The suite with this name, without its `@`."""
        if name not in self.entry.suites:
            raise UsageError(
                f"unknown suite `@{name}`. {hint(f'@{name}', [f'@{suite}' for suite in self.entry.suites])}"
            )
        return self.entry.suites[name]

    def place(self, where: FieldPath) -> str:
        """File and line of a field."""
        position = self.document.mark(where)
        return f"{position.file}:{position.line}"

    def error(self, where: FieldPath, message: str) -> PlacedError:
        return self.document.error(where, message)


def read_project(path: Path) -> Project:
    """The project file at this path."""
    # `$NAME` is a variable in few places, which resolve it themselves
    document = read_yaml(path, root=path.parent, collect_faults=True, of_another_program=True)
    report = Report(document)
    checked = check(document.value, PROJECT, (), report)
    for where, _ in _variables(document.value):
        if where[-1] not in _VARIABLE_FIELDS:
            report.wrong(where, f"`$NAME` is read only in {' and '.join(_VARIABLE_FIELDS)} of a model")
    _check_names(document.value, report)
    report.raise_errors()
    project = Project(record(checked, ProjectEntry), document)
    _refuse_circles(project)
    return project


def _variables(value: Plain, where: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """The texts that are a `$NAME`, each with its place."""
    if isinstance(value, str):
        if VARIABLE.match(value):
            yield where, value
        return
    for at, item in inside(value, where):
        yield from _variables(item, at)


def _check_names(value: Plain, report: Report) -> None:
    """Names are typed on the command line, where `:` and `=` mean something else."""
    for field in ("models", "suites", "datasets"):
        named = value.get(field) if isinstance(value, dict) else None
        for name in named if isinstance(named, dict) else ():
            if not _NAME.fullmatch(name):
                report.wrong(
                    (field, name), "a name has letters, digits, `_`, `-` and `.`, and begins with none of `-.`"
                )
            elif field == "models" and is_name("model", name):
                report.wrong((field, name), "is the name of a model already (`assay list models`); choose another")


def _refuse_circles(project: Project) -> None:
    """Aliases and suites may name each other, and none may lead to itself."""
    models = {alias: [each.model] for alias, each in project.models.items()}
    if circle := _circle(models):
        raise project.error(("models", circle[0]), f"models name each other: {' → '.join(circle)}")
    suites = {
        name: [item.removeprefix("@") for item in suite.select if item.startswith("@")]
        for name, suite in project.entry.suites.items()
    }
    for name, members in suites.items():
        for member in members:
            if member not in suites:
                known = [f"@{suite}" for suite in suites]
                at: FieldPath = ("suites", name, "select", project.entry.suites[name].select.index(f"@{member}"))
                raise project.error(at, f"unknown suite `@{member}`. {hint(f'@{member}', known)}")
    if circle := _circle(suites):
        shown = " → ".join(f"@{item}" for item in circle)
        raise project.error(("suites", circle[0]), f"suites contain each other: {shown}")


def _circle(leads_to: Mapping[str, Iterable[str]]) -> list[str] | None:
    """The names on the first way that comes back to where it began."""
    for start in leads_to:
        ways: list[list[str]] = [[start]]
        seen = {start}
        while ways:
            way = ways.pop()
            for name in leads_to[way[-1]]:
                if name == start:
                    return [*way, name]
                if name in leads_to and name not in seen:
                    seen.add(name)
                    ways.append([*way, name])
    return None
