"""The flags of `assay run`, and the one RunConfig they fill."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.cli.gate_flags import GATES, add_gate_arguments
from assay.cli.output import add_form_arguments
from assay.cli.view_flags import add_view_arguments, checked_level
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.os_errors import is_file, reason

if TYPE_CHECKING:
    from assay.core.config import RunConfig
    from assay.tasks.lm_eval.source import LmEvalOptions

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
        metavar="NAME",
        help="toy (the default), embedded, openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL, vllm:MODEL@URL, "
        "transformers:FOLDER, command:…, module:name, the key of a model file, …: see `assay list models`; repeatable, "
        "for a common leaderboard",
    )
    what.add_argument(
        "--model-arg", action="append", default=[], metavar="KEY=VALUE", help="an option of the model (repeatable)"
    )
    what.add_argument("--temperature", type=float, metavar="T", help="sampling temperature (default: the model's own)")
    what.add_argument("--top-p", type=float, metavar="P", help="nucleus sampling (default: the model's own)")
    what.add_argument("--max-tokens", type=int, metavar="N", help="longest answer, in tokens")
    what.add_argument("--stop", action="append", metavar="TEXT", help="end the answer at this text (repeatable)")
    what.add_argument(
        "--logprobs", type=int, metavar="N", help="request log-probabilities, with N alternatives per token"
    )
    what.add_argument("--seed", type=int, metavar="N", help="passed to the model")
    add_chat_arguments(what)
    what.add_argument("--repeat", type=int, default=1, metavar="N", help="attempts per sample (default 1)")
    what.add_argument("--limit", type=int, metavar="N", help="only the first N samples of each task")
    what.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="only samples whose id matches, with `*` as wildcard: `--only 'gsm8k-01*'` (repeatable)",
    )
    _add_task_arguments(what)


def add_chat_arguments(what: argparse._ArgumentGroup) -> None:
    what.add_argument(
        "--system", metavar="TEXT|FILE", help="system message: a text, or the name of a file that holds it"
    )
    what.add_argument(
        "--prefill",
        metavar="TEXT",
        help="start of each answer, sent as an assistant message, for servers that continue it",
    )
    what.add_argument(
        "--reasoning-effort",
        choices=("none", "minimal", "low", "medium", "high"),
        help="reasoning effort, translated into what the model's API accepts",
    )
    what.add_argument(
        "--keep-thinking",
        action="store_true",
        help="score `<think>…</think>` with the answer (default: kept separately as reasoning)",
    )


def _add_task_arguments(what: argparse._ArgumentGroup) -> None:
    add_task_parameters(what)
    what.add_argument(
        "--env",
        metavar="FILE",
        help="file with API keys and $NAMEs of task files, besides the environment (default: .env)",
    )
    what.add_argument(
        "--generative", action="store_true", help="generate the letter of a choice where a task asks for likelihoods"
    )


def add_pace_arguments(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("requests (no effect on scores)")
    how.add_argument(
        "--concurrency",
        type=int,
        metavar="N",
        help="attempts in flight (default: 32; for servers, adapted to what they can take)",
    )
    how.add_argument(
        "--batch-size",
        type=int,
        default=16,
        metavar="N",
        help="prompts per batch, for models that take batches (default 16)",
    )
    how.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="time limit for one answer, and for scoring it (default: the model's own, and 600 for scoring)",
    )
    how.add_argument("--retries", type=int, default=5, metavar="N", help="retries of transient failures (default 5)")
    how.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="MINUTES",
        help="how long to wait out a server outage before the run stops (it can be resumed; default 60)",
    )
    add_score_workers(how)
    how.add_argument("--rpm", type=float, metavar="N", help="requests per minute, at most")
    how.add_argument("--tpm", type=float, metavar="N", help="tokens per minute, at most")
    cache = how.add_mutually_exclusive_group()
    cache.add_argument("--cache", action="store_true", default=None, help="cache answers, also for other runs")
    cache.add_argument("--no-cache", dest="cache", action="store_false", help="do not use cached answers")


def add_cost_arguments(parser: argparse.ArgumentParser) -> None:
    cost = parser.add_argument_group("budget (all sessions of the run together)")
    cost.add_argument("--budget-cost", type=float, metavar="MONEY", help="stop cleanly when this much is spent")
    cost.add_argument("--budget-tokens", type=int, metavar="N", help="stop cleanly when this many tokens are used")
    cost.add_argument(
        "--dry-run", action="store_true", help="estimate requests, tokens and cost without calling any model"
    )


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("execution (no effect on scores; see docs/scale.md)")
    where.add_argument("--executor", choices=("local", "ray"), default="local", help="this machine, or a Ray cluster")
    where.add_argument(
        "--ray-address", metavar="HOST:PORT", help="address of the cluster (default: RAY_ADDRESS, else a local one)"
    )
    where.add_argument(
        "--workers", type=int, metavar="N", help="worker processes (default: one per CPU of the cluster)"
    )
    where.add_argument("--worker-cpus", type=float, default=1.0, metavar="C", help="CPUs of each worker (default 1)")
    where.add_argument("--worker-gpus", type=float, default=0.0, metavar="G", help="GPUs of each worker (default 0)")
    where.add_argument(
        "--worker-resource",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a custom Ray resource that each worker needs (repeatable)",
    )
    where.add_argument("--shard-size", type=int, metavar="N", help="samples that a worker gets at once, at most")
    where.add_argument("--shard", metavar="K/N", help="run only the K-th of N parts; `assay merge` combines them")


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    out.add_argument("--run-dir", metavar="DIR", help="folder of the run (default: runs/<model>-<tasks>-<hash>)")
    out.add_argument("--output", metavar="FILE", help="also write the leaderboard to this file")
    out.add_argument("--include-per-example", action="store_true", help="add predictions and scores to the leaderboard")
    out.add_argument(
        "--log-to",
        action="append",
        default=[],
        metavar="NAME",
        help="log the run to mlflow, wandb, otel, an installed listener, or your own `module:name` (repeatable)",
    )
    out.add_argument("--fresh", action="store_true", help="move an earlier run aside and start over")
    out.add_argument(
        "--resume-foreign",
        action="store_true",
        help="resume a run that another user or machine started, trusting its attempts",
    )
    out.add_argument("--allow-bad-tasks", action="store_true", help="skip bad records and report how many")
    out.add_argument("--json", action="store_true", help="the leaderboard as JSON on stdout")
    add_form_arguments(out)
    out.add_argument("--quiet", action="store_true", help="no progress")


def add_safety_arguments(parser: argparse.ArgumentParser) -> None:
    safety = parser.add_argument_group("safety")
    safety.add_argument("--min-sandbox", metavar="TIER", help="weakest sandbox that may run model-written code")
    add_allow_outside(safety)
    add_trust(safety)


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Flags that cannot be kept together."""
    if options.shard is not None and (options.gate or options.junit):
        raise UsageError("a shard has no leaderboard to check: drop --gate and --junit until the shards are merged")


