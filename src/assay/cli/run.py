"""`assay run`: flags fill one RunConfig; the rest is `evaluate`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.core.config import RunConfig
    from assay.evaluation import RunResult

STARTER_OUTPUT = "outputs/leaderboard.json"

EPILOG = """\
examples:
  assay run                                          starter tasks, toy model; writes outputs/leaderboard.json
  assay run tasks/ --model openai:gpt-4o-mini        key from the environment variable OPENAI_API_KEY
  assay run tasks/ --model openai:my-model --model-arg base_url=http://localhost:8000/v1
  assay run tasks.jsonl --model my_module:my_model   a function, an object or a class of yours
  assay run tasks/ --model command:'./answer.sh'     a program that reads and writes JSON lines

The same command again goes on where it stopped: finished attempts are never made twice, failed ones are.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "tasks", nargs="*", metavar="TASKS", help="task files, folders, or `starter` (default: starter)"
    )
    what = parser.add_argument_group("what is asked of whom")
    what.add_argument("--model", default="toy", metavar="NAME", help="toy, openai:MODEL, command:…, module:name, …")
    what.add_argument(
        "--model-arg", action="append", default=[], metavar="KEY=VALUE", help="an option of the model (repeatable)"
    )
    what.add_argument("--temperature", type=float, metavar="T")
    what.add_argument("--top-p", type=float, metavar="P")
    what.add_argument("--max-tokens", type=int, metavar="N", help="longest answer")
    what.add_argument("--stop", action="append", metavar="TEXT", help="end the answer at this text (repeatable)")
    what.add_argument("--seed", type=int, metavar="N", help="passed to the model")
    what.add_argument("--repeat", type=int, default=1, metavar="N", help="attempts per sample (default 1)")
    what.add_argument("--limit", type=int, metavar="N", help="only the first N samples of each task")
    what.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="a parameter of a declarative task"
    )
    how = parser.add_argument_group("how it is asked (does not change a score)")
    how.add_argument("--concurrency", type=int, default=32, metavar="N", help="attempts in flight (default 32)")
    how.add_argument(
        "--batch-size", type=int, default=16, metavar="N", help="prompts per call of a list adapter (default 16)"
    )
    how.add_argument("--timeout", type=float, metavar="SECONDS", help="time limit for one answer")
    how.add_argument("--retries", type=int, default=5, metavar="N", help="for failures worth a retry (default 5)")
    how.add_argument("--rpm", type=float, metavar="N", help="at most so many requests a minute")
    how.add_argument("--tpm", type=float, metavar="N", help="at most so many tokens a minute")
    cache = how.add_mutually_exclusive_group()
    cache.add_argument("--cache", action="store_true", default=None, help="keep answers for other runs")
    cache.add_argument("--no-cache", dest="cache", action="store_false", help="ask again what was asked before")
    out = parser.add_argument_group("what is written")
    out.add_argument("--run-dir", metavar="DIR", help="folder of the run (default: runs/<model>-<tasks>-<hash>)")
    out.add_argument("--output", metavar="FILE", help="write the leaderboard here too")
    out.add_argument("--include-per-example", action="store_true", help="predictions and scores in the leaderboard")
    out.add_argument("--level", type=float, default=0.95, metavar="L", help="confidence level (default 0.95)")
    out.add_argument("--fresh", action="store_true", help="put an earlier run aside and start anew")
    out.add_argument("--allow-bad-tasks", action="store_true", help="leave bad records out, and say how many")
    out.add_argument("--json", action="store_true", help="the leaderboard as JSON on stdout")
    out.add_argument("--quiet", action="store_true", help="no progress")
    safety = parser.add_argument_group("safety")
    safety.add_argument("--min-sandbox", metavar="TIER", help="weakest sandbox that may run model-written code")
    safety.add_argument("--trust", action="store_true", help="run Python of task files outside this project")


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from assay.cli.progress import ProgressLine
    from assay.evaluation import Progress, run_evaluation
    from assay.reports.leaderboard import write_leaderboard_file
    from assay.tasks.load import load_tasks

    config = config_of(options)
    sources = options.tasks or ["starter"]
    definitions = load_tasks(sources, allow_bad=config.allow_bad_tasks, config=config.task_config, trust=config.trust)
    result = run_evaluation(
        definitions,
        config,
        folder=Path(options.run_dir) if options.run_dir else None,
        fresh=options.fresh,
        progress=Progress() if options.quiet else ProgressLine(),
        command=["assay", *sys.argv[1:]],
    )
    output = options.output or (STARTER_OUTPUT if not options.tasks else None)
    if output is not None:
        write_leaderboard_file(Path(output), result.leaderboard)
    return tell(result, options, output)


def tell(result: RunResult, options: argparse.Namespace, output: str | None) -> int:
    """The table on stdout, what a reader should know besides on stderr, and the exit code."""
    import msgspec

    from assay.cli.main import DONE, INTERRUPTED, WITH_FAILURES
    from assay.reports.markdown import leaderboard_table, notes

    board = result.leaderboard
    if options.json:
        print(msgspec.json.encode(board).decode())
    else:
        print(leaderboard_table(board))
    for note in notes(board):
        print(note, file=sys.stderr)
    print(f"run: {result.folder}" + (f"   leaderboard: {output}" if output else ""), file=sys.stderr)
    if result.interrupted:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    return DONE if board.complete or _only_refused(board) else WITH_FAILURES


def _only_refused(board: Any) -> bool:
    return all(row.complete or row.refused is not None for row in board.tasks)


def config_of(options: argparse.Namespace) -> RunConfig:
    from assay.core.config import RunConfig
    from assay.core.errors import UsageError

    for name in ("repeat", "concurrency", "batch_size", "limit"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
    if not 0 < options.level < 1:
        raise UsageError(f"--level is a share between 0 and 1, such as 0.95, not {options.level}")
    return RunConfig(
        model=options.model,
        model_options=key_values(options.model_arg, "--model-arg"),
        temperature=options.temperature,
        top_p=options.top_p,
        max_tokens=options.max_tokens,
        stop=tuple(options.stop) if options.stop else None,
        seed=options.seed,
        repeat=options.repeat,
        limit=options.limit,
        task_config=key_values(options.config, "--config"),
        concurrency=options.concurrency,
        batch_size=options.batch_size,
        timeout_seconds=options.timeout,
        retries=options.retries,
        requests_per_minute=options.rpm,
        tokens_per_minute=options.tpm,
        cache=options.cache,
        level=options.level,
        include_per_example=options.include_per_example,
        allow_bad_tasks=options.allow_bad_tasks,
        min_sandbox=options.min_sandbox,
        trust=options.trust,
    )


def key_values(pairs: list[str], flag: str) -> dict[str, Any]:
    """`key=value` pairs; a value that is JSON (a number, true, a list) is that, anything else is text."""
    import msgspec

    from assay.core.errors import UsageError

    found: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator or not key:
            raise UsageError(f"{flag} {pair!r}: expected KEY=VALUE")
        try:
            found[key] = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            found[key] = text
    return found
