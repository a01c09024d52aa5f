"""`assay import`: task files of other programs become task folders; what cannot be carried over is listed."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from assay.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from assay.task_imports.imported import Imported

EPILOG = """\
examples:
  assay import lm-eval my_task.yaml --data test.jsonl --out tasks/my_task
  assay import openai-evals samples.jsonl --template includes
  assay import promptfoo promptfooconfig.yaml

An import that could not carry over documents, prompts or scoring (Python of a task's own, metrics without a
counterpart, assertions that need a model) writes nothing and exits with 2. With --partial it writes what remains, named
`...-partial`; what is missing stands at the head of the task file, in import.json and on every leaderboard.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("format", choices=("lm-eval", "openai-evals", "promptfoo"), metavar="FORMAT",
                        help="lm-eval, openai-evals or promptfoo")  # fmt: skip
    parser.add_argument("file", metavar="FILE", help="the task file")
    parser.add_argument("--out", metavar="DIR", help="the task folder to write (default: tasks/<name of the file>)")
    parser.add_argument(
        "--partial", action="store_true", help="write what remains, where something could not be carried over"
    )
    parser.add_argument("--data", metavar="FILE", help="lm-eval: the test data, where the task names a hub dataset")
    parser.add_argument("--shots", type=int, metavar="N", help="lm-eval: number of worked examples (num_fewshot)")
    parser.add_argument("--shots-data", metavar="FILE", help="lm-eval: the documents that worked examples come from")
    parser.add_argument(
        "--template",
        default="match",
        metavar="T",
        help="openai-evals: match, includes, includes_ignore_case or fuzzy_match (default match)",
    )


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from assay.runs.exit_status import DONE
    from assay.task_imports.imported import task_name, write_imported
    from assay.tasks.load import load_tasks

    source = Path(options.file)
    if not source.is_file():
        raise UsageError(f"{source}: there is no such file")
    out = Path(options.out or f"tasks/{task_name(source.stem)}")
    found = imported(options, source)
    write_imported(found, source, out, partial=options.partial)
    for definition in load_tasks([str(out)]):
        print(f"{definition.source}  {definition.dataset.size:,} samples")
    for sentence in found.remarks:
        print(f"note: {sentence}", file=sys.stderr)
    for sentence in found.losses:
        print(f"not carried over: {sentence}", file=sys.stderr)
    for sentence in found.left_behind:
        print(f"left behind: {sentence}", file=sys.stderr)
    return DONE


def imported(options: argparse.Namespace, path: Path) -> Imported:
    from pathlib import Path

    from assay.task_imports.lm_eval import import_lm_eval
    from assay.task_imports.openai_evals import import_openai_evals
    from assay.task_imports.promptfoo import import_promptfoo

    if options.format == "lm-eval":
        data, shots_data = (Path(each) if each else None for each in (options.data, options.shots_data))
        return import_lm_eval(path, data, shots=options.shots, shots_data=shots_data)
    if options.format == "openai-evals":
        return import_openai_evals(path, options.template)
    return import_promptfoo(path)
