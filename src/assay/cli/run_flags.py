"""The flags of `assay run`, and the one RunConfig they fill. What is a setting has its flag from its field."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.flags import given_flags, option, repeated, switch
from assay.cli.gate_flags import GATES, add_gate_arguments
from assay.cli.output import add_form_arguments
from assay.cli.setting_flags import (
    add_purpose,
    add_settings,
    config_texts,
    flag_of_run,
    given_settings,
    json_values,
    key_texts,
)
from assay.cli.source_flags import options_of_packages
from assay.cli.view_flags import reporting_settings
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.run_settings import RunSettings
from assay.setting import Purpose
from assay.tasks.task_settings import TaskSettings
from assay.text.os_errors import is_file, reason

if TYPE_CHECKING:
    from assay.run_config import RunConfig
    from assay.runs.reuse import ReuseRules

EPILOG = """\
examples:
  assay run                                          starter tasks, toy model; writes outputs/leaderboard.json
  assay run tasks/ --model openai:gpt-4o-mini        key from the environment variable OPENAI_API_KEY
  assay run tasks/ --model openai:my-model --model-arg base_url=http://localhost:8000/v1
  assay run tasks.jsonl --model my_module:my_model   your own function, object or class
  assay run tasks/ --model command:'./answer.sh'     a program that reads and writes JSON lines
  assay run lm-eval:arc_easy --model embedded        a task, group or tag of an installed lm-evaluation-harness
  assay run inspect:my_tasks.py@quiz --model toy     an Inspect task, from a file or an installed package

Rerun the same command to resume: finished attempts are kept, failed ones are retried.

exit codes:
  0    every attempt ran and none failed, and every task has at least one scored attempt
  1    a gate was not met, or cannot tell (unless --gate-cannot-tell pass)
  2    bad input
  3    finished with failures: attempts failed or remain, or a task could not run here or has no score
  130  interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{EPILOG}\n{GATES}"
    parser.add_argument(
        "tasks",
        nargs="*",
        metavar="TASKS",
        help="task files, folders, `lm-eval:NAME`, `inspect:PACKAGE/TASK`, or `starter` (default: starter)",
    )
    _add_model_and_tasks(parser)
    asking = add_purpose(parser, Purpose.RESULT, RunSettings)
    repeated(
        asking, "--only ID", "only samples whose id matches, with `*` as wildcard: `--only 'gsm8k-01*'` (repeatable)"
    )
    add_purpose(parser, Purpose.EXECUTION, RunSettings)
    spending = add_purpose(parser, Purpose.SPENDING, RunSettings)
    switch(spending, "--dry-run", "estimate requests, tokens and cost without calling any model")
    _add_place_arguments(parser)
    _add_output_arguments(parser)
    add_gate_arguments(parser, own=True)
    add_purpose(parser, Purpose.SHOWN, RunSettings)
    _add_permissions(parser)


