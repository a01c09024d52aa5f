"""`assay schema`: the JSON Schema of declarative YAML files, so that an editor completes and checks them, and of
leaderboards, so that other programs can."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from assay.cli.flags import option
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.formats.declarative.editor_schema import Known

LEADERBOARD = "leaderboard"
PROJECT = "project"
ROWS = 100
"""Rows of a dataset whose columns an editor is offered."""
KINDS = ("task", "dataset", "model", "run", PROJECT, LEADERBOARD)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  assay schema task > task.schema.json\n"
        "  # then, as the first line of a task file:\n"
        "  # yaml-language-server: $schema=./task.schema.json\n"
        "  assay schema --for tasks/t.yaml > tasks/t.schema.json    columns and scores of one task\n"
        "  assay schema project > project.schema.json   # the same for assay.yaml\n"
        "  # with the options of your own scorer and solver:\n"
        "  assay schema task my_parts:Brief my_parts:Ask > task.schema.json"
    )
    option(parser, "--for TASK.yaml", "complete `sample.` and `scores.` with the columns and scores of this task file")
    parser.add_argument("kind", nargs="?", default="task", choices=KINDS, help="which kind of file (default: task)")
    parser.add_argument("parts", nargs="*", help="parts of your own whose options it lists, as `module:object`")


def run(options: argparse.Namespace) -> int:
    file = vars(options)["for"]
    if file is not None and options.kind != "task":
        raise UsageError(f"--for {file}: a {options.kind} file has no columns; use it with `task`")
    print(json.dumps(_schema_of(options.kind, options.parts, file), indent=2, ensure_ascii=False))
    return DONE


def _schema_of(kind: str, parts: Sequence[str], file: str | None) -> Mapping[str, object]:
    if kind == LEADERBOARD:
        from assay.results.board.board_types import leaderboard_schema

        if parts:
            raise UsageError(f"{parts[0]}: a leaderboard has no options of parts: name only `leaderboard`")
        return leaderboard_schema()
    if kind == PROJECT:
        from assay.formats.project.shapes import project_schema

        if parts:
            raise UsageError(f"{parts[0]}: a project file has no options of parts: name only `project`")
        return project_schema()
    from assay.formats.declarative.checked import editor_schema
    from assay.formats.own_source import signature_of

    for part in parts:
        if signature_of(part) is None:
            print(f"{part}: its source does not show its options: an editor will accept any", file=sys.stderr)
    return editor_schema(kind, parts, None if file is None else _known_of(file))


def _known_of(file: str) -> Known:
    """The columns of a task's dataset, by its first rows, and the values of its scorers."""
    from assay.formats.declarative.editor_schema import Known
    from assay.formats.declarative.schema.scorers import described
    from assay.scorers.python_snippet import written_scores
    from assay.tasks.built_tasks import build_dataset
    from assay.tasks.load import load_tasks

    columns: dict[str, None] = {}
    scores: dict[str, None] = {}
    for definition in load_tasks([file], only_reads=True):
        for sample in islice(build_dataset(definition), ROWS):
            columns |= dict.fromkeys(sample.row or {})
        for part in definition.scorers:
            info = described(part.use, part.options)  # of the author's own it is in code, which is not run here
            values = [value.name for value in info.values] if info else []
            fields = [
                each.options.get("field") for each in definition.aggregates if each.options.get("scorer") == part.key
            ]
            named = [name for name in fields if isinstance(name, str)]
            names = dict.fromkeys([*values, *written_scores(part.options), *named])
            scores |= dict.fromkeys(f"{part.key}.{name}" for name in names)
    return Known(tuple(columns), tuple(scores))
