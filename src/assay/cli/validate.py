"""`assay validate`: every bad line of every task file, in one table; nothing is run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.output import add_form_arguments, print_json, show
from assay.cli.project import project_root
from assay.cli.run_flags import add_project
from assay.cli.setting_flags import add_settings
from assay.core.errors import UsageError
from assay.formats.project.discovery import project_file
from assay.runs.exit_status import BAD_INPUT, DONE
from assay.tasks.task_settings import TaskSettings

if TYPE_CHECKING:
    from assay.pages.document import TextTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  assay validate tasks/           every bad line of every file, with file, line and field
  assay validate a.yaml b.jsonl   some files
  assay validate                  the bundled tasks of the frozen spec, with a summary

Exit code 0 if every record is valid, 2 if not.
"""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="task files, folders or built-in names (default: all of the project, else the ten tasks of the frozen "
        "task spec, with a summary)",
    )
    add_settings(parser, TaskSettings, "tagged")
    add_project(parser)
    add_form_arguments(parser, json="as JSON")


def run(options: argparse.Namespace) -> int:
    from assay.pages.document import TextTable
    from assay.pages.markdown import escaped

    paths = options.paths or ([str(project_root())] if project_file() is not None else [])
    checked = [check_file(path) for path in files_of_all(paths or ["fixtures"], options.tagged or ())]
    if paths:
        checked = [_with_something(file, paths) for file in _with_own_keys(checked)]
    errors = [error for file in checked for error in file["errors"]]
    if options.json:
        print_json({"files": checked, "valid": not errors})
        return BAD_INPUT if errors else DONE
    if errors:
        # a file that several tasks need is reported once
        cells = dict.fromkeys((_place(error), error["rule"], error["field"], error["detail"]) for error in errors)
        rows = [[*row] for row in cells]
        header = ["where", "rule", "field", "what is wrong"]
        show(TextTable(header=header, rows=rows, numeric_from=9, drops=("rule",), prose=("what is wrong",)), options)
    if not paths:
        show(_summary_of_the_fixtures(), options)
    for file in checked:
        name = escaped(file["file"]) if paths else "bundled tasks"
        print(f"{name}: {file['format']}, {file['good']} good, {len(file['errors'])} bad", file=sys.stderr)
    return BAD_INPUT if errors else DONE


def _with_something(file: dict[str, Any], named: list[str]) -> dict[str, Any]:
    """A file that was asked for by name and holds nothing that is read by itself is no valid file."""
    if file["good"] or file["errors"] or file["file"] not in named:
        return file
    return {
        **file,
        "errors": [_error(Path(file["file"]), 0, "nothing", "", f"there is nothing to check: {file['format']}")],
    }


