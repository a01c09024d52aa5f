"""`assay export`: the attempts or tasks of one run or of several as one table, in a file or on standard output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from assay.cli.flags import choice, given_flags, option
from assay.cli.run_names import runs_named
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.results.frames.frame_columns import Table
    from assay.results.frames.frame_source import RunSource

FORMATS = ("csv", "jsonl", "parquet")

EPILOG = """\
One row per attempt, with one column per score value (`SCORER.VALUE`) and per metadata key (`metadata.KEY`), or one
row per task with the numbers of the leaderboard. An attempt that failed, or that the task excludes, has no score;
`outcome` says what happened. CSV is made for spreadsheets: a text that begins like a formula gets a ' before it,
and invisible characters are escaped. JSON lines and Parquet hold every text unchanged.

An output that ends in .tex is a table of scores and a paragraph on methods for a paper (labels: `--model
LABEL=NAME` of the run), one that ends in .zip an archive of runs, task files and environment under one hash.

examples:
  assay export runs/* --output attempts.csv
  assay export runs/* --output paper.tex
  assay export runs/* --output archive.zip
  assay export runs/* --rows tasks --format jsonl
  assay export runs/my-run --columns task,sample_id,score,prediction --output answers.parquet
  assay export runs/* --where 'outcome:wrong,failed and metadata.steps>=3' --output wrong.csv
  assay export runs/my-run --where 'outcome:wrong and task:gsm8k' --as-task tasks/regressions.jsonl
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or Inspect logs")
    parser.add_argument(
        "--format", choices=FORMATS, help="default: by the name of the output file, csv on standard output"
    )
    choice(parser, "--rows", ("attempts", "tasks"), "default: attempts")
    option(parser, "--columns NAME,…", "only these columns, in this order (default: all)")
    add_where(parser)
    option(
        parser,
        "--as-task FILE",
        "add the samples of these attempts to a file that `assay run` takes, each with its origin: a task file "
        "NAME.jsonl, or for samples of a YAML task a run file NAME.yaml",
    )
    option(
        parser, "--output FILE", "the file to write, .csv, .jsonl, .parquet, .tex or .zip (default: standard output)"
    )


def add_where(parser: argparse.ArgumentParser) -> None:
    option(
        parser,
        "--where QUERY",
        'only attempts that match, as in `score<1 and task:gsm8k and "duck"` (docs/how-to/query.md)',
    )


def run(options: argparse.Namespace) -> int:
    from assay.run_file import writing_whole
    from assay.runs.run_handle import table_of_runs

    if options.as_task is not None:
        return save_task(options)
    output = None if options.output is None else Path(options.output)
    if output is not None and output.suffix in PAPER:
        return PAPER[output.suffix](output, options)
    form = format_of(options.format, output)
    names = None if options.columns is None else [name for name in options.columns.split(",") if name]
    sources = sources_of(options.runs)
    if options.where is not None:
        sources = picked(sources, options.where, options.rows)
    table = table_of_runs(sources, options.rows, names)
    if output is None:
        to_stdout(table, form)
        return DONE
    with writing_whole(output) as file:
        write(table, form, file)
    print(f"wrote {output}", file=sys.stderr)
    return DONE


def write_paper(output: Path, options: argparse.Namespace) -> int:
    """The table and the methods paragraph of a paper, as LaTeX."""
    from assay.pages.documents.paper import paper_document
    from assay.pages.latex import latex
    from assay.results.diff.paired_columns import read_side
    from assay.results.report_settings import view_of_results
    from assay.results.standings.standing_rows import standings_of
    from assay.run_file import write_whole

    refuse_table_flags(output, options)
    runs = runs_named(options.runs)
    view = view_of_results(runs)
    sides = [read_side(run, view) for run in runs]
    page = paper_document([side.board for side in sides], standings_of(sides, view))
    write_whole(output, latex(page).encode())
    print(f"wrote {output}: a table (package booktabs) and a paragraph on methods", file=sys.stderr)
    return DONE


def write_zip(output: Path, options: argparse.Namespace) -> int:
    """The runs with their task files and the environment, under one hash."""
    from assay.runs.later.archive import write_archive

    refuse_table_flags(output, options)
    archive = write_archive([Path(run) for run in runs_named(options.runs)], output)
    for reason in archive.left_out:
        print(f"left out: {reason}", file=sys.stderr)
    print(f"wrote {output}: {len(archive.files):,} files, sha256 {archive.sha256}", file=sys.stderr)
    return DONE


PAPER = {".tex": write_paper, ".zip": write_zip}
"""By the ending of the output: what is no table of attempts or tasks."""


def refuse_table_flags(output: Path, options: argparse.Namespace) -> None:
    """`UsageError` for what only a table of attempts or tasks has."""
    for flag in ("format", "columns", "where"):
        if getattr(options, flag) is not None:
            raise UsageError(f"--output {output} is no table of attempts: leave out --{flag}")
    if "rows" in given_flags(options):
        raise UsageError(f"--output {output} is no table of attempts: leave out --rows")


def save_task(options: argparse.Namespace) -> int:
    """The samples of the attempts that the query picks, as a task file."""
    from assay.runs.later.regressions import regression_lines, save_regressions
    from assay.runs.later.yaml_regressions import save_yaml_regressions, yaml_regressions

    for flag in ("output", "format", "columns"):
        if getattr(options, flag) is not None:
            raise UsageError(f"--as-task writes a task file: leave out --{flag}")
    if options.where is None:
        raise UsageError("--as-task needs --where, which says what went wrong: --where 'outcome:wrong'")
    sources = picked(sources_of(options.runs), options.where, options.rows)
    path, of_yaml = Path(options.as_task), yaml_regressions(sources)
    if of_yaml is not None:
        saved = save_yaml_regressions(path, of_yaml)
    else:
        saved = save_regressions(path, [line for source in sources for line in regression_lines(source)])
    had = f" to the {saved.kept:,} it had" if saved.kept else ""
    print(f"{saved.path}: {saved.added:,} samples added{had}; run them with `assay run {saved.path}`", file=sys.stderr)
    return DONE


def format_of(given: str | None, output: Path | None) -> str:
    """What the flag says, else what the file's name says."""
    if given is not None or output is None:
        return given or FORMATS[0]
    ending = output.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise UsageError(f"--output {output}: end its name in .csv, .jsonl, .parquet, .tex or .zip, or give --format")
    return ending


def sources_of(names: list[str]) -> list[RunSource]:
    """The runs, each called by its folder's name, or by its path where two are alike; searches are skipped."""
    from assay.results.frames.frame_source import RunSource

    paths = list(dict.fromkeys(map(Path, runs_named(names))))
    labels = [path.resolve().name for path in paths]
    return [
        RunSource.of(path, label if labels.count(label) == 1 else str(path))
        for path, label in zip(paths, labels, strict=True)
    ]


def picked(sources: list[RunSource], where: str, rows: str) -> list[RunSource]:
    """The runs with the attempts that the query picks, and a word on how many those are."""
    from dataclasses import replace

    from assay.viewer.selecting import select

    if rows != "attempts":
        raise UsageError("--where picks attempts, and a task's numbers are over all of them: leave out --rows tasks")
    picked_sources = []
    for source in sources:
        places, total = select(source.folder, where, source.label)
        print(f"{source.label}: {len(places):,} of {total:,} attempts match", file=sys.stderr)
        picked_sources.append(replace(source, picked=frozenset(places)))
    return picked_sources


def to_stdout(table: Table, form: str) -> None:
    if form != "parquet":
        for text in texts(table, form):
            sys.stdout.write(text)
        return
    if sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal; give --output FILE")
    write(table, form, sys.stdout.buffer)


def write(table: Table, form: str, file: BinaryIO) -> None:
    if form == "parquet":
        from assay.results.frames.libraries import write_parquet

        write_parquet(table, file)
        return
    for text in texts(table, form):
        file.write(text.encode())


def texts(table: Table, form: str) -> Iterator[str]:
    from assay.results.frames.in_text import csv_chunks, json_line_chunks

    return csv_chunks(table) if form == "csv" else json_line_chunks(table)
