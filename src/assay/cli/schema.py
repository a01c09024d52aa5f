"""`assay schema`: the JSON Schema of declarative YAML files, so that an editor completes and checks them, and of
leaderboards, so that other programs can."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

LEADERBOARD = "leaderboard"
KINDS = ("task", "dataset", "model", "run", LEADERBOARD)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  assay schema task > task.schema.json\n"
        "  # then, as the first line of a task file:\n"
        "  # yaml-language-server: $schema=./task.schema.json\n"
        "  # with the options of your own scorer and solver:\n"
        "  assay schema task my_parts:Brief my_parts:Ask > task.schema.json"
    )
    parser.add_argument("kind", nargs="?", default="task", choices=KINDS, help="which kind of file (default: task)")
    parser.add_argument("parts", nargs="*", help="parts of your own whose options it lists, as `module:object`")


def run(options: argparse.Namespace) -> int:
    print(json.dumps(_schema_of(options.kind, options.parts), indent=2, ensure_ascii=False))
    return DONE


def _schema_of(kind: str, parts: Sequence[str]) -> Mapping[str, object]:
    if kind == LEADERBOARD:
        from assay.results.board.board_types import leaderboard_schema

        if parts:
            raise UsageError(f"{parts[0]}: a leaderboard has no options of parts: name only `leaderboard`")
        return leaderboard_schema()
    from assay.formats.declarative.checked import editor_schema
    from assay.formats.own_source import signature_of

    for part in parts:
        if signature_of(part) is None:
            print(f"{part}: its source does not show its options: an editor will accept any", file=sys.stderr)
    return editor_schema(kind, parts)
