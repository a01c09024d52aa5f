"""`assay import`: task files of other programs become task folders; what cannot be carried over is listed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.flags import option, switch
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.formats.imported import Imported

EPILOG = """\
examples:
  assay import lm-eval my_task.yaml --data test.jsonl --output tasks/my_task

`assay run` runs promptfoo configurations unchanged, and evals of OpenAI's registry as openai-evals:NAME.

An import that cannot carry over documents, prompts or scoring (a task's own Python, metrics without a
counterpart) writes nothing and exits with 2. With --partial it writes what remains, named
`...-partial`; what is missing is listed at the top of the task file, in import.json and on every leaderboard.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("format", choices=("lm-eval",), metavar="FORMAT", help="lm-eval")
    parser.add_argument("file", metavar="FILE", help="the task file")
    option(parser, "--output DIR", "the task folder to write (default: tasks/<name of the file>)")
    switch(parser, "--partial", "write what could be converted even if something could not")
    option(parser, "--data FILE", "lm-eval: the test data, where the task names a hub dataset")
    option(parser, "--num-fewshot N", "lm-eval: number of few-shot examples (num_fewshot)", int)
    option(parser, "--fewshot-data FILE", "lm-eval: the documents that few-shot examples come from")


def run(options: argparse.Namespace) -> int:
    from assay.formats.imported import task_name, write_imported
    from assay.tasks.load import load_tasks

    source = Path(options.file)
    if not source.is_file():
        raise UsageError(f"{source}: there is no such file")
    out = Path(options.output or f"tasks/{task_name(source.stem)}")
    result = imported(options, source)
    write_imported(result, source, out, partial=options.partial)
    for definition in load_tasks([str(out)]):
        print(f"{definition.source}  {definition.dataset.size:,} samples")
    for sentence in result.remarks:
        print(f"note: {sentence}", file=sys.stderr)
    for sentence in result.losses:
        print(f"not carried over: {sentence}", file=sys.stderr)
    for sentence in result.left_behind:
        print(f"left behind: {sentence}", file=sys.stderr)
    return DONE


def imported(options: argparse.Namespace, path: Path) -> Imported:
    from assay.catalog import resolve

    data, shots_data = (Path(item) if item else None for item in (options.data, options.fewshot_data))
    result: Imported = resolve("importer", "lm-eval")(path, data, shots=options.num_fewshot, shots_data=shots_data)
    return result
