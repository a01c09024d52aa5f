"""The flags of `assay run`, and the one RunConfig they fill."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.cli.flags import choice, option, repeated, switch
from assay.cli.gate_flags import GATES, add_gate_arguments
from assay.cli.output import add_form_arguments
from assay.cli.source_flags import options_of_packages
from assay.cli.view_flags import add_view_arguments, checked_level
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.seams import JUDGE_RETRIES
from assay.text.os_errors import is_file, reason

if TYPE_CHECKING:
    from assay.core.config import RunConfig

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
    add_asking_arguments(parser)
    add_pace_arguments(parser)
    add_cost_arguments(parser)
    add_place_arguments(parser)
    add_output_arguments(parser)
    add_gate_arguments(parser)
    add_view_arguments(parser)
    add_safety_arguments(parser)


def add_asking_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("model and sampling")
    what.add_argument(
        "--model",
        action="append",
        metavar="[LABEL=]NAME",
        help="toy (the default), embedded, openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL, vllm:MODEL@URL, "
        "transformers:FOLDER, command:…, module:name, the key of a model file, …: see `assay list models`; repeatable, "
        "for a common leaderboard; tables show the LABEL",
    )
    repeated(what, "--model-arg KEY=VALUE", "an option of every evaluated model (repeatable)")
    option(what, "--temperature T", "sampling temperature (default: the model's own)", float)
    option(what, "--top-p P", "nucleus sampling (default: the model's own)", float)
    option(what, "--max-tokens N", "longest answer, in tokens", int)
    what.add_argument("--stop", action="append", metavar="TEXT", help="end the answer at this text (repeatable)")
    option(what, "--logprobs N", "request log-probabilities, with N alternatives per token", int)
    option(what, "--seed N", "passed to the model", int)
    add_chat_arguments(what)
    what.add_argument(
        "--too-long",
        choices=("fail", "cut-left"),
        help="prompts beyond the context of a local model: a failure, or cut from the left (default: cut-left for "
        "lm-eval: tasks, fail for others)",
    )
    switch(what, "--canary", "first ask ten fixed prompts, whose answers `diff` compares: does the same model answer?")
    option(what, "--repeat N", "attempts per sample (default 1)", int, 1)
    option(what, "--limit N", "only the first N samples of each task", int)
    repeated(
        what, "--only ID", "only samples whose id matches, with `*` as wildcard: `--only 'gsm8k-01*'` (repeatable)"
    )
    _add_task_arguments(what)


def add_chat_arguments(what: argparse._ArgumentGroup) -> None:
    option(what, "--system TEXT|FILE", "system message: a text, or a file that contains it")
    option(what, "--prefill TEXT", "start of each answer, sent as an assistant message, for servers that continue it")
    what.add_argument(
        "--reasoning-effort",
        choices=("none", "minimal", "low", "medium", "high"),
        help="reasoning effort, translated into what the model's API accepts",
    )
    switch(what, "--keep-thinking", "score `<think>…</think>` with the answer (default: kept separately as reasoning)")


def _add_task_arguments(what: argparse._ArgumentGroup) -> None:
    add_task_parameters(what)
    option(
        what,
        "--env FILE",
        "file with API keys and $NAMEs of task files, in addition to the environment (default: .env)",
    )
    switch(what, "--generative", "generate the letter of a choice where a task asks for likelihoods")


def add_pace_arguments(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("requests (no effect on scores)")
    option(how, "--concurrency N", "attempts in flight (default: 32; for servers, adapted to what they can take)", int)
    option(how, "--batch-size N", "prompts per batch, for models that take batches (default 16)", int, 16)
    option(
        how,
        "--timeout SECONDS",
        "time limit for one answer, and for scoring it (default: the model's own, and 600 for scoring)",
        float,
    )
    option(how, "--retries N", "retries of transient failures (default 5)", int, 5)
    add_judge_retries(how, JUDGE_RETRIES)
    option(
        how,
        "--patience MINUTES",
        "how long to wait out a server outage before the run stops (it can be resumed; default 60)",
        float,
        60.0,
    )
    add_score_workers(how)
    option(how, "--rpm N", "requests per minute, at most", float)
    option(how, "--tpm N", "tokens per minute, at most", float)
    cache = how.add_mutually_exclusive_group()
    cache.add_argument(
        "--cache", action="store_true", default=None, help="reuse answers of earlier runs (off by default)"
    )
    cache.add_argument("--no-cache", dest="cache", action="store_false", help="do not, whatever the project says")


def add_cost_arguments(parser: argparse.ArgumentParser) -> None:
    cost = parser.add_argument_group("budget (all sessions of the run together)")
    option(cost, "--budget-cost MONEY", "stop cleanly when this much is spent", float)
    option(cost, "--budget-tokens N", "stop cleanly when this many tokens are used", int)
    switch(cost, "--dry-run", "estimate requests, tokens and cost without calling any model")


RAY = "--executor ray"


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("execution (no effect on scores; see docs/scale.md)")
    choice(where, "--executor", ("local", "ray"), "this machine, or a Ray cluster")
    option(
        where, "--ray-address HOST:PORT", "address of the cluster (default: RAY_ADDRESS, else a local one)", needs=RAY
    )
    option(where, "--workers N", "worker processes (default: one per CPU of the cluster)", int, needs=RAY)
    option(where, "--worker-cpus C", "CPUs of each worker (default 1)", float, 1.0, needs=RAY)
    option(where, "--worker-gpus G", "GPUs of each worker (default 0)", float, 0.0, needs=RAY)
    repeated(where, "--worker-resource NAME=N", "a custom Ray resource that each worker needs (repeatable)", needs=RAY)
    option(where, "--shard-size N", "samples that a worker gets at once, at most", int, needs=RAY)
    option(where, "--shard K/N", "run only the K-th of N parts; `assay merge` combines them")


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    option(out, "--run-dir DIR", "folder of the run (default: runs/<model>-<tasks>-<hash>)")
    option(out, "--output FILE", "also write the leaderboard to this file")
    switch(out, "--include-per-example", "add predictions and scores to the leaderboard")
    repeated(
        out,
        "--log-to NAME",
        "log the run to mlflow, wandb, otel, an installed listener, or your own `module:name` (repeatable)",
    )
    switch(out, "--fresh", "move an earlier run aside and start over, without its answers")
    switch(out, "--resume-foreign", "resume a run that another user or machine started, trusting its attempts")
    switch(
        out,
        "--accept-model-change",
        "go on though the server or the files have other weights than before, or do not name them",
    )
    switch(out, "--accept-versions", "resume though other versions of assay or its packages scored so far")
    switch(out, "--allow-bad-tasks", "skip bad records and report how many")
    switch(out, "--allow-broken-tests", "samples whose tests cannot run or prove nothing are failures, not a refusal")
    add_form_arguments(out, json="the leaderboard as JSON on stdout")
    switch(out, "--quiet", "no progress")


def add_safety_arguments(parser: argparse.ArgumentParser) -> None:
    safety = parser.add_argument_group("safety")
    option(
        safety,
        "--min-sandbox TIER",
        "weakest sandbox that may run model-written code: A (strongest) to U (see docs/sandbox.md; default B)",
    )
    add_allow_outside(safety)
    add_trust(safety)


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Flags that cannot be kept together."""
    if options.shard is not None and (options.gate or options.junit):
        raise UsageError("a shard has no leaderboard to check: drop --gate and --junit until the shards are merged")


