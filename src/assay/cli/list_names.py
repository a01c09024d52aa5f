"""`assay list`: every name that a task file or a flag may use, by kind; the tasks of files; the examples."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.examples import examples
from assay.cli.flags import option
from assay.cli.output import add_form_arguments, is_laid_out, print_json, show
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.core.errors import UsageError
    from assay.reports.document import TextTable

TASK_SETS = "task sets"
LIBRARY = "lm-eval"
INSPECT_LIBRARY = "inspect"
EXAMPLES = "examples"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="*",
        metavar="KIND|TASKS",
        help="metric, scorer, model, …, task files or folders, `examples`, or `lm-eval` or `inspect`: its tasks",
    )
    option(parser, "--search TEXT", "only names that contain this text")
    option(parser, "--include-path FOLDER", "a folder with further lm-eval: tasks (YAML files)")
    add_form_arguments(parser, json="as JSON")
    parser.epilog = """\
examples:
  assay list                          everything that comes with assay or is installed
  assay list metrics                  one kind
  assay list --search match           names that contain a text
  assay list tasks/                   the tasks of a folder
  assay list examples                 what `assay init --example` can copy
  assay list lm-eval --search piqa    tasks of an installed lm-evaluation-harness
"""


def run(options: argparse.Namespace) -> int:
    from assay import catalog
    from assay.tasks.load import BUILT_IN

    if options.what == [LIBRARY]:
        return tell(lm_eval_tasks(options), options)
    if options.what == [INSPECT_LIBRARY]:
        return tell(inspect_tasks(options), options)
    if options.what == [EXAMPLES]:
        return tell(searched({EXAMPLES: examples()}, options), options)
    singulars = [singular(word) for word in options.what]
    kinds = [word for word in singulars if word in catalog.CATALOG]
    if options.what and len(kinds) < len(options.what):
        words = [word for word in options.what if singular(word) not in catalog.CATALOG]
        refuse_unknown(words)
        return list_tasks(words, options)
    by_kind = {
        kind: {name: first_line(kind, name) for name in catalog.names(kind)} for kind in kinds or catalog.CATALOG
    }
    if not kinds:
        by_kind = {TASK_SETS: BUILT_IN, EXAMPLES: examples(), **by_kind}
    return tell(searched(by_kind, options), options)


def list_tasks(words: list[str], options: argparse.Namespace) -> int:
    """The tasks of files and folders; a file that cannot be read hides none of the others."""
    tasks, broken = tasks_in(words)
    if tasks["tasks"] or not broken:
        tell(searched(tasks, options), options)
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


def lm_eval_tasks(options: argparse.Namespace) -> dict[str, dict[str, str]]:
    """What an installed lm_eval has under names: tasks, groups of tasks, and tags."""
    from assay.tasks.library.names import LM_EVAL
    from assay.tasks.lm_eval.source import lm_eval_names

    names = lm_eval_names(options.search or "", options.include_path)
    if not names:
        raise UsageError(f"lm_eval has no task, group or tag whose name contains `{options.search}`")
    return {LIBRARY: {f"{LM_EVAL}{name}": kind for name, kind in names.items()}}


def inspect_tasks(options: argparse.Namespace) -> dict[str, dict[str, str]]:
    """The Inspect tasks that installed packages have; their source is read, not run."""
    from assay.tasks.inspect.source import inspect_names
    from assay.tasks.library.names import INSPECT

    names = inspect_names(options.search or "")
    if not names:
        condition = f" whose name holds `{options.search}`" if options.search else ""
        raise UsageError(f"no installed package has an Inspect task{condition}; inspect_evals has many")
    return {INSPECT_LIBRARY: {f"{INSPECT}{name}": summary for name, summary in names.items()}}


def tell(names_by_kind: dict[str, dict[str, str]], options: argparse.Namespace) -> int:
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
    from assay.reports.document import Span, TextTable

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


def tasks_in(sources: list[str]) -> tuple[dict[str, dict[str, str]], list[UsageError]]:
    """Every task of files and folders, with what it needs to be run; and what is wrong with files that hold none."""
    from assay.reports.metric_label import metric_label
    from assay.tasks.declarative.config_spec import NoValueError
    from assay.tasks.load import read_sources

    loaded, refused = read_sources(sources, allow_bad=True, only_reads=True)
    tasks = {
        each.definition.name: f"{each.definition.dataset.size} samples, {metric_label(each.definition)}, "
        f"{each.definition.source}"
        for each in loaded
    }
    broken: list[UsageError] = []
    for path, error, _ in refused:
        if isinstance(error, NoValueError):
            tasks[error.task] = f"needs {error.flags}, {path}"
        else:
            broken.append(error)
    return {"tasks": tasks}, broken


def singular(word: str) -> str:
    return word[:-1] if word.endswith("s") else word


def first_line(kind: str, name: str) -> str:
    """What the object's docstring says first; a part whose package is not installed says so."""
    from assay import catalog

    try:
        part = catalog.resolve(kind, name)
    except ImportError as error:
        return f"(needs {error.name})"
    text = (getattr(part, "__doc__", None) or "").strip()
    return " ".join(text.split("\n\n")[0].split())
