"""`assay list`: every name that a task file or a flag may use, by kind; the tasks of files; the examples."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.examples import examples
from assay.cli.flags import option
from assay.cli.list_changed import add_changed_arguments, list_changed
from assay.cli.output import add_form_arguments, is_laid_out, print_json, show
from assay.cli.run_flags import add_project
from assay.cli.setting_flags import add_settings
from assay.core.errors import UsageError
from assay.formats.project.discovery import project_file
from assay.runs.exit_status import DONE
from assay.tasks.task_settings import TaskSettings

if TYPE_CHECKING:
    from assay.core.errors import UsageError
    from assay.core.types import TaskDefinition
    from assay.pages.document import TextTable

TASK_SETS = "task sets"
EXAMPLES = "examples"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="*",
        metavar="KIND|TASKS",
        help="metric, scorer, model, …, task files or folders, `examples`, or `lm-eval` or `inspect`: its tasks",
    )
    add_changed_arguments(parser)
    add_settings(parser, TaskSettings, "tagged")
    add_project(parser)
    option(parser, "--search TEXT", "only names that contain this text")
    option(parser, "--include-path FOLDER", "a folder with further lm-eval: tasks (YAML files)")
    add_form_arguments(parser, json="as JSON")
    parser.epilog = """\
examples:
  assay list                          everything that comes with assay or is installed; in a project, its tasks
  assay list geo -t smoke -t '!slow'  tasks of the project: owners, sizes, the last score and its age
  assay list metrics                  one kind
  assay list --search match           names that contain a text
  assay list tasks/                   the tasks of a folder
  assay list tasks/ --changed main    what `assay run tasks/ --changed main` would run, and why
  assay list examples                 what `assay init --example` can copy
  assay list lm-eval --search piqa    tasks of an installed lm-evaluation-harness
