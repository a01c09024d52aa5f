"""`assay verify`: were these the task files that the leaderboard was made with?"""

from __future__ import annotations

import argparse

from assay.cli.run_flags import add_task_parameters, task_parameters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "exit code 0 when every task's content is the same, 1 when not"
    parser.add_argument("leaderboard", metavar="LEADERBOARD", help="a leaderboard.json, or a run folder")
    parser.add_argument("tasks", nargs="+", metavar="TASKS", help="task files, folders or built-in names")
    add_task_parameters(parser)
    parser.add_argument("--json", action="store_true", help="the comparison as JSON")


def run(options: argparse.Namespace) -> int:
    import msgspec

    from assay.cli.main import DONE, GATE_NOT_MET
    from assay.reports.leaderboard import read_leaderboard
    from assay.reports.markdown import table
    from assay.tasks.load import load_tasks

    board = read_leaderboard(options.leaderboard)
    scored = {row.task: row.sha256 for row in board.tasks}
    tasks = load_tasks(options.tasks, allow_bad=True, only_reads=True, **task_parameters(options))
    here = {each.name: each.dataset.sha256 for each in tasks}
    found = {name: verdict(scored.get(name), here.get(name)) for name in sorted({*scored, *here})}
    if options.json:
        print(msgspec.json.encode({"tasks": found, "same": set(found.values()) == {"same"}}).decode())
    else:
        rows = [[name, word, scored.get(name, "–")[:16], here.get(name, "–")[:16]] for name, word in found.items()]
        print(table(["task", "content", "scored", "these files"], rows, numeric_from=9))
    return DONE if set(found.values()) == {"same"} else GATE_NOT_MET


def verdict(scored: str | None, here: str | None) -> str:
    if scored is None:
        return "not on the leaderboard"
    if here is None:
        return "not in these files"
    return "same" if scored == here else "changed"
