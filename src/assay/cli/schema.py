"""`assay schema`: the JSON Schema of declarative YAML files, so that an editor completes and checks them, and of
leaderboards, so that other programs can."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping

from assay.runs.exit_status import DONE

LEADERBOARD = "leaderboard"
KINDS = ("task", "dataset", "model", "run", LEADERBOARD)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  assay schema task > task.schema.json\n"
        "  # then, as the first line of a task file:\n"
        "  # yaml-language-server: $schema=./task.schema.json"
    )
    parser.add_argument("kind", nargs="?", default="task", choices=KINDS, help="which kind of file (default: task)")


def run(options: argparse.Namespace) -> int:
    print(json.dumps(_schema_of(options.kind), indent=2, ensure_ascii=False))
    return DONE


def _schema_of(kind: str) -> Mapping[str, object]:
    if kind == LEADERBOARD:
        from assay.results.board.board_types import leaderboard_schema

        return leaderboard_schema()
    from assay.formats.declarative.checked import editor_schema

    return editor_schema(kind)