"""


def run(options: argparse.Namespace) -> int:
    from assay import catalog
    from assay.tasks.load import BUILT_IN

    if options.changed is not None:
        return list_changed(options)
    if (shown := _of_project(options)) is not None:
        return shown
    first = options.what[0] if len(options.what) == 1 else ""
    if first in catalog.CATALOG["source"] and (installed := installed_tasks(first, options)) is not None:
        return print_names(installed, options)
    if options.what == [EXAMPLES]:
        return print_names(searched({EXAMPLES: examples()}, options), options)
    singulars = [singular(word) for word in options.what]
    kinds = [word for word in singulars if word in catalog.CATALOG]
    if options.what and len(kinds) < len(options.what):
        words = [word for word in options.what if singular(word) not in catalog.CATALOG]
        refuse_unknown(words)
        return list_tasks(words, options)
    by_kind = {
        kind: {name: first_line(kind, name) + asks(kind, name) for name in catalog.names(kind)}
        for kind in kinds or catalog.CATALOG
    }
    if not kinds:
        by_kind = {TASK_SETS: BUILT_IN, EXAMPLES: examples(), **by_kind}
    return print_names(searched(by_kind, options), options)


def _of_project(options: argparse.Namespace) -> int | None:
    """The tasks of the project, where there is one and no kind, source or built-in set is named."""
    from assay import catalog
    from assay.tasks.load import BUILT_IN

    others = [EXAMPLES, *BUILT_IN, *catalog.CATALOG["source"]]
    kinds = any(singular(word) in catalog.CATALOG or word in others for word in options.what)
    if project_file() is None or kinds:
        if options.tagged:
            raise UsageError(f"-t {options.tagged[0]}: is for the tasks of a project: name those, or nothing")
        return None
    from assay.cli.list_project import list_project

    return list_project(options)


def list_tasks(words: list[str], options: argparse.Namespace) -> int:
    """The tasks of files and folders; a file that cannot be read hides none of the others."""
    tasks, broken = tasks_in(words)
    if tasks["tasks"] or not broken:
        print_names(searched(tasks, options), options)
    if broken:
        raise UsageError("\n".join(map(str, broken)))
    return DONE


def searched(names_by_kind: dict[str, dict[str, str]], options: argparse.Namespace) -> dict[str, dict[str, str]]:
    """Those whose names hold what is searched for."""
    if options.search is None:
        return names_by_kind
    text = options.search.casefold()
    return {
        kind: {name: names[name] for name in names if text in name.casefold()} for kind, names in names_by_kind.items()
    }


def installed_tasks(name: str, options: argparse.Namespace) -> dict[str, dict[str, str]] | None:
    """The tasks that a source has under names, such as those of an installed lm_eval; None where it lists none."""
    from assay.formats.task_source import ListsNames
    from assay.tasks.sources import options_of, source_called

    source = source_called(name)
    if not isinstance(source, ListsNames):
        return None
    given = {} if options.include_path is None else {"include_path": options.include_path}
    names = source.names(options.search or "", options_of(name, {name: given}))
    return {name: {f"{name}:{task}": summary for task, summary in names.items()}}


def print_names(names_by_kind: dict[str, dict[str, str]], options: argparse.Namespace) -> int:
    if options.json:
        print_json(names_by_kind)
        return DONE
    if options.markdown or is_laid_out(options):
        show(document_of(names_by_kind), options)
        return DONE
    for kind, names in names_by_kind.items():
        print(f"{kind}:")
        width = max((len(name) for name in names), default=0)
        for name, summary in names.items():
            print(f"  {name.ljust(width)}  {summary}".rstrip())
    return DONE


def document_of(names_by_kind: dict[str, dict[str, str]]) -> list[TextTable]:
    from assay.pages.document import Span, TextTable

    return [
        TextTable(
            header=[kind, ""],
            rows=[[Span(name, "key"), summary] for name, summary in names.items()],
            numeric_from=2,
            prose=[""],
        )
        for kind, names in names_by_kind.items()
    ]


def refuse_unknown(words: list[str]) -> None:
    """A word that is neither a path nor a task set was meant as a kind."""
    from assay import catalog
    from assay.tasks.load import BUILT_IN

    for word in words:
        if not Path(word).exists() and word not in BUILT_IN and "/" not in word and "." not in word:
            raise UsageError(catalog.unknown_name("kind or task set", word, [*catalog.CATALOG, *BUILT_IN]))


def _titles(definition: TaskDefinition) -> list[str]:
    """What its file calls the task, where that is another text than its key, and its tags."""
    shown = definition.shown
    name = shown.display_name
    titles = [name] if name and name.casefold() != definition.name.casefold() else []
    return [*titles, f"tags {' '.join(shown.tags)}"] if shown.tags else titles


def tasks_in(sources: list[str]) -> tuple[dict[str, dict[str, str]], list[UsageError]]:
    """Every task of files and folders, with what it needs to be run; and what is wrong with files that hold none."""
    from assay.formats.declarative.config_spec import NoValueError
    from assay.results.metric_label import metric_label
    from assay.tasks.load import read_sources

    loaded, refused = read_sources(sources, allow_bad=True, only_reads=True)
    tasks = {
        item.definition.name: ", ".join(
            [
                *_titles(item.definition),
                f"{item.definition.dataset.size} samples",
                metric_label(item.definition),
                item.definition.source,
            ]
        )
        for item in loaded
    }
    broken: list[UsageError] = []
    for path, error, _, _ in refused:
        if isinstance(error, NoValueError):
            tasks[error.task] = f"needs {error.flags}, {path}"
        else:
            broken.append(error)
    return {"tasks": tasks}, broken


def singular(word: str) -> str:
    """The kind that a word names, in the singular or the plural."""
    from assay import catalog

    endings = (word, word.removesuffix("s"), word.removesuffix("es"))
    return next((kind for kind in endings if kind in catalog.CATALOG), word)


def asks(kind: str, name: str) -> str:
    """How often a scorer calls its judge for a sample, and what of its prompt is always sent."""
    from assay import catalog
    from assay.core.describe import ScorerInfo, about

    info = None
    if kind == "scorer" and catalog.is_ours(kind, name):
        with suppress(UsageError):  # one that says what its metric says, and none is named
            info = about(catalog.resolve(kind, name), {})
    if not isinstance(info, ScorerInfo) or not info.calls:
        return ""
    if not info.prompt:
        return f" [per sample: {info.calls}]"
    from assay.scorers.judging.instrument import tokens_of_prompt

    return f" [per sample: {info.calls} of about {tokens_of_prompt(info.prompt)} tokens and the texts]"


def first_line(kind: str, name: str) -> str:
    """What the object's docstring says first; a part whose package is not installed says so."""
    from assay import catalog

    try:
        part = catalog.resolve(kind, name)
    except ImportError as error:
        return f"(needs {error.name})"
    text = (getattr(part, "__doc__", None) or "").strip()
    return " ".join(text.split("\n\n")[0].split())
