"""`assay schema`: the JSON Schema of declarative YAML files, so that an editor completes and checks them."""

from __future__ import annotations

import argparse
import json

from assay.runs.exit_status import DONE

KINDS = ("task", "dataset", "model", "run")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  assay schema task > task.schema.json\n"
        "  # then, as the first line of a task file:\n"
        "  # yaml-language-server: $schema=./task.schema.json"
    )
    parser.add_argument("kind", nargs="?", default="task", choices=KINDS, help="which kind of file (default: task)")


def run(options: argparse.Namespace) -> int:
    from assay.formats.declarative.checked import editor_schema

    print(json.dumps(editor_schema(options.kind), indent=2, ensure_ascii=False))
    return DONE
