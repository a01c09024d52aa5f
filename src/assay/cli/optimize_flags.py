"""The flags of `assay optimize`."""

from __future__ import annotations

import argparse

from assay.cli.evaluator_flags import add_evaluator_arguments

OUTAGE_PATIENCE = "--outage-patience"
"""In `run` and `score` this is `--patience`, which a search had taken before."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.run_flags import add_trust

    parser.add_argument("seed", nargs="?", metavar="SEED", help="the text file the search starts from")
    parser.add_argument(
        "--component",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="one of several texts that are searched together, instead of SEED",
    )
    parser.add_argument("--no-seed", action="store_true", help="let the proposer write the first text")
    parser.add_argument("--model", metavar="PROPOSER", help="the model that proposes, such as openai:NAME")
    parser.add_argument("--model-arg", action="append", default=[], metavar="KEY=VALUE", help="passed to the proposer")
    parser.add_argument(
        "--proposer",
        metavar="MODULE:FUNCTION",
        help="your own function that writes the texts: (candidate, feedback, components) -> {component: text}; "
        "instead of --model",
    )
    parser.add_argument("--background", metavar="TEXT", default="", help="what the proposer should know besides")
    parser.add_argument(
        "--reflection-template",
        metavar="FILE",
        help="the proposer's prompt; <curr_param> is where the text goes, <side_info> where its results",
    )
    parser.add_argument(
        "--feedback-chars",
        type=int,
        default=8000,
        metavar="N",
        help="about so much of each example is shown to the proposer (default 8000)",
    )
    parser.add_argument(
        "--remember",
        type=int,
        default=3,
        metavar="N",
        help="rejected rewritings that the proposer is shown (default 3)",
    )
    add_evaluator_arguments(parser, patience_flag=OUTAGE_PATIENCE)
    tasks = parser.add_argument_group("tasks instead of an evaluator")
    tasks.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="TASKS",
        help="task files or folders; the text is put around each prompt ({prompt} says where) and --task-model answers",
    )
    tasks.add_argument(
        "--task-model-arg", action="append", default=[], metavar="KEY=VALUE", help="passed to that model"
    )
    tasks.add_argument("--task-max-tokens", type=int, metavar="N", help="of one answer of that model")
    tasks.add_argument(
        "--prompt-at",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="the text of a task's solver that is the candidate; several are components of one",
    )
    tasks.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="of a declarative task")
    tasks.add_argument("--limit", type=int, metavar="N", help="only the first N samples of each task")
    add_trust(tasks)
    _add_sets_and_search(parser)
    _add_engine(parser)
    _add_output(parser)


def _add_sets_and_search(parser: argparse.ArgumentParser) -> None:
    sets = parser.add_argument_group("examples")
    sets.add_argument("--dataset", metavar="FILE", help="JSON lines to learn from")
    sets.add_argument("--valset", metavar="FILE", help="JSON lines to select on (default: the dataset)")
    sets.add_argument("--testset", metavar="FILE", help="JSON lines nobody has seen, for seed and best at the end")
    sets.add_argument(
        "--split",
        metavar="SHARES",
        help="cut what is not held out: 60/40 for dataset and valset; 50/25/25 with a testset",
    )
    sets.add_argument(
        "--holdout",
        type=float,
        metavar="SHARE",
        help="the part of the data that only the verdict is made on, where there is no testset (default 0.3; 0: none)",
    )
    sets.add_argument(
        "--demonstrations",
        type=int,
        default=0,
        metavar="N",
        help="show N examples of the dataset in the text ({demonstrations} says where), picked by the search too",
    )
    search = parser.add_argument_group("search")
    search.add_argument("--budget", type=int, default=100, metavar="N", help="evaluator calls, about (default 100)")
    search.add_argument("--repeat", type=int, default=1, metavar="N", help="make every evaluation N times: for noise")
    search.add_argument("--max-proposals", type=int, metavar="N", help="at most so many proposals")
    search.add_argument("--target-score", type=float, metavar="X", help="stop there (default: 1 for unit scores)")
    search.add_argument("--patience", type=int, metavar="N", help="stop after N proposals without a better text")
    search.add_argument("--minibatch", type=int, default=3, metavar="N", help="examples per proposal (default 3)")
    search.add_argument("--random-seed", type=int, default=0, metavar="N", help="same seed, same search (default 0)")
    search.add_argument("--temperature", type=float, metavar="T", help="of the proposer")
    search.add_argument("--max-answer-tokens", type=int, metavar="N", help="longest answer of the proposer")
    search.add_argument("--max-cost", type=float, metavar="MONEY", help="stop cleanly when so much money is used")
    search.add_argument("--max-tokens", type=int, metavar="N", help="stop cleanly when so many tokens are used in all")
    search.add_argument("--keep-placeholders", action="store_true", help="refuse texts that lose one of the seed's")
    search.add_argument("--max-chars", type=int, metavar="N", help="refuse longer texts")
    search.add_argument("--dry-run", action="store_true", help="print the budget estimate and leave")


def _add_engine(parser: argparse.ArgumentParser) -> None:
    engine = parser.add_argument_group("engine", "GEPA's own options, by its own names; the first one is the default")
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
        "--merge", type=int, default=0, metavar="N", help="put components of two texts together, at most N times"
    )
    engine.add_argument(
        "--objectives",
        metavar="NAMES",
        help="what the front in the result, and --frontier, look at: score, sub-scores, length, seconds, tokens, cost; "
        "with commas (default: score and all sub-scores)",
    )
    engine.add_argument("--choose-by", default="score", metavar="NAME", help="the objective that decides which is best")


def _add_output(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("what is written")
    out.add_argument("--run-dir", metavar="DIR", help="folder of the search (default: runs/optimize-<hash>)")
    out.add_argument("--fresh", action="store_true", help="put an earlier search aside and start anew")
    out.add_argument(
        "--reuse",
        action="append",
        default=[],
        metavar="RUN",
        help="take evaluations from another search where they fit",
    )
    out.add_argument(
        "--branch", metavar="RUN", help="continue another search in a folder of its own, with its proposals too"
    )
    out.add_argument(
        "--resume-foreign",
        action="store_true",
        help="resume a search that another user or machine began, taking its answers as they are",
    )
    out.add_argument("--events", metavar="FILE", help="append each event to this file as it happens, a JSON line each")
    out.add_argument(
        "--log-to",
        action="append",
        default=[],
        metavar="NAME",
        help="mlflow, or a listener of your own (module:name), hears of the search as it happens; may be repeated",
    )
    out.add_argument("--output", metavar="FILE", help="write the best text here too")
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
