"""The flags of `assay optimize`."""

from __future__ import annotations

import argparse

from assay.cli.evaluator_flags import add_evaluator_arguments
from assay.cli.run_flags import add_trust


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seed", nargs="?", metavar="SEED", help="the text file the search starts from")
    parser.add_argument(
        "--component",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="one of several texts that are searched together, instead of SEED",
    )
    parser.add_argument("--no-seed", action="store_true", help="let the proposer write the first text")
    _add_proposer(parser)
    add_evaluator_arguments(parser)
    _add_tasks(parser)
    _add_sets_and_search(parser)
    _add_engine(parser)
    _add_output(parser)


def _add_proposer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="PROPOSER", help="the model that proposes, such as openai:NAME")
    parser.add_argument(
        "--model-arg", action="append", default=[], metavar="KEY=VALUE", help="an option of the proposer"
    )
    parser.add_argument(
        "--proposer",
        metavar="MODULE:FUNCTION",
        help="your own function that writes the texts: (candidate, feedback, components) -> {component: text}; "
        "instead of --model",
    )
    parser.add_argument("--background", metavar="TEXT", default="", help="context for the proposer")
    parser.add_argument(
        "--reflection-template",
        metavar="FILE",
        help="the proposer's prompt; <curr_param> stands for the text, <side_info> for its results",
    )
    parser.add_argument(
        "--feedback-chars",
        type=int,
        metavar="N",
        help="approximate characters of each example shown to the proposer (default 8000)",
    )
    parser.add_argument(
        "--remember",
        type=int,
        metavar="N",
        help="rejected proposals shown to the proposer (default 3)",
    )


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    tasks = parser.add_argument_group("tasks instead of an evaluator")
    tasks.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="TASKS",
        help="task files or folders; the text wraps each prompt (at {prompt}) and --task-model answers",
    )
    tasks.add_argument(
        "--task-model-arg",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of that model",
    )
    tasks.add_argument("--task-max-tokens", type=int, metavar="N", help="longest answer of that model")
    tasks.add_argument(
        "--prompt-at",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="the text of a task's solver that is the candidate; several are components of one",
    )
    tasks.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="a parameter of a declarative task"
    )
    tasks.add_argument("--limit", type=int, metavar="N", help="only the first N samples of each task")
    add_trust(tasks)


def _add_sets_and_search(parser: argparse.ArgumentParser) -> None:
    sets = parser.add_argument_group("examples")
    sets.add_argument("--dataset", metavar="FILE", help="JSON lines to learn from")
    sets.add_argument("--valset", metavar="FILE", help="JSON lines to select on (default: the dataset)")
    sets.add_argument("--testset", metavar="FILE", help="unseen JSON lines, for seed and best at the end")
    sets.add_argument(
        "--split",
        metavar="SHARES",
        help="split what is not held out: 60/40 for dataset and valset; 50/25/25 with a testset",
    )
    sets.add_argument(
        "--holdout",
        type=float,
        metavar="SHARE",
        help="share of the data held out for the verdict, without a testset (default 0.3; 0: none)",
    )
    sets.add_argument(
        "--demonstrations",
        type=int,
        default=0,
        metavar="N",
        help="put N examples of the dataset into the text (at {demonstrations}), picked by the search",
    )
    search = parser.add_argument_group("search")
    search.add_argument(
        "--budget", type=int, default=100, metavar="N", help="approximate number of evaluator calls (default 100)"
    )
    search.add_argument("--repeat", type=int, default=1, metavar="N", help="repeat each evaluation N times")
    search.add_argument("--max-proposals", type=int, metavar="N", help="proposals, at most")
    search.add_argument("--target-score", type=float, metavar="X", help="stop at this score (default: 1 if unit)")
    search.add_argument(
        "--max-stale-proposals", type=int, metavar="N", help="stop after N proposals without a better text"
    )
    search.add_argument("--minibatch", type=int, default=3, metavar="N", help="examples per proposal (default 3)")
    search.add_argument("--random-seed", type=int, default=0, metavar="N", help="same seed, same search (default 0)")
    search.add_argument("--temperature", type=float, metavar="T", help="temperature of the proposer")
    search.add_argument("--max-tokens", type=int, metavar="N", help="longest answer of the proposer")
    search.add_argument("--budget-cost", type=float, metavar="MONEY", help="stop cleanly when this much is spent")
    search.add_argument("--budget-tokens", type=int, metavar="N", help="stop cleanly when this many tokens are used")
    search.add_argument("--keep-placeholders", action="store_true", help="refuse texts without the seed's placeholders")
    search.add_argument("--max-chars", type=int, metavar="N", help="refuse longer texts")
    search.add_argument("--dry-run", action="store_true", help="estimate calls and cost; call no model")


def _add_engine(parser: argparse.ArgumentParser) -> None:
    engine = parser.add_argument_group("engine", "GEPA's own options and names; the first choice is the default")
    for flag, choices, meaning in (
        ("--selector", ("pareto", "current_best", "epsilon_greedy", "top_k_pareto"), "which text is rewritten next"),
        ("--frontier", ("instance", "objective", "hybrid", "cartesian"), "what a text must be best at to be rewritten"),
        ("--acceptance", ("strict_improvement", "improvement_or_equal"), "what is accepted on a minibatch"),
        ("--component-selector", ("round_robin", "all"), "which components are rewritten at a time"),
        ("--sampling", ("independent", "same_parent"), "whether several proposals rewrite several texts, or one"),
    ):
        engine.add_argument(flag, choices=choices, default=choices[0], help=meaning)
    engine.add_argument("--proposals", type=int, default=1, metavar="N", help="proposals at once (default 1)")
    engine.add_argument(
        "--merge", type=int, default=0, metavar="N", help="combine components of two texts, at most N times"
    )
    engine.add_argument(
        "--objectives",
        metavar="NAMES",
        help="objectives of the resulting front and of --frontier: score, sub-scores, length, seconds, tokens, cost; "
        "separated by commas (default: score and all sub-scores)",
    )
    engine.add_argument("--choose-by", default="score", metavar="NAME", help="the objective that decides which is best")


def _add_output(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    out.add_argument("--run-dir", metavar="DIR", help="folder of the search (default: runs/optimize-<hash>)")
    out.add_argument("--fresh", action="store_true", help="move an earlier search aside and start over")
    out.add_argument(
        "--reuse",
        action="append",
        default=[],
        metavar="RUN",
        help="reuse matching evaluations of another search",
    )
    out.add_argument("--branch", metavar="RUN", help="continue another search in a new folder, with its proposals too")
    out.add_argument(
        "--resume-foreign",
        action="store_true",
        help="resume a search that another user or machine started, trusting its answers",
    )
    out.add_argument("--events", metavar="FILE", help="append each event to this file as it happens, a JSON line each")
    out.add_argument(
        "--log-to",
        action="append",
        default=[],
        metavar="NAME",
        help="log the search to mlflow, or to a listener of yours (module:name) (repeatable)",
    )
    out.add_argument("--output", metavar="FILE", help="also write the best text to this file")
    out.add_argument(
        "--fail-unless-better",
        type=float,
        nargs="?",
        const=0.0,
        metavar="MARGIN",
        help="exit code 1 unless the verdict is better, by at least MARGIN where one is given",
    )
    out.add_argument("--diff", action="store_true", help="print what changed between seed and best")
    out.add_argument("--json", action="store_true", help="the whole result as JSON on stdout")
    out.add_argument("--quiet", action="store_true", help="no progress")