_FLAGS = {
    "timeout_seconds": "--timeout",
    "patience_seconds": "--patience",
    "requests_per_minute": "--rpm",
    "tokens_per_minute": "--tpm",
}
"""Settings whose flags have other names."""


def flag_of(setting: str) -> str:
    return _FLAGS.get(setting) or f"--{setting.replace('_', '-')}"


def config_of(options: argparse.Namespace) -> RunConfig:
    from assay.reports.view import metadata_key
    from assay.runs.plan import make_config

    for name in ("workers", "shard_size"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UsageError(f"{flag_of(name)} must be at least 1, got {value}")
    return make_config(
        called=flag_of,
        model=options.model[0] if options.model else "toy",
        model_options=key_values(options.model_arg, "--model-arg"),
        temperature=options.temperature,
        top_p=options.top_p,
        max_tokens=options.max_tokens,
        stop=tuple(options.stop) if options.stop else None,
        seed=options.seed,
        logprobs=options.logprobs,
        reasoning_effort=options.reasoning_effort,
        system=system_text(options.system),
        prefill=options.prefill,
        keep_thinking=options.keep_thinking,
        repeat=options.repeat,
        limit=options.limit,
        task_config=dict(key_texts(options.config, "--config")),
        concurrency=options.concurrency,
        batch_size=options.batch_size,
        timeout_seconds=options.timeout,
        retries=options.retries,
        score_workers=score_workers_of(options.score_workers),
        patience_seconds=checked_patience(options.patience),
        requests_per_minute=options.rpm,
        tokens_per_minute=options.tpm,
        cache=options.cache,
        budget_cost=options.budget_cost,
        budget_tokens=options.budget_tokens,
        prices=options.prices,
        level=checked_level(options.level),
        by=tuple(metadata_key(text, "--by") for text in options.by),
        group_by=metadata_key(options.group_by, "--group-by") if options.group_by else None,
        include_per_example=options.include_per_example,
        allow_bad_tasks=options.allow_bad_tasks,
        min_sandbox=options.min_sandbox,
        trust=options.trust,
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


def key_values(pairs: list[str], flag: str) -> dict[str, Any]:
    """`key=value` pairs; a value that is JSON (a number, true, a list) is that, anything else is text."""
    found: dict[str, Any] = {}
    for key, text in key_texts(pairs, flag).items():
        try:
            found[key] = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            found[key] = text
    return found


def add_trust(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="allow what files outside this project name: Python, programs, addresses, variables (see `assay trust`)",
    )


def add_task_parameters(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="a parameter of a YAML or inspect: task"
    )
    parser.add_argument(
        "--dataset-key",
        metavar="KEY",
        help="the dataset that a declarative dataset task evaluates, overriding one that the file names",
    )
    parser.add_argument(
        "--model-for",
        action="append",
        default=[],
        metavar="KEY=NAME",
        help="the model behind a key of a declarative task, such as a judge, of a promptfoo provider, or `grader` "
        "(repeatable)",
    )
    parser.add_argument(
        "--registry",
        metavar="FOLDER",
        help="the registry of openai-evals: tasks (default: that of an installed `evals` package)",
    )
    add_lm_eval_arguments(parser)


def add_lm_eval_arguments(parser: argparse._ActionsContainer) -> None:
    """The options of lm_eval tasks, under the names of its own command line where it has them."""
    parser.add_argument(
        "--num-fewshot",
        type=int,
        metavar="N",
        help="few-shot examples per question (frozen spec, YAML tasks with few_shot, lm-eval: tasks)",
    )
    parser.add_argument(
        "--fewshot-as-turns",
        action="store_true",
        help="few-shot examples as turns of a conversation (for lm-eval: tasks with --chat-template)",
    )
    parser.add_argument(
        "--chat-template",
        action="store_true",
        help="send an lm-eval: task as a conversation, rendered by the model's own chat template",
    )
    parser.add_argument(
        "--include-path",
        metavar="FOLDER",
        help="a folder with further lm-eval: tasks (YAML files)",
    )
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="SPLIT=FILE|FOLDER",
        help="documents of an lm-eval: or inspect: task from a .jsonl, .json, .csv or .parquet file instead of the hub "
        "(repeatable), or those of many tasks from a folder with TASK/SPLIT.jsonl",
    )


def add_allow_outside(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--allow-outside", action="store_true", help="let YAML files include files outside the project")


def task_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_task_parameters` and `add_allow_outside`, as `load_tasks` takes them."""
    return {
        "config": dict(key_texts(options.config, "--config")),
        "dataset": options.dataset_key,
        "models": models_by_key(options.model_for),
        "allow_outside": options.allow_outside,
        "lm_eval": lm_eval_options(options),
        "registry": options.registry,
    }


def lm_eval_options(options: argparse.Namespace) -> LmEvalOptions | None:
    """The values of `add_lm_eval_arguments`; None where no flag was given."""
    given = {
        "num_fewshot": options.num_fewshot,
        "fewshot_as_turns": options.fewshot_as_turns,
        "chat_template": options.chat_template,
        "include_path": options.include_path,
        "data": _documents(options.data),
    }
    if not any(value is not None and value is not False and value != {} for value in given.values()):
        return None
    from assay.tasks.lm_eval.source import LmEvalOptions

    if options.num_fewshot is not None and options.num_fewshot < 0:
        raise UsageError(f"--num-fewshot must be 0 or more, got {options.num_fewshot}")
    return LmEvalOptions(**given)


def _documents(given: list[str]) -> dict[str, str]:
    """A file for each split; or, under the empty name, a folder with a folder for each task."""
    if len(given) == 1 and "=" not in given[0]:
        if not Path(given[0]).is_dir():
            raise UsageError(f"--data {given[0]}: neither SPLIT=FILE nor a folder with TASK/SPLIT.jsonl")
        return {"": given[0]}
    return key_texts(given, "--data")


def key_texts(pairs: list[str], flag: str) -> dict[str, str]:
    """`key=value` pairs as they were written: what a value means is for whoever knows the key to say."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{flag} {pair!r}: expected KEY=VALUE")
        found[key] = text
    return found


def add_score_workers(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--score-workers",
        default="auto",
        metavar="N",
        help="processes for CPU-bound scorers: auto (where it pays), a number, 0 for none",
    )


def score_workers_of(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal():
        raise UsageError(f"--score-workers {text}: expected a number of processes, or `auto`")
    return int(text)


def checked_patience(minutes: float) -> float:
    """In seconds."""
    if not 0 <= minutes < float("inf"):
        raise UsageError(f"--patience {minutes:g}: expected a number of minutes, 0 for none")
    return minutes * 60


def models_by_key(pairs: list[str]) -> dict[str, str]:
    found = key_texts(pairs, "--model-for")
    for key, name in found.items():
        if not name:
            raise UsageError(f"--model-for '{key}=': expected KEY=MODEL")
    return found


def resources_of(pairs: list[str]) -> dict[str, float]:
    """`accelerator=1` and the like, by the names that the nodes of the cluster gave."""
    found: dict[str, float] = {}
    for name, value in key_values(pairs, "--worker-resource").items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise UsageError(f"--worker-resource {name}={value}: expected NAME=AMOUNT, an amount above zero")
        found[name] = float(value)
    return found