def flag_of(setting: str) -> str:
    """What the command line calls a setting of a run."""
    from assay.core.config import RunConfig
    from assay.setting import flag_of as flag_of_field

    return flag_of_field(RunConfig, setting)


def config_of(options: argparse.Namespace) -> RunConfig:
    """A flag that is called like a setting is that setting; what the others become stands here."""
    from assay.core.config import RunConfig
    from assay.results.report_settings import metadata_key
    from assay.runs.plan import make_config

    for name in ("workers", "shard_size"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UsageError(f"{flag_of(name)} must be at least 1, got {value}")
    settings = {name: value for name, value in vars(options).items() if name in RunConfig.__struct_fields__}
    settings |= {
        "model": options.model[0] if options.model else "toy",
        "model_options": key_values(options.model_arg, "--model-arg"),
        "stop": tuple(options.stop) if options.stop else None,
        "system": system_text(options.system),
        "only": None,  # becomes known with the samples
        "task_config": key_texts(options.config, "--config"),
        "timeout_seconds": options.timeout,
        "score_workers": score_workers_of(options.score_workers),
        "patience_seconds": checked_patience(options.patience),
        "requests_per_minute": options.rpm,
        "tokens_per_minute": options.tpm,
        "level": checked_level(options.level),
        "by": tuple(metadata_key(text, "--by") for text in options.by),
        "group_by": metadata_key(options.group_by, "--group-by") if options.group_by else None,
    }
    return make_config(called=flag_of, **settings)


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


def key_values(pairs: list[str], flag: str) -> dict[str, Any]:
    """`key=value` pairs; a value that is JSON (a number, true, a list) is that, anything else is text."""
    values: dict[str, Any] = {}
    for key, text in key_texts(pairs, flag).items():
        try:
            values[key] = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            values[key] = text
    return values


def add_trust(parser: argparse._ActionsContainer) -> None:
    switch(
        parser,
        "--trust",
        "allow what files outside this project name: Python, programs, addresses, variables (see `assay trust`)",
    )


def add_task_parameters(parser: argparse._ActionsContainer) -> None:
    repeated(parser, "--config KEY=VALUE", "a parameter of a YAML or inspect: task")
    option(
        parser,
        "--dataset-key KEY",
        "the dataset that a declarative dataset task evaluates, overriding one that the file names",
    )
    repeated(
        parser,
        "--model-for KEY=NAME",
        "the model behind a key of a declarative task, such as a judge, of a promptfoo provider, or `grader` "
        "(repeatable)",
    )
    option(
        parser,
        "--registry FOLDER",
        "the registry of openai-evals: tasks (default: that of an installed `evals` package)",
    )
    add_lm_eval_arguments(parser)


def add_lm_eval_arguments(parser: argparse._ActionsContainer) -> None:
    """The options of lm_eval tasks, under the names of its own command line where it has them."""
    option(
        parser,
        "--num-fewshot N",
        "few-shot examples per question (frozen spec, YAML tasks with few_shot, lm-eval: tasks)",
        int,
    )
    switch(
        parser,
        "--fewshot-as-turns",
        "few-shot examples as turns of a conversation (for lm-eval: tasks with --chat-template)",
    )
    switch(
        parser, "--chat-template", "send an lm-eval: task as a conversation, rendered by the model's own chat template"
    )
    option(parser, "--include-path FOLDER", "a folder with further lm-eval: tasks (YAML files)")
    repeated(
        parser,
        "--data SPLIT=FILE|FOLDER",
        "documents of an lm-eval:, inspect: or openai-evals: task from a .jsonl, .json, .csv or .parquet file instead "
        "of the hub (repeatable), or those of many tasks from a folder with TASK/SPLIT.jsonl",
    )


def add_allow_outside(parser: argparse._ActionsContainer) -> None:
    switch(parser, "--allow-outside", "let YAML files include files outside the project")


def task_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_task_parameters` and `add_allow_outside`, as `load_tasks` takes them."""
    return {
        "config": key_texts(options.config, "--config"),
        "dataset": options.dataset_key,
        "models": models_by_key(options.model_for),
        "allow_outside": options.allow_outside,
        **source_parameters(options),
    }


def source_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_lm_eval_arguments` and of the flags of sources, as `load_tasks` takes them."""
    lm_eval = {"chat_template": options.chat_template or None, "include_path": options.include_path}
    own = {"lm-eval": lm_eval, "openai-evals": {"registry": options.registry}, **options_of_packages(options)}
    given = {name: {key: value for key, value in of.items() if value is not None} for name, of in own.items()}
    return {
        "num_fewshot": options.num_fewshot,
        "fewshot_as_turns": options.fewshot_as_turns,
        "data": _documents(options.data),
        "source_options": {name: of for name, of in given.items() if of},
    }


def _documents(given: list[str]) -> dict[str, str]:
    """A file for each split; or, under the empty name, a folder with a folder for each task."""
    if len(given) == 1 and "=" not in given[0]:
        if not Path(given[0]).is_dir():
            raise UsageError(f"--data {given[0]}: neither SPLIT=FILE nor a folder with TASK/SPLIT.jsonl")
        return {"": given[0]}
    return key_texts(given, "--data")


def key_texts(pairs: list[str], flag: str) -> dict[str, str]:
    """`key=value` pairs as text; the owner of the key interprets the value."""
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{flag} {pair!r}: expected KEY=VALUE")
        texts[key] = text
    return texts


def add_score_workers(parser: argparse._ActionsContainer) -> None:
    option(
        parser,
        "--score-workers N",
        "processes for CPU-bound scorers: auto (where it pays), a number, 0 for none",
        default="auto",
    )


def score_workers_of(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal():
        raise UsageError(f"--score-workers {text}: expected a number of processes, or `auto`")
    return int(text)


def add_judge_retries(how: argparse._ArgumentGroup, default: int | None = None) -> None:
    words = f"how often a judge is called again when its verdict is unusable (default {JUDGE_RETRIES})"
    option(how, "--judge-retries N", words, int, default)


def judge_retries_of(options: argparse.Namespace) -> int:
    retries: int = JUDGE_RETRIES if options.judge_retries is None else options.judge_retries
    if retries < 0:
        raise UsageError(f"--judge-retries must be 0 or more, got {retries}")
    return retries


def checked_patience(minutes: float) -> float:
    """In seconds."""
    if not 0 <= minutes < float("inf"):
        raise UsageError(f"--patience {minutes:g}: expected a number of minutes, 0 for none")
    return minutes * 60


def models_by_key(pairs: list[str]) -> dict[str, str]:
    models = key_texts(pairs, "--model-for")
    for key, name in models.items():
        if not name:
            raise UsageError(f"--model-for '{key}=': expected KEY=MODEL")
    return models


def resources_of(pairs: list[str]) -> dict[str, float]:
    """`accelerator=1` and the like, by the names that the nodes of the cluster gave."""
    resources: dict[str, float] = {}
    for name, value in key_values(pairs, "--worker-resource").items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise UsageError(f"--worker-resource {name}={value}: expected NAME=AMOUNT, an amount above zero")
        resources[name] = float(value)
    return resources
