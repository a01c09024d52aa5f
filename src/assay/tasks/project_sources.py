"""The names of a command in a project: which files they stand for, and what the project says of the tasks in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.core.errors import UsageError
from assay.formats.project.discovery import current_project
from assay.formats.task_source import LoadedTask, SourceContext

if TYPE_CHECKING:
    from assay.core.types import TaskDefinition
    from assay.formats.project.reader import Project
    from assay.formats.project.selection import Lookups, ProjectTasks
    from assay.formats.project.task_files import TaskFile


@dataclass(frozen=True, slots=True)
class ProjectSources:
    """The tasks of the project in force, as a command names them."""

    tasks: ProjectTasks
    lookups: Lookups
    _by_path: dict[Path, TaskFile] = field(default_factory=dict)

    @property
    def project(self) -> Project:
        return self.tasks.project

    def files(self, text: str) -> list[Path] | None:
        """The files that a name stands for; None for what is none of the project's."""
        from assay.formats.project.selection import files_below, named_tasks, suite_tasks

        path = Path(text)
        if text.startswith("@"):
            return [file.path for file in suite_tasks(self.tasks, text[1:], self.lookups)]
        if path.is_dir():
            return [file.path for file in files_below(self.tasks, path)] or None
        if path.exists():
            return None
        return [file.path for file in named_tasks(self.tasks, text)]

    def are_several(self, text: str) -> bool:
        """Whether a name is that of a folder or a suite, and not of one task."""
        return text not in self.tasks.by_name and not Path(text).is_file()

    def narrowed(self, paths: Mapping[str, Sequence[Path]], terms: Sequence[str]) -> dict[str, list[Path]]:
        """The files of each name of which all terms hold; one that was named itself is not left out in silence."""
        from assay.formats.project.selection import narrowed

        files: dict[Path, TaskFile] = {}
        for path in (path for each in paths.values() for path in each):
            files.setdefault(path, self.file(path))
        left = {file.path for file in narrowed(self.tasks, list(files.values()), terms, self.lookups)}
        for text, named in paths.items():
            if len(named) == 1 and named[0] not in left and text in (str(named[0]), files[named[0]].name):
                raise UsageError(f"{text} is named, and -t {' -t '.join(terms)} leaves it out")
        return {text: [path for path in named if path in left] for text, named in paths.items()}

    def file(self, path: Path) -> TaskFile:
        """The task of the project in this file; `UsageError` where it is none."""
        if (file := self.file_at(path)) is not None:
            return file
        raise UsageError(f"{path} is not a task of {self.project.path}")

    def file_at(self, path: Path) -> TaskFile | None:
        """The task of the project in this file."""
        if not self._by_path:
            self._by_path.update((file.path.resolve(), file) for file in self.tasks.by_name.values())
        return self._by_path.get(path.resolve())

    def context_for(self, path: Path, context: SourceContext) -> SourceContext:
        """What the reader of a file is given: the values and the judge that the project has for its task."""
        file = self.file_at(path)
        said = None if file is None else self.tasks.of(file.name).values
        if said is not None:
            context = replace(context, usual_config=said.config)
        if context.judge is not None:  # the user's choice, or that of the cell of a matrix
            return context
        judge = (said.judge if said is not None else None) or self.project.entry.judge
        return replace(context, judge=judge, judge_from="the project's judge")

    def labelled(self, path: Path, loaded: Iterable[LoadedTask]) -> list[LoadedTask]:
        """The tasks of a file under the names that they have in the project, with its tags, owner and weight."""
        from assay.formats.project.task_files import name_in_project

        folder = name_in_project(self.project, path)
        if folder is None:
            return list(loaded)
        return [task._replace(definition=self._labelled(task, folder)) for task in loaded]

    def _labelled(self, task: LoadedTask, folder: str) -> TaskDefinition:
        definition = task.definition
        name = f"{folder}/{definition.name}" if folder else definition.name
        said = self.tasks.of(name).values
        tags = said.tags if name in self.tasks.by_name else tuple(dict.fromkeys([*definition.shown.tags, *said.tags]))
        shown = msgspec.structs.replace(
            definition.shown, tags=tags, owner=said.owner, weight=1.0 if said.weight is None else said.weight
        )
        return msgspec.structs.replace(definition, name=name, shown=shown)


def project_sources() -> ProjectSources | None:
    """The project in force with its tasks; None where there is none."""
    project = current_project()
    if project is None:
        return None
    from assay.formats.project.selection import Lookups, project_tasks
    from assay.tasks.project_facts import sizes_of, statuses_of

    return ProjectSources(project_tasks(project), Lookups(sizes=sizes_of, statuses=statuses_of))
