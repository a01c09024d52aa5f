"""The flags of `assay optimize`."""

from __future__ import annotations

import argparse

from assay.cli.evaluator_flags import add_evaluator_arguments
from assay.cli.flags import option, repeated, switch
from assay.cli.run_flags import add_trust


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seed", nargs="?", metavar="SEED", help="the text file the search starts from")
    repeated(parser, "--component NAME=FILE", "one of several texts that are searched together, instead of SEED")
    switch(parser, "--no-seed", "let the proposer write the first text")
    _add_proposer(parser)
    add_evaluator_arguments(parser)
    _add_tasks(parser)
    _add_sets_and_search(parser)
    _add_engine(parser)
    _add_output(parser)
    parser.epilog = """\
examples:
  assay optimize prompt.txt --task tasks/ --task-model openai:SMALL --model openai:LARGE  a prompt for tasks
  assay optimize reply.txt --evaluator-command "python3 score.py" --model openai:NAME  any text a program scores
  assay init --optimize demo   a project with a search that runs offline
"""


def _add_proposer(parser: argparse.ArgumentParser) -> None:
    option(parser, "--model PROPOSER", "the model that proposes, such as openai:NAME")
    repeated(parser, "--model-arg KEY=VALUE", "an option of the proposer")
    option(
        parser,
        "--proposer MODULE:FUNCTION",
        "your own function that writes the texts: (candidate, feedback, components) -> {component: text}; "
        "instead of --model",
    )
    option(parser, "--background TEXT", "context for the proposer", default="")
    option(
        parser,
        "--reflection-template FILE",
        "the proposer's prompt; <curr_param> stands for the text, <side_info> for its results",
    )
    option(
        parser, "--feedback-chars N", "approximate characters of each example shown to the proposer (default 8000)", int
    )
    option(parser, "--remember N", "rejected proposals shown to the proposer (default 3)", int)


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    tasks = parser.add_argument_group("tasks instead of an evaluator")
    repeated(
        tasks,
        "--task TASKS",
        "task files or folders; the text wraps each prompt (at {prompt}) and --task-model answers",
    )
    repeated(tasks, "--task-model-arg KEY=VALUE", "an option of that model")
    option(tasks, "--task-max-tokens N", "longest answer of that model", int)
    repeated(
        tasks,
        "--prompt-at [NAME=]PATH",
        "the text of a task's solver that is the candidate; several are components of one",
    )
    repeated(tasks, "--config KEY=VALUE", "a parameter of a declarative task")
    option(tasks, "--limit N", "only the first N samples of each task", int)
    add_trust(tasks)


def _add_sets_and_search(parser: argparse.ArgumentParser) -> None:
    sets = parser.add_argument_group("data")
    option(sets, "--dataset FILE", "JSON lines to learn from")
    option(sets, "--valset FILE", "JSON lines to select on (default: the dataset)")
    option(sets, "--testset FILE", "unseen JSON lines, for seed and best at the end")
    option(sets, "--split SHARES", "split what is not held out: 60/40 for dataset and valset; 50/25/25 with a testset")
    option(
        sets,
        "--holdout SHARE",
        "share of the data held out for the verdict, without a testset (default 0.3; 0: none)",
        float,
    )
    option(
        sets,
        "--demonstrations N",
        "put N examples of the dataset into the text (at {demonstrations}), picked by the search",
        int,
        0,
    )
    search = parser.add_argument_group("search")
    option(search, "--budget N", "approximate number of evaluator calls (default 100)", int, 100)
    option(search, "--repeat N", "repeat each evaluation N times", int, 1)
    option(search, "--max-proposals N", "proposals, at most", int)
    option(search, "--target-score X", "stop at this score (default: 1 if unit)", float)
    option(search, "--max-stale-proposals N", "stop after N proposals without a better text", int)
    option(
        search,
        "--max-repeats N",
        "stop after N rounds of proposals in a row without a new text (default 20)",
        int,
        20,
    )
    option(search, "--minibatch N", "examples per proposal (default 3)", int, 3)
    option(search, "--random-seed N", "same seed, same search (default 0)", int, 0)
    option(search, "--temperature T", "temperature of the proposer", float)
    option(search, "--max-tokens N", "longest answer of the proposer", int)
    option(search, "--budget-cost MONEY", "stop cleanly when this much is spent", float)
    option(search, "--budget-tokens N", "stop cleanly when this many tokens are used", int)
    switch(search, "--keep-placeholders", "refuse texts without the seed's placeholders")
    option(search, "--max-chars N", "refuse longer texts", int)
    switch(search, "--dry-run", "estimate calls and cost; call no model")


def _add_engine(parser: argparse.ArgumentParser) -> None:
    engine = parser.add_argument_group("engine", "GEPA's own options and names; the first one is the default")
    for flag, choices, meaning in (
        ("--selector", ("pareto", "current_best", "epsilon_greedy", "top_k_pareto"), "which text is rewritten next"),
        ("--frontier", ("instance", "objective", "hybrid", "cartesian"), "what a text must be best at to be rewritten"),
        ("--acceptance", ("strict_improvement", "improvement_or_equal"), "what is accepted on a minibatch"),
        ("--component-selector", ("round_robin", "all"), "which components are rewritten at a time"),
        ("--sampling", ("independent", "same_parent"), "whether several proposals rewrite several texts, or one"),
    ):
        # the names are listed in the help: in the usage they would be wider than a terminal
        listed = f"{meaning}: {', '.join(choices)}"
        engine.add_argument(flag, choices=choices, default=choices[0], metavar="NAME", help=listed)
    option(engine, "--proposals N", "proposals at once (default 1)", int, 1)
    option(engine, "--merge N", "combine components of two texts, at most N times", int, 0)
    option(
        engine,
        "--objectives NAMES",
        "objectives of the resulting front and of --frontier: score, sub-scores, length, seconds, tokens, cost; "
        "separated by commas (default: score and all sub-scores)",
    )
    option(engine, "--choose-by NAME", "the objective that decides which is best", default="score")


def _add_output(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    option(out, "--run-dir DIR", "folder of the search (default: runs/optimize-<hash>)")
    switch(out, "--fresh", "move an earlier search aside and start over")
    repeated(out, "--reuse RUN", "reuse matching evaluations of another search")
    option(out, "--branch RUN", "continue another search in a new folder, with its proposals too")
    switch(out, "--resume-foreign", "resume a search that another user or machine started, trusting its answers")
    option(out, "--events FILE", "append each event to this file as it happens, a JSON line each")
    repeated(out, "--log-to NAME", "log the search to mlflow, or to your own listener, module:name (repeatable)")
    option(
        out, "--output FILE", "also write the best text to this file; the texts of several components to this folder"
    )
    out.add_argument(
        "--fail-unless-better",
        type=float,
        nargs="?",
        const=0.0,
        metavar="MARGIN",
        help="exit code 1 unless the verdict is better, by at least MARGIN where one is given",
    )
    switch(out, "--diff", "print what changed between seed and best")
    switch(out, "--json", "the whole result as JSON on stdout")
    switch(out, "--quiet", "no progress")