def _add_model_and_tasks(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group(Purpose.CHOICE.value)
    what.add_argument(
        "--model",
        action="append",
        metavar="[LABEL=]NAME",
        help="toy (the default), embedded, openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL, vllm:MODEL@URL, "
        "transformers:FOLDER, command:…, module:name, the key of a model file, …: see `assay list models`; repeatable, "
        "for a common leaderboard; tables show the LABEL",
    )
    add_settings(what, RunSettings, "model_options")
    add_task_parameters(what)
    option(
        what,
        "--env FILE",
        "file with API keys and $NAMEs of task files, in addition to the environment (default: .env)",
    )
    switch(what, "--generative", "generate the letter of a choice where a task asks for likelihoods")
    add_table_arguments(parser)


RAY = "--executor ray"
EXECUTOR = "--executor"


def _add_place_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("execution (no effect on scores; see docs/scale.md)")
    option(
        where,
        "--executor NAME",
        "local (the default: this process), ray (a Ray cluster), an installed executor, or your own `module:name`",
        _executor,
    )
    option(
        where, "--ray-address HOST:PORT", "address of the cluster (default: RAY_ADDRESS, else a local one)", needs=RAY
    )
    option(where, "--workers N", "worker processes (default: one per CPU of the cluster)", int, needs=EXECUTOR)
    option(where, "--worker-cpus C", "CPUs of each worker (default 1)", float, 1.0, needs=EXECUTOR)
    option(where, "--worker-gpus G", "GPUs of each worker (default 0)", float, 0.0, needs=EXECUTOR)
    repeated(where, "--worker-resource NAME=N", "a custom resource that each worker needs (repeatable)", needs=EXECUTOR)
    option(where, "--shard-size N", "samples that a worker gets at once, at most", int, needs=EXECUTOR)
    option(where, "--shard K/N", "run only the K-th of N parts; `assay merge` combines them")


def _executor(name: str) -> str | None:
    """None for this process, which has no workers."""
    return None if name == "local" else name


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    option(out, "--run-dir DIR", "folder of the run (default: runs/<model>-<tasks>-<hash>)")
    option(out, "--output FILE", "also write the leaderboard to this file")
    option(out, "--save FILE", "write what the flags say of a table as a YAML task, before it is run")
    repeated(
        out,
        "--log-to NAME",
        "log the run to mlflow, wandb, otel, an installed listener, or your own `module:name` (repeatable)",
    )
    option(
        out,
        "--changed REF",
        "run only what differs from the result made at this git ref, or in this run folder, and take the rest from it; "
        "`assay list --changed REF` shows the plan",
    )
    switch(out, "--fresh", "move an earlier run aside and start over, without its answers")
    add_form_arguments(out, json="the leaderboard as JSON on stdout", is_summary=True)
    switch(out, "--quiet", "no progress")


def _add_permissions(parser: argparse.ArgumentParser) -> None:
    allowed = add_purpose(parser, Purpose.PERMISSION, RunSettings, TaskSettings)
    switch(allowed, "--resume-foreign", "resume a run that another user or machine started, trusting its attempts")
    switch(
        allowed,
        "--accept-model-change",
        "go on though the server or the files have other weights than before, or do not name them",
    )
    switch(allowed, "--locked", "refuse datasets that the project's assay.lock lacks (the rule where CI is set)")
    switch(allowed, "--accept-versions", "resume though other versions of assay or its packages scored so far")


def add_task_parameters(parser: argparse._ActionsContainer) -> None:
    """How tasks are read, for every command that takes some."""
    add_settings(parser, RunSettings, "task_config")
    add_settings(parser, TaskSettings, "tagged", "dataset", "models", "judge", "num_fewshot", "fewshot_as_turns")
    switch(
        parser, "--chat-template", "send an lm-eval: task as a conversation, rendered by the model's own chat template"
    )
    option(parser, "--include-path FOLDER", "a folder with further lm-eval: tasks (YAML files)")
    add_project(parser)
    option(
        parser,
        "--registry FOLDER",
        "the registry of openai-evals: tasks (default: that of an installed `evals` package)",
    )
    add_settings(parser, TaskSettings, "data")
    if isinstance(parser, argparse.ArgumentParser):
        add_table_arguments(parser)


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """What is said of a table; the options of the source `table`."""
    what = parser.add_argument_group("tables (.csv, .tsv, .xlsx, .parquet, a list in .json, .jsonl of any keys)")
    repeated(
        what,
        "--prompt FILE",
        "template of the prompt, with columns as `{{ question }}`; repeat to compare prompts",
    )
    option(what, "--target COLUMN", "the right answers")
    option(what, "--answers COLUMN", "recorded answers to score; no model is called")
    option(what, "--contexts COLUMN", "retrieved passages, for scorers that read them")
    option(what, "--labels COLUMN", "what people said of the answers, for a scorer's agreement with them")
    repeated(
        what,
        "--scorer NAME",
        "what compares: contains, f1, rouge_l, …, or your own `module:name` (default: equal but for case and spaces); "
        "repeatable",
    )
    option(what, "--separator CHAR", "between the cells of a .csv file, where two would do")
    option(what, "--encoding NAME", "of a .csv file that is not UTF-8, such as cp1251")
    option(what, "--sheet NAME", "of an .xlsx file with several")


TABLE = ("prompt", "target", "answers", "contexts", "labels", "scorer", "separator", "encoding", "sheet")


def add_project(parser: argparse._ActionsContainer) -> None:
    option(parser, "--project PATH", "the project file (default: assay.yaml of this project; also ASSAY_PROJECT)")


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Flags that cannot be kept together."""
    given = given_flags(options)
    for name in _OF_A_RESUME:
        if options.fresh and name in given:
            raise UsageError(f"{flag_of_run(name)} has no effect with --fresh, which resumes nothing")
    for name in _OF_A_RESULT:
        if options.dry_run and name in given:
            raise UsageError(f"{flag_of_run(name)} has no effect with --dry-run, which only estimates; leave it out")
    for name in _NOT_WITH_CHANGED if options.changed is not None else ():
        if name in given and getattr(options, name):
            instead = ": `assay list --changed` prints the plan" if name == "dry_run" else ""
            raise UsageError(
                f"--changed takes whole tasks from an earlier result; leave out {flag_of_run(name)}{instead}"
            )
    if options.shard is None:
        return
    for name in _OF_A_LEADERBOARD:
        if name in given:
            raise UsageError(f"{flag_of_run(name)}: a shard has no leaderboard; drop it until the shards are merged")
    for name in _OF_A_WHOLE_RUN:
        if name in given and getattr(options, name):
            raise UsageError(f"{flag_of_run(name)} cannot be combined with --shard: a shard is a part of a run")


_NOT_WITH_CHANGED = ("limit", "only", "fresh", "shard", "executor", "dry_run")
_OF_A_RESUME = ("resume_foreign", "accept_model_change", "accept_versions")
_OF_A_RESULT = ("output", "junit", "log_to")
_OF_A_LEADERBOARD = ("gate", "gate_cannot_tell", "gate_left_out", "baseline", "junit", "output")
_OF_A_WHOLE_RUN = ("fresh", "executor", "dry_run")


def config_of(options: argparse.Namespace) -> RunConfig:
    """The settings that were given, and what some flags need done to them first."""
    from assay.runs.plan import make_config

    for name in ("workers", "shard_size"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UsageError(f"{flag_of_run(name)} must be at least 1, got {value}")
    settings = given_settings(options, RunSettings) | reporting_settings(options)
    settings |= {
        "model": options.model[0] if options.model else "toy",
        "system": system_text(options.system),
        "task_config": config_texts(options.task_config or []),
    }
    return make_config(called=flag_of_run, **settings)


def reuse_rules(options: argparse.Namespace) -> ReuseRules | None:
    """What `--changed` may take, with what the project says of it."""
    if options.changed is None:
        return None
    from assay.cli.project import project_root
    from assay.formats.project.discovery import current_project
    from assay.runs.reuse import ReuseRules

    project = current_project()
    reuse = project.entry.reuse if project is not None else None
    return ReuseRules(
        ref=options.changed,
        runs=project_root() / "runs",
        max_age_seconds=reuse.max_age_seconds if reuse is not None else None,
        sampled=reuse is not None and reuse.sampled,
        foreign=bool(options.resume_foreign),
    )


def system_text(given: str | None) -> str | None:
    """The text itself, or that of the file with this name; a file that is not there is no text."""
    if given is None or "\n" in given:
        return given
    path = Path(given)
    is_one_word = not any(letter.isspace() for letter in given)
    if not is_file(path) and not (is_one_word and path.suffix in (".txt", ".md")):
        return given
    try:
        return read_regular(path).decode()
    except OSError as error:
        raise UsageError(f"--system {given}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--system {given}: is not UTF-8 ({error})") from error


def task_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_task_parameters` and of --allow-outside, as `load_tasks` takes them."""
    return {"config": config_texts(options.task_config or []), **reading_of(options)}


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """The same without the parameters of tasks, which a run has among its settings."""
    lm_eval = {"chat_template": options.chat_template or None, "include_path": options.include_path}
    of_table = {name: vars(options)[name] or None for name in TABLE}
    own = {"lm-eval": lm_eval, "openai-evals": {"registry": options.registry}, "table": of_table}
    own |= options_of_packages(options)
    given = {name: {key: value for key, value in of.items() if value is not None} for name, of in own.items()}
    reading = given_settings(options, TaskSettings) | {
        "data": _documents(options.data or []),
        "source_options": {name: of for name, of in given.items() if of},
    }
    for key, name in reading.get("models", {}).items():
        if not name:
            raise UsageError(f"--model-for '{key}=': expected KEY=MODEL")
    return reading


def _documents(given: list[str]) -> dict[str, str]:
    """A file for each split; or, under the empty name, a folder with a folder for each task."""
    if len(given) == 1 and "=" not in given[0]:
        if not Path(given[0]).is_dir():
            raise UsageError(f"--data {given[0]}: neither SPLIT=FILE nor a folder with TASK/SPLIT.jsonl")
        return {"": given[0]}
    return key_texts(given, "--data")


def resources_of(pairs: list[str]) -> dict[str, float]:
    """`accelerator=1` and the like, by the names that the nodes of the cluster gave."""
    resources: dict[str, float] = {}
    for name, value in json_values(pairs, "--worker-resource").items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise UsageError(f"--worker-resource {name}={value}: expected NAME=AMOUNT, an amount above zero")
        resources[name] = float(value)
    return resources
