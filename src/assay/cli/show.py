"""`assay show`: one thing in full: a task set, a metric or other named part, a type of YAML files, or a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.cli.export import add_where
from assay.cli.flags import option
from assay.cli.output import add_form_arguments, print_json, show
from assay.cli.run_flags import add_task_parameters, reading_of, task_parameters
from assay.cli.run_names import run_named
from assay.cli.setting_flags import add_settings
from assay.cli.show_name import show_name, show_own
from assay.cli.view_flags import add_view_arguments
from assay.core.errors import FailureError, UsageError
from assay.run_settings import RunSettings
from assay.runs.exit_status import DONE
from assay.tasks.sources import source_named
from assay.tasks.task_settings import TaskSettings
from assay.text.wording import nearest, shortened

if TYPE_CHECKING:
    from assay.core.types import Request, Sample, TaskDefinition
    from assay.datasets.column_names import DatasetColumn


CONFIG = "config"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  assay show config support/intent       the settings of a task of the project, and where each is from\n"
        "  assay show tasks/arithmetic.jsonl      the task as data, and its first request\n"
        "  assay show tasks/quiz.yaml --sample 2  exactly what is sent for its second sample\n"
        "  assay show tasks/quiz.yaml --merged    every field with the file and line that it is from\n"
        "  assay show datasets/quiz.csv           the columns of a dataset; its YAML file or its key works too\n"
        "  assay show lm-eval:piqa --sample 1     the same for a task of an installed lm-evaluation-harness\n"
        "  assay show rouge_l                     what a metric measures and when it misleads\n"
        "  assay show model_as_a_judge_scorer     the fields of a type of YAML files, with an example\n"
        "  assay show scorer                      every type of a kind: scorer, solver, source, parameter, filter, …\n"
        "  assay show my_metric:starts_politely   the same for your own Python, which is read and not run\n"
        "  assay show runs/toy-starter-1a2b3c4d   the state of a run, its tables, and what failed or scored lowest\n"
        "  assay show runs/toy-starter-1a2b3c4d --sample arith-03    one sample of it in full\n"
        "  assay show runs/toy-starter-1a2b3c4d --where 'outcome:wrong and tokens_out>100'    attempts that match"
    )
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="a task file or folder, a catalog name, a type of YAML files, `module:object`, a run folder, "
        "an Inspect log, or `config`: the settings of a project's runs, and where each is from",
    )
    parser.add_argument("task", nargs="?", metavar="TASK", help="with `config`: those of this task")
    option(parser, "--model NAME", "with `config`: those of this model")
    option(parser, "--samples N", "how many samples to show (default 1; for a run, the 3 worst; with --where, 10)", int)
    option(
        parser,
        "--sample ID",
        "for a run, every attempt at this sample in full; for a task, the exact request for this sample, "
        "by id or by number from 1, without sending it",
    )
    parser.add_argument(
        "--merged",
        action="store_true",
        help="every field of a YAML task, with what it extends, and the file and line that each is from",
    )
    add_where(parser)
    add_task_parameters(parser)
    add_settings(parser, TaskSettings, "allow_outside")
    add_settings(parser, RunSettings, "trust")
    add_form_arguments(parser, json="as JSON; for a run, its provenance; with --where, one record per line")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from assay.cli.show_run import show_run

    if options.what == CONFIG and not Path(CONFIG).exists():
        from assay.cli.show_config import show_config

        return show_config(options)
    if options.task is not None or options.model is not None:
        only = f"--model {options.model}" if options.task is None else options.task
        raise UsageError(f"{only}: is for `assay show config` alone; leave it out")
    what, path = options.what, Path(run_named(options.what))
    if options.merged:
        show_merged(options)
    elif (path / "run.json").exists():
        show_run(path, options)
    elif options.where is not None:
        raise UsageError(f"--where picks attempts of a run, and {what} is not a run folder")
    elif source_named(what) is not None:
        show_tasks(options)
    elif not path.exists() and ":" in what:
        show_own(what, what, options)
    elif (path.exists() or not show_name(options)) and not show_dataset(options):
        if not path.exists() and path.suffix == "" and "/" not in what and not is_of_project(what):
            refuse_unknown(what)
        show_tasks(options)
    return DONE


def is_of_project(what: str) -> bool:
    """Whether a word names tasks of the project."""
    from assay.formats.project.name_patterns import matches
    from assay.tasks.project_sources import project_sources

    project = project_sources()
    if project is None:
        return False
    return what.startswith("@") or any(matches(what, name) for name in project.tasks.by_name)


def refuse_unknown(what: str) -> None:
    """A word that is no path, part or task set, with the nearest that is."""
    from assay import catalog
    from assay.formats.declarative.reference import type_references
    from assay.tasks.load import BUILT_IN

    known = {*BUILT_IN, *(name for kind in catalog.CATALOG for name in catalog.names(kind))}
    known |= {reference.name for reference in type_references()}
    if what not in known:
        near = nearest(what, sorted(known | {path.name for path in Path().iterdir()}))
        hint = (
            f"Did you mean `{near}`?" if near else "`assay list` shows the names of parts; a task is named by its path"
        )
        raise UsageError(f"unknown name `{what}`. {hint}")


def show_dataset(options: argparse.Namespace) -> bool:
    """What the columns of a dataset hold, if this is one: a YAML or data file, or a key of the folders here."""
    from assay.catalog import make
    from assay.datasets.column_names import columns_of
    from assay.datasets.content import is_elsewhere
    from assay.pages.document import TextTable
    from assay.tasks.load import BUILT_IN

    path = Path(options.what)
    if path.is_dir() or (options.what in BUILT_IN and not path.exists()):
        return False
    if reading_of(options)["source_options"].get("table"):  # what is said of a table makes it a task
        return False
    from assay.formats.declarative.load import read_dataset

    dataset = read_dataset(options.what, allow_outside=options.allow_outside)
    if dataset is None:
        return False
    name, spec = dataset
    columns = [] if is_elsewhere(spec) else columns_of(make("dataset", spec.use, spec.options))
    if options.json:
        print_json({"dataset": name, "spec": spec, "columns": columns})
        return True
    file = f", {spec.options['path']}" if "path" in spec.options else ""
    size = "samples not on this machine" if is_elsewhere(spec) else f"{spec.size:,} samples, sha256 {spec.sha256[:12]}"
    print(f"dataset {name}   ({spec.use}{file}; {size})\n")
    rows = [
        [
            column.name,
            _types_shown(column),
            str(column.missing) if column.missing else "",
            _example_shown(column.example),
        ]
        for column in columns
    ]
    if rows:
        show(TextTable(header=["column", "type", "missing", "example"], rows=rows, numeric_from=9), options)
    return True


def _types_shown(column: DatasetColumn) -> str:
    """One type, or each with how many values are of it."""
    if len(column.types) == 1:
        return next(iter(column.types))
    return ", ".join(f"{name} ({count:,})" for name, count in sorted(column.types.items()))


def _example_shown(value: object) -> str:
    return "" if value is None else shortened(msgspec.json.encode(value).decode(), 60)


def show_merged(options: argparse.Namespace) -> None:
    """The fields of YAML tasks as one file would have them, each with its place."""
    from assay.pages.document import TextTable
    from assay.tasks.load import read_sources

    loaded, refused = read_sources(
        [options.what], only_reads=True, trust=bool(options.trust), **task_parameters(options)
    )
    if refused:
        raise UsageError("\n".join(str(each.error) for each in refused))
    for task in loaded:
        if task.places is None:
            raise UsageError(f"--merged shows the fields of a YAML task, and {options.what} is none")
        fields = task.places.fields()
        if options.json:
            places = {name: {"value": value, "file": at.file, "line": at.line} for name, value, at in fields}
            print_json({"task": task.definition.name, "fields": places})
            continue
        rows = [[name, _example_shown(value), f"{at.file}:{at.line}"] for name, value, at in fields]
        show(TextTable(header=["field", "value", "from"], rows=rows, numeric_from=9), options)


def show_tasks(options: argparse.Namespace) -> None:
    from assay.runs.preview import preview
    from assay.tasks.load import load_tasks

    parameters = task_parameters(options)
    definitions = load_tasks([options.what], allow_bad=True, only_reads=True, trust=bool(options.trust), **parameters)
    if options.sample is not None:
        show_task_sample(definitions, options)
        return
    for definition in definitions:
        samples = preview(definition, 1 if options.samples is None else options.samples)
        if options.json:
            shown = {"definition": definition, "samples": [sample for sample, _ in samples]}
            print_json(shown)
            continue
        print_json(definition, indent=2)
        show_declared(definition, options)
        for sample, requests in samples:
            print(f"\n{_sample_shown(sample, requests)}")


def show_declared(definition: TaskDefinition, options: argparse.Namespace) -> None:
    """What a YAML task says of itself, and what became of everything that it declares."""
    from assay.cli.check import declared_table

    shown, declared = definition.shown, definition.provenance.declared
    if not declared:
        return
    tags = f"   tags: {', '.join(shown.tags)}" if shown.tags else ""
    print(f"\n{definition.name}: {shown.display_name}{tags}")
    for text in filter(None, (definition.description, shown.long_description)):
        print(f"\n{text}")
    print()
    show(declared_table(declared), options)


def show_task_sample(definitions: list[TaskDefinition], options: argparse.Namespace) -> None:
    """One sample of a task, and the exact request that a model would get; nothing runs."""
    from assay.datasets.content import is_elsewhere
    from assay.runs.preview import preview_sample

    previews = [
        preview for definition in definitions if (preview := preview_sample(definition, options.sample)) is not None
    ]
    if not previews:
        if unread := ", ".join(
            f"`{definition.name}`" for definition in definitions if is_elsewhere(definition.dataset)
        ):
            raise UsageError(
                f"`show` fetches no samples, and those of {unread} are not on this machine; `assay check` fetches them"
            )
        sizes = ", ".join(f"{definition.name} has {definition.dataset.size:,}" for definition in definitions)
        raise UsageError(f"there is no sample `{options.sample}`, by id or by number from 1 ({sizes})")
    for sample, requests in previews:
        if isinstance(requests, FailureError):
            raise UsageError(f"sample `{sample.id}` has no request: {requests}")
        if options.json:
            print_json({"sample": sample, "requests": requests})
        else:
            print(_sample_shown(sample, requests))


def _sample_shown(sample: Sample, requests: list[Request] | FailureError) -> str:
    if sample.row is None:
        from assay.formats.media_files import named_files

        files = "".join(f"({kind}: {name})\n" for kind, name in named_files(sample.extras))
        return f"sample {sample.id}, request:\n{sample.prompt}\n{files}targets: {list(sample.targets)}\n"
    row = f"sample {sample.id}, its row:\n{msgspec.json.encode(sample.row).decode()}"
    if isinstance(requests, FailureError):
        return f"{row}\nno request: {requests}"
    if not requests:
        return f"{row}\nno request: no model is called, or only the task's own Python does that; `assay check` runs it"
    lines = [row]
    for number, request in enumerate(requests, 1):
        lines.append(f"request {number}:" if len(requests) > 1 else "request:")
        lines.append(_request_shown(request))
    return "\n".join(lines) + "\n"


def _request_shown(request: Request) -> str:
    """Roles and contents, or the prompt, and what else is sent with them."""
    lines = [f"{message.role}: {message.content}" for message in request.messages or ()]
    settings = {
        name: value
        for name, value in msgspec.to_builtins(request).items()
        if name not in ("messages", "prompt", "attempt", "draw")
    }
    shown = "\n".join(lines) or str(request.prompt)
    return f"{shown}\nwith: {msgspec.json.encode(settings).decode()}" if settings else shown
