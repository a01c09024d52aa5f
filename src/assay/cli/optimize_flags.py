"""The flags of `assay optimize`."""

from __future__ import annotations

import argparse

from assay.cli.evaluator_flags import add_evaluator_arguments
from assay.cli.flags import option, repeated, switch
from assay.cli.setting_flags import add_purpose, add_settings
from assay.optimize.search_settings import SearchOptions, SearchStrategy
from assay.run_settings import RunSettings
from assay.setting import Purpose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seed", nargs="?", metavar="SEED", help="the text file the search starts from")
    repeated(parser, "--component NAME=FILE", "one of several texts that are searched together, instead of SEED")
    switch(parser, "--no-seed", "let the proposer write the first text")
    _add_proposer(parser)
    add_evaluator_arguments(parser, judges="--judge-model or --task", servers=None)
    _add_tasks(parser)
    _add_sets_and_search(parser)
    _add_output(parser)
    parser.epilog = """\
examples:
  assay optimize prompt.txt --task tasks/ --task-model openai:SMALL --model openai:LARGE  a prompt for tasks
  assay optimize reply.txt --evaluator-command "python3 score.py" --model openai:NAME  any text a program scores
  assay init --optimize demo   a project with a search that runs offline
"""


def _add_proposer(parser: argparse.ArgumentParser) -> None:
    proposer = add_purpose(parser, Purpose.PROPOSER, SearchOptions)
    option(proposer, "--model MODEL", "the model that proposes, such as openai:NAME")
    repeated(proposer, "--model-arg KEY=VALUE", "an option of the proposer")
    option(
        proposer,
        "--proposer MODULE:FUNCTION",
        "your own function that writes the texts: (candidate, feedback, components) -> {component: text}; "
        "instead of --model",
    )
    option(
        proposer,
        "--reflection-template FILE",
        "the proposer's prompt; <curr_param> stands for the text, <side_info> for its results",
    )
    option(proposer, "--temperature T", "temperature of the proposer", float)
    option(proposer, "--max-tokens N", "longest answer of the proposer", int)


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    tasks = parser.add_argument_group("tasks instead of an evaluator")
    repeated(
        tasks,
        "--task TASKS",
        "task files or folders; the text wraps each prompt (at {prompt}) and --task-model answers",
    )
    repeated(tasks, "--task-model-arg KEY=VALUE", "an option of that model", needs="--task")
    option(tasks, "--task-max-tokens N", "longest answer of that model", int, needs="--task")
    repeated(
        tasks,
        "--prompt-at [NAME=]PATH",
        "the text of a task's solver that is the candidate; several are components of one",
        needs="--task",
    )
    add_settings(tasks, RunSettings, "task_config", "limit", "trust", needs="--task")


def _add_sets_and_search(parser: argparse.ArgumentParser) -> None:
    sets = add_purpose(parser, Purpose.DATA, SearchOptions)
    option(sets, "--dataset FILE", "JSON lines to learn from")
    option(sets, "--valset FILE", "JSON lines to select on (default: the dataset)")
    option(sets, "--testset FILE", "unseen JSON lines, for seed and best at the end")
    search = add_purpose(parser, Purpose.SEARCH, SearchOptions)
    switch(search, "--keep-placeholders", "refuse texts without the seed's placeholders")
    option(search, "--max-chars N", "refuse longer texts", int)
    switch(search, "--dry-run", "estimate calls and cost; call no model")
    add_purpose(parser, Purpose.SPENDING, SearchOptions)
    engine = add_purpose(parser, Purpose.ENGINE, SearchStrategy)
    engine.description = "GEPA's own options and names; the first one is the default"


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
