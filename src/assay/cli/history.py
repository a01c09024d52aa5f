"""`assay history`: runs of the same tasks in order, what changed on the way, and where the score got worse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.flags import choice, option
from assay.cli.output import add_form_arguments, is_one_screen, show_result, show_summary
from assay.cli.project import project_root
from assay.cli.run_flags import add_project
from assay.cli.view_flags import add_view_arguments, view_of_runs
from assay.core.errors import SearchFolderError, UsageError
from assay.formats.project.discovery import project_file
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.run_file import RunFile

EPILOG = """\
Runs of the same tasks by one model form one history, ordered by time, or with --order commit by their git commit
(recorded when the run starts in a git checkout). Each run, and the last 2, 4, 8 and 16 together, are compared with
the runs of the level before, sample by sample; what is said of a run never changes when later runs arrive. A change of
level is reported with the runs in which it may have begun, and later runs are compared with the new level.
--baseline compares with one run instead. Runs with less than 90 % of the samples are not compared. Below, what changed
from each run to the next: model, prompt, questions, scoring, settings, versions.

examples:
  assay history runs/
  assay history runs/ --task gsm8k --model openai:gpt-4o-mini
  assay history runs/ --order commit --baseline release-1.0 --html history.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="FOLDER|NAME",
        help="run folders, or folders of run folders; in a project also tasks, folders of tasks and suites, each task "
        "over the project's runs (default: all of those)",
    )
    add_project(parser)
    option(parser, "--task NAME", "one task alone, over every run that has it")
    option(parser, "--model NAME", "only runs of this model")
    option(parser, "--baseline RUN", "compare all later runs with this one (default: with the level before them)")
    choice(
        parser,
        "--line-per",
        ("model", "prompt", "commit", "tag", "all"),
        "one history per model (default), per prompt, commit or --tag of the runs, or for all runs",
    )
    choice(parser, "--order", ("time", "commit"), "by time (default) or by commit")
    add_form_arguments(parser, json="as JSON", is_summary=True)
    option(parser, "--html FILE", "write a page with charts that opens from disk")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from assay.pages.documents.history import history_document, history_screen
    from assay.results.diff.paired_columns import read_side
    from assay.results.history.timeline import HistorySource, histories
    from assay.viewer.run_folders import find_runs

    names, tasks = _of_project(options)
    folders = _readable(find_runs([Path(name) for name in names]))
    view = view_of_runs(options, [folder for folder, _ in folders.values()])
    commits = _commits([run.commit for _, run in folders.values()]) if options.order == "commit" else None
    sources = [HistorySource(name, run, partial(read_side, folder, view)) for name, (folder, run) in folders.items()]
    series = [
        one
        for task in tasks
        for one in histories(
            sources,
            view,
            task=task,
            model=options.model,
            baseline=options.baseline,
            commits=commits,
            line=options.line_per,
        )
    ]
    if not series:
        raise UsageError(
            f"{', '.join(options.runs or names)}: no two runs of the same tasks by one model here; "
            f"{len(folders):,} runs in total (--line-per all joins models)"
        )
    if options.html:
        from assay.pages.html.history_page import history_page
        from assay.run_file import write_whole

        write_whole(Path(options.html), history_page(series).encode())
        print(f"wrote {options.html}", file=sys.stderr)
    if is_one_screen(options) and not options.json:
        show_summary([block for item in series for block in history_screen(item)], options)
    else:
        show_result(series, [block for item in series for block in history_document(item)], options)
    return DONE


def _of_project(options: argparse.Namespace) -> tuple[list[str], Sequence[str | None]]:
    """The folders to look for runs in, and the tasks whose histories are shown, each alone; None is whole runs."""
    words = [name for name in options.runs if not Path(name).exists()]
    if project_file() is None or (options.runs and not words):
        if not options.runs:
            raise UsageError("name run folders, or a folder of run folders such as runs/")
        return options.runs, [options.task]
    if options.task is not None and words:
        raise UsageError(f"--task {options.task}: {words[0]} names tasks already; leave one out")
    from assay.formats.project.selection import named_tasks
    from assay.tasks.project_sources import project_sources

    project = project_sources()
    assert project is not None  # noqa: S101 - its file was found
    tasks = dict.fromkeys(file.name for word in words for file in named_tasks(project.tasks, word))
    folders = [name for name in options.runs if name not in words] or [str(project_root() / "runs")]
    return folders, list(tasks) or [options.task]


def _readable(folders: dict[str, Path]) -> dict[str, tuple[Path, RunFile]]:
    """Searches are no runs, and what cannot be read is named on stderr."""
    from assay.run_file import read_run_file

    readable = {}
    for name, folder in folders.items():
        try:
            readable[name] = folder, read_run_file(folder)
        except SearchFolderError:
            continue
        except UsageError as error:
            print(f"skipped: {error}", file=sys.stderr)
    return readable


def _commits(known: list[str]) -> list[str]:
    from assay.runs.git_commit import commits_in_order

    commits = commits_in_order(known)
    if commits is None:
        raise UsageError(
            "--order commit: git knows none of the runs' commits here; run it inside the repository that the runs were "
            "made in, or leave --order out"
        )
    return commits
