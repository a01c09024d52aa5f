"""`assay init`: a starter project (task files, YAML tasks, a search for a prompt), an example, or the skill file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

from assay.cli.examples import examples, examples_folder, files_to_copy
from assay.cli.flags import option, switch
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

FIRST_SEARCH = (
    "assay optimize --task label-tickets.yaml --prompt-at input_builder.input_messages.0.content "
    "--task-model stand_in:answer --model stand_in:propose --keep-placeholders --budget 400 --diff"
)
SKILL = "skill-assay.md"
RENAMED = {"gitignore.txt": ".gitignore"}


class Starter(NamedTuple):
    """A folder of `examples/starter/`, and the command that shows it works."""

    folder: str
    first: str


TASK_FILES = Starter("task_folder", "assay run tasks/ --model my_model:MyModel")
YAML_TASKS = Starter("yaml", "assay check tasks/ && assay run run.yaml")
SEARCH = Starter("optimize", FIRST_SEARCH)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  assay init my-evals                           tasks as JSON lines, a metric and an adapter of your own\n"
        "  assay init --yaml my-evals                    a YAML task of each common kind, with models and datasets\n"
        "  assay init --example declarative my-copy      a copy of an example; `assay list examples` lists them\n"
        "  assay init --skill .                          the recipe as a skill file for a coding assistant"
    )
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default=".", help="a new or empty folder (default: the current one)"
    )
    kind = parser.add_mutually_exclusive_group()
    switch(
        kind,
        "--yaml",
        "YAML tasks: exact answer, judge, conversation, RAG, function calls, dataset quality; runs offline",
    )
    switch(kind, "--optimize", "a dataset, a task and a search for its prompt, which runs offline")
    option(kind, "--example NAME", "one of the examples that come with assay")
    switch(
        kind, "--skill", f"{SKILL}, for coding assistants: tasks, metrics, models, runs, gates and failures on one page"
    )


def run(options: argparse.Namespace) -> int:
    target = Path(options.folder)
    if options.skill:
        return _write_skill(target)
    if options.example is not None:
        source, first = _example(options.example), "cat README.md"
    else:
        starter = YAML_TASKS if options.yaml else SEARCH if options.optimize else TASK_FILES
        source, first = _starter_folder(starter.folder), starter.first
    _copy(source, target)
    here = "" if target.resolve() == Path.cwd() else f"cd {target} && "
    print(f"\nnext: {here}{first}", file=sys.stderr)
    return DONE


def _write_skill(target: Path) -> int:
    """The skill file into a folder, which may hold a project; one that is there is left alone."""
    path = target / SKILL
    text = _starter_folder("skill").joinpath(SKILL).read_bytes()
    if path.exists() and path.read_bytes() != text:
        raise UsageError(f"{path}: exists with different content; move it or name another folder")
    target.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    print(path)
    print("\nnext: put it where your coding assistant looks for skills or instructions", file=sys.stderr)
    return DONE


def _starter_folder(name: str) -> Path:
    return examples_folder() / "starter" / name


def _example(name: str) -> Path:
    from assay.catalog import unknown_name

    known = examples()
    if name not in known:
        raise UsageError(unknown_name("example", name, known))
    return examples_folder() / name


def _copy(source: Path, target: Path) -> None:
    """Every file of the project into a folder that holds nothing yet but hidden files, such as `.git` or `.venv`."""
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target}: is a file, not a folder; nothing was written")
    files = list(files_to_copy(source))
    places = {inside: target / inside.with_name(RENAMED.get(inside.name, inside.name)) for inside in files}
    held = [path.name for path in sorted(target.iterdir()) if path.name[0] != "."] if target.is_dir() else []
    held += [path.name for path in places.values() if path.exists()]
    if held:
        raise UsageError(f"{target}: not an empty folder (`{held[0]}` is there); nothing was written. Name a new one")
    for inside, place in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((source / inside).read_bytes())
        if os.access(source / inside, os.X_OK):
            place.chmod(place.stat().st_mode | 0o111)
        print(place)
