"""`assay rescore`: new scores for old answers, without a model."""

from __future__ import annotations

import argparse
import sys

from assay.core.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.output import add_form_arguments
    from assay.cli.run_flags import add_allow_outside, add_score_workers, add_task_parameters, add_trust
    from assay.cli.view_flags import add_view_arguments

    parser.epilog = (
        "After a target or metric changed in the task files, name them; after only the code of a metric changed,\n"
        "name the run alone. An answer is used only if its sample still asks the same. Verdicts of judges stand as\n"
        "they were given. After Ctrl-C the same command goes on."
    )
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("tasks", nargs="*", metavar="TASKS", help="the task files as they are now")
    parser.add_argument("--run-dir", metavar="DIR", help="folder of the new run (default: RUN.rescored)")
    add_task_parameters(parser)
    add_allow_outside(parser)
    add_score_workers(parser)
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="the leaderboard as JSON on stdout")
    add_form_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    import msgspec

    from assay.cli.output import say_all, show
    from assay.cli.progress import progress_of
    from assay.cli.run_flags import score_workers_of, task_parameters
    from assay.cli.view_flags import view_of_run
    from assay.core.run_file import read_run_file, sealed_as
    from assay.reports.documents.leaderboard import notes
    from assay.reports.documents.more_tables import board_tables
    from assay.runs.exit_status import exit_status_of, why_without_score
    from assay.runs.rescore import rescore
    from assay.tasks.load import load_tasks
    from assay.user.seal import is_vouched_for

    told = task_parameters(options)
    earlier = read_run_file(Path(options.run))
    kept = earlier.config.task_config
    if kept and options.tasks and not options.trust and not is_vouched_for(Path(options.run), sealed_as(earlier)):
        raise UsageError(
            f"{options.run}: would put its parameters ({', '.join(kept)}) into your tasks, and somebody else made this "
            "run. Look at them with `assay show RUN --json`, then use --trust, or leave the tasks out."
        )
    told["config"] = kept | told["config"]
    result = rescore(
        Path(options.run),
        load_tasks(options.tasks, trust=options.trust, **told) if options.tasks else None,
        Path(options.run_dir) if options.run_dir else None,
        trust=options.trust,
        score_workers=score_workers_of(options.score_workers),
        view=view_of_run(options, Path(options.run)),
        progress=progress_of(options),
        command=["assay", *sys.argv[1:]],
    )
    if result.interrupted:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    board = result.leaderboard
    if options.json:
        print(msgspec.json.encode(board).decode())
    else:
        show(board_tables(board), options)
    # the same command would ask nobody
    say_all([note for note in notes(board) if not note.startswith("the board is not complete")], options)
    if nothing := why_without_score(board):
        print(nothing, file=sys.stderr)
    if result.owed:
        print(f"what has no score here needs a model: finish {options.run}, or run its tasks anew", file=sys.stderr)
    changed = f", of which {result.changed_prompts} ask something else now" if result.changed_prompts else ""
    print(f"scored {result.rescored} answers again; {result.owed} attempts have none{changed}", file=sys.stderr)
    print(f"run: {result.folder}", file=sys.stderr)
    return exit_status_of(board)
