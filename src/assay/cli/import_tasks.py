"""`assay import`: task files of other programs become task folders; what cannot be carried over is listed."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from assay.task_imports.imported import Imported

EPILOG = """\
examples:
  assay import lm-eval my_task.yaml --data test.jsonl --out tasks/my_task
  assay import openai-evals samples.jsonl --template includes
  assay import promptfoo promptfooconfig.yaml

What cannot be carried over (Python of a task's own, hub datasets, assertions that need a model) is told on stderr and
written into import.json beside the task files. Exit code 0 even so: look at the list.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("format", choices=("lm-eval", "openai-evals", "promptfoo"), metavar="FORMAT",
                        help="lm-eval, openai-evals or promptfoo")  # fmt: skip
    parser.add_argument("file", metavar="FILE", help="the task file")
    parser.add_argument("--out", metavar="DIR", help="the task folder to write (default: tasks/<name of the file>)")
    parser.add_argument("--data", metavar="FILE", help="lm-eval: the test data, where the task names a hub dataset")
    parser.add_argument(
        "--template", default="match", metavar="T", help="openai-evals: match, includes or fuzzy_match (default match)"
    )


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from assay.cli.main import DONE
    from assay.core.errors import UsageError
    from assay.task_imports.imported import task_name, write_imported
    from assay.tasks.load import load_tasks

    source = Path(options.file)
    if not source.is_file():
        raise UsageError(f"{source}: there is no such file")
    out = Path(options.out or f"tasks/{task_name(source.stem)}")
    found = imported(options, source)
    write_imported(found, source, out)
    for definition in load_tasks([str(out)]):
        print(f"{definition.source}  {definition.dataset.size:,} samples")
    for sentence in found.remarks:
        print(f"note: {sentence}", file=sys.stderr)
    for sentence in found.left_behind:
        print(f"left behind: {sentence}", file=sys.stderr)
    return DONE


def imported(options: argparse.Namespace, path: Path) -> Imported:
    from pathlib import Path

    from assay.task_imports.lm_eval import import_lm_eval
    from assay.task_imports.openai_evals import import_openai_evals
    from assay.task_imports.promptfoo import import_promptfoo

    if options.format == "lm-eval":
        return import_lm_eval(path, Path(options.data) if options.data else None)
    if options.format == "openai-evals":
        return import_openai_evals(path, options.template)
    return import_promptfoo(path)
