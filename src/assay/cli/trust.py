"""`assay trust`: what a file from elsewhere would run and where it would connect, looked at and then recorded."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.flags import switch
from assay.cli.output import print_json
from assay.cli.run_flags import add_task_parameters, task_parameters
from assay.cli.setting_flags import add_settings
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE
from assay.tasks.task_settings import TaskSettings

if TYPE_CHECKING:
    from assay.core.types import TaskDefinition
    from assay.trust.consent import Reach


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A file or run folder from outside the current project may name Python, programs, addresses and variables.\n"
        "This lists all of it, without running any of it, and records the content as trusted, in your own folder\n"
        "($ASSAY_HOME, else ~/.config/assay). A file whose content changes has to be trusted again.\n\n"
        "examples:\n"
        "  assay trust ../shared-tasks/judge.yaml         print it and trust this exact content\n"
        "  assay trust ../shared-tasks --show             only look\n"
        "  assay trust lm-eval:hellaswag                  the Python of an lm-evaluation-harness task\n"
        "  assay trust inspect:inspect_evals/gsm8k        the Python of an Inspect task\n"
        "  assay trust runs/from-a-colleague              a run folder, so that it can be rescored\n"
        "  assay trust --list                             what is trusted\n"
        "  assay trust ../shared-tasks/judge.yaml --forget"
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="task files, folders, `lm-eval:NAME`, `inspect:PACKAGE/TASK`, or run folders",
    )
    what = parser.add_mutually_exclusive_group()
    switch(what, "--show", "list what it would run and connect to, and record nothing")
    switch(what, "--forget", "no longer trust it")
    switch(what, "--list", "everything that is trusted")
    add_task_parameters(parser)
    add_settings(parser, TaskSettings, "allow_outside")
    switch(parser, "--json", "as JSON")


def run(options: argparse.Namespace) -> int:
    from assay.trust.trusted_content import read_trusted

    if options.list:
        trusted = read_trusted()
        if options.json:
            print_json(trusted)
        for item in () if options.json else trusted:
            print(f"{item.recorded}  {item.path}  {item.sha256[:16]}")
        return DONE
    if not options.paths:
        raise UsageError("name a PATH: a task file, a folder of them, or a run folder; --list shows what is trusted")
    rows = [row for path in options.paths for row in _looked_at(path, options)]
    if options.json:
        print_json(rows)
    return DONE


def _looked_at(path: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """Each task of a path: what it reaches for, and what became of it."""
    from assay.trust.consent import content_to_trust, reaches, scripts_of
    from assay.trust.trusted_content import forget, record

    rows: list[dict[str, object]] = []
    out_of_a_run = (Path(path) / "run.json").exists()
    for definition in _definitions(Path(path), options, out_of_a_run=out_of_a_run):
        reached = sorted(set(reaches(definition, out_of_a_run=out_of_a_run)))
        content = content_to_trust(definition, out_of_a_run=out_of_a_run)
        scripts = [os.path.relpath(script) for script in scripts_of(definition)]
        if not options.json:
            _print_content(definition, reached, scripts)
        word = "nothing to trust"
        if reached and options.forget:
            word = "forgotten" if forget(content) else "was not trusted"
        elif reached and options.show:
            word = "not recorded"
        elif reached:
            record(content, Path(path), [str(item) for item in reached])
            word = "trusted"
        if not options.json:
            print(f"{definition.name}: {word}", file=sys.stderr)
        rows.append({"task": definition.name, "reaches": reached, "covered": scripts, "sha256": content, "state": word})
    return rows


def _definitions(path: Path, options: argparse.Namespace, *, out_of_a_run: bool) -> list[TaskDefinition]:
    from assay.run_file import read_run_file
    from assay.tasks.load import load_tasks

    if out_of_a_run:
        return list(read_run_file(path).definitions)
    return load_tasks([str(path)], allow_bad=True, only_reads=True, only_looks=True, **task_parameters(options))


def _print_content(definition: TaskDefinition, reached: Sequence[Reach], scripts: Sequence[str]) -> None:
    print(f"{definition.name}   {definition.source}")
    for item in reached:
        print(f"  would {item}")
    if not reached:
        print("  nothing: it is plain data")
    if scripts:
        print(f"  covered: {', '.join(scripts)}")
        print("  not covered: what these load or start from elsewhere")
    elif any(item.kind == "program" for item in reached):
        print("  not covered: what its programs are made of, load or start; none of that is a file found here")