def _with_own_keys(checked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two task files of a folder with one key would be one task of a run, which refuses them."""
    first: dict[tuple[Path, str], str] = {}
    for file in checked:
        path = Path(file["file"])
        if (key := file.pop("key", None)) is None:
            continue
        if (other := first.setdefault((path.parent, key), file["file"])) != file["file"]:
            file["errors"].append(_error(path, 1, "declarative", "key", f"the task `{key}` is also in {other}"))
    return checked


def _summary_of_the_fixtures() -> TextTable:
    """What the tasks that come with assay exercise: how many there are of each kind."""
    from collections import Counter

    from assay.formats.frozen_spec.reader import load_fixtures
    from assay.pages.document import TextTable

    kinds = Counter((spec.category, spec.metric_name, spec.post_process) for spec in load_fixtures())
    rows = [[*kind, str(count)] for kind, count in sorted(kinds.items())]
    return TextTable(header=["category", "metric", "post-process", "tasks"], rows=rows, numeric_from=3)


def files_of_all(sources: list[str], terms: Sequence[str]) -> list[Path]:
    """Every file to check; in a project the files of its tasks, each once."""
    from assay.tasks.load import task_files_named
    from assay.tasks.project_sources import project_sources

    project = project_sources()
    if project is None and not terms:
        return [path for source in sources for path in files_in(source)]
    named = task_files_named(sources, project, terms)
    return list(dict.fromkeys(path for files in named.values() for path in files))


def files_in(source: str) -> list[Path]:
    """Every file to check; a folder's YAML files are checked whatever they hold, and its models and datasets too."""
    from assay.tasks.load import YAML, files_of

    folder = Path(source)
    yaml = sorted(path for path in folder.iterdir() if path.suffix in YAML) if folder.is_dir() else []
    if not yaml:
        return files_of(source)
    from assay.formats.declarative.load import files_named_by_key

    return [*yaml, *files_named_by_key(folder)]


def check_file(path: Path) -> dict[str, Any]:
    """One file: its format, how many records are good, and every error."""
    from assay.tasks.load import YAML
    from assay.tasks.sources import source_of_file

    source = source_of_file(path, {})
    if source in YAML:
        return _yaml_file(path)
    return _lines_file(path) if source in (".jsonl", None) else _file_of_source(source, path)


def _lines_file(path: Path) -> dict[str, Any]:
    from assay.formats.folder.reader import iter_examples
    from assay.formats.folder.rules import Example
    from assay.formats.frozen_spec.reader import SpecError, TaskSpec, iter_validated
    from assay.formats.json_lines import looks_like_spec_file
    from assay.formats.unreadable_targets import LostWords

    is_spec = looks_like_spec_file(path)
    good, errors, lost = 0, [], LostWords()
    for outcome in iter_validated(path) if is_spec else iter_examples(path):
        if isinstance(outcome, TaskSpec):
            lost.add(outcome.metric_name, outcome.task_id, outcome.targets)
        elif isinstance(outcome, Example):
            lost.add(outcome.metric, outcome.id, outcome.targets)
        else:
            rule, text = (outcome.rule, outcome.line) if isinstance(outcome, SpecError) else ("task_folder", "")
            errors.append(_error(path, outcome.line_number, rule, outcome.field, outcome.detail, text=text))
            continue
        good += 1
    _warn(lost.warnings(str(path)))
    return _checked(path, "frozen task spec" if is_spec else "task folder file", good, errors)


def _yaml_file(path: Path) -> dict[str, Any]:
    from assay.formats.declarative.load import check_yaml_file

    try:
        form, good, warnings, key = check_yaml_file(path)
    except UsageError as error:
        return _checked(path, "declarative", 0, [_error_at(path, line) for line in str(error).splitlines()])
    _warn(warnings)
    checked = _checked(path, f"declarative {form}", good, _policy_errors(path) if form == "run file" else [])
    return checked if key is None else {**checked, "key": key}


def _policy_errors(path: Path) -> list[dict[str, Any]]:
    """The rules of a sound run file that no task of it can meet."""
    from assay.cli.check import policy_findings
    from assay.formats.declarative.load import read_located_tasks
    from assay.formats.declarative.reading_options import ReadingOptions
    from assay.run_config import RunConfig

    tasks = read_located_tasks(path, ReadingOptions(only_reads=True, models_needed=False))
    return [_error_at(path, str(finding)) for finding in policy_findings(tasks, RunConfig())]


def _file_of_source(source: str, path: Path) -> dict[str, Any]:
    """A file that is read whole to be checked; its variants have the same samples."""
    from assay.formats.task_source import SourceContext
    from assay.tasks.sources import read_claimed

    form = f"{source.lstrip('.')} file"
    try:
        tasks = [task.definition for task in read_claimed(source, str(path), SourceContext(only_reads=True), {})]
    except UsageError as error:
        return _checked(path, form, 0, [_error_at(path, line) for line in str(error).splitlines()])
    _warn(list(dict.fromkeys(text for task in tasks for text in task.provenance.warnings)))
    return _checked(path, form, max((task.dataset.size for task in tasks), default=0), [])


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _error_at(path: Path, sentence: str) -> dict[str, Any]:
    """A sentence that begins with file:line:column, taken apart for the table."""
    from assay.formats.declarative.yaml_reader import PLACED_SENTENCE

    match = PLACED_SENTENCE.match(sentence)
    if match is None:
        return _error(path, 0, "declarative", "", sentence)
    file, line, column = match[1].rsplit(":", 2)
    error = _error(Path(file), int(line), "declarative", match[2] or "", match[3])
    return {**error, "column": int(column)}


def _checked(path: Path, form: str, good: int, errors: list[dict[str, Any]]) -> dict[str, Any]:
    return {"file": str(path), "format": form, "good": good, "errors": errors}


def _error(path: Path, line: int, rule: str, field: str, detail: str, *, text: str = "") -> dict[str, Any]:
    return {"file": str(path), "line": line, "rule": rule, "field": field, "detail": detail, "text": text}


def _place(error: dict[str, Any]) -> str:
    column = f":{error['column']}" if "column" in error else ""
    return f"{error['file']}:{error['line']}{column}" if error["line"] else str(error["file"])
