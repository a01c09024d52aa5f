"""`assay optimize`: search for a better text, and say honestly what came of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from assay.cli.evaluator_flags import add_evaluator_arguments
from assay.cli.streams import clear_line

if TYPE_CHECKING:
    from assay.core.types import Request
    from assay.evaluators import Evaluator
    from assay.optimize.results import Result
    from assay.optimize.run import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.run_flags import add_trust

    parser.add_argument("seed", nargs="?", metavar="SEED", help="the text file the search starts from")
    parser.add_argument("--no-seed", action="store_true", help="let the proposer write the first text")
    parser.add_argument(
        "--model", required=True, metavar="PROPOSER", help="the model that proposes, such as openai:NAME"
    )
    parser.add_argument("--model-arg", action="append", default=[], metavar="KEY=VALUE", help="passed to the proposer")
    parser.add_argument("--background", metavar="TEXT", default="", help="what the proposer should know besides")
    add_evaluator_arguments(parser)
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
    tasks.add_argument("--prompt-at", metavar="PATH", help="the text of a task's solver that is the candidate")
    tasks.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="of a declarative task")
    tasks.add_argument("--limit", type=int, metavar="N", help="only the first N samples of each task")
    add_trust(tasks)
    sets = parser.add_argument_group("examples")
    sets.add_argument("--dataset", metavar="FILE", help="JSON lines to learn from")
    sets.add_argument("--valset", metavar="FILE", help="JSON lines to select on (default: the dataset)")
    sets.add_argument("--testset", metavar="FILE", help="JSON lines nobody has seen, for seed and best at the end")
    sets.add_argument(
        "--split", metavar="SHARES", help="cut the dataset or the tasks: 60/40, or 50/25/25 with a testset"
    )
    search = parser.add_argument_group("search")
    search.add_argument("--budget", type=int, default=100, metavar="N", help="evaluator calls, about (default 100)")
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
    out = parser.add_argument_group("what is written")
    out.add_argument("--run-dir", metavar="DIR", help="folder of the search (default: runs/optimize-<hash>)")
    out.add_argument("--fresh", action="store_true", help="put an earlier search aside and start anew")
    out.add_argument(
        "--resume-foreign",
        action="store_true",
        help="resume a search that another user or machine began, taking its answers as they are",
    )
    out.add_argument("--output", metavar="FILE", help="write the best text here too")
    out.add_argument("--diff", action="store_true", help="print what changed between seed and best")
    out.add_argument("--json", action="store_true", help="the whole result as JSON on stdout")
    out.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    from assay.optimize.run import estimated, optimize

    output = _checked_output(options.output)
    evaluator, settings = _settings(options)
    if options.dry_run:
        planned = estimated(settings)
        print(planned.in_words())
        if warning := planned.warning():
            print(f"warning: {warning}", file=sys.stderr)
        return 0
    folder = Path(options.run_dir) if options.run_dir else None
    result = optimize(
        settings,
        evaluator,
        _proposer(options),
        folder=folder,
        fresh=options.fresh,
        resume_foreign=options.resume_foreign,
        probe=not options.no_preflight,
        progress=None if options.quiet else ProgressLine(sys.stderr),
    )
    if output is not None:
        from assay.core.run_file import write_whole

        write_whole(output, result.best.encode())
    return tell(result, options)


def tell(result: Result, options: argparse.Namespace) -> int:
    """The result on stdout, where the files are on stderr, and the exit code."""
    import msgspec

    from assay.cli.main import DONE, INTERRUPTED, WITH_FAILURES
    from assay.optimize.results import in_words, unified

    diff = "\n".join(unified(result.seed, result.best, "seed", "best")) or "no difference: the best text is the seed"
    if options.json:
        print(msgspec.json.encode(result).decode())
        if options.diff:
            print(diff, file=sys.stderr)
    else:
        print(in_words(result))
        if options.diff:
            print(diff)
    folder = options.run_dir or f"runs/optimize-{result.fingerprint[:8]}"
    print(f"run: {folder}   page: {folder}/page.html", file=sys.stderr)
    if result.problem is not None:
        print(f"assay optimize: {result.problem}", file=sys.stderr)
    if result.stop_reason == "interrupted":
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    return DONE if result.problem is None and result.stop_reason != "spent" else WITH_FAILURES


class ProgressLine:
    """Calls, best and last, on stderr: one line that is written over on a terminal, plain lines elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()

    def say(self, sentence: str) -> None:
        self._clear()
        print(sentence, file=self._stream, flush=True)

    def step(self, *, calls: int, budget: int, best: float | None, last: str) -> None:
        shown = "none" if best is None else f"{best:.4f}"
        line = f"calls {calls}/{budget}  best {shown}  last: {last}"
        self._clear()
        print(line, end="" if self._terminal else "\n", file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._terminal:
            clear_line(self._stream)


def _settings(options: argparse.Namespace) -> tuple[Evaluator, Settings]:
    from assay.cli.evaluator_flags import read_artifact, read_set
    from assay.core.errors import UsageError
    from assay.optimize.constraints import constraints_for
    from assay.optimize.run import Settings

    if options.no_seed and options.seed:
        raise UsageError(f"--no-seed: there is a seed as well, {options.seed}; give one of them")
    if options.valset and not options.dataset:
        raise UsageError("--valset needs --dataset: the examples to learn from")
    if options.split and (options.valset or options.testset):
        raise UsageError("--split makes the valset and the testset; leave --valset and --testset out")
    # sets first: a bad line is told before anything is started
    sets: dict[str, Any] = {
        name: read_set(path) if (path := getattr(options, name)) else None for name in ("dataset", "valset", "testset")
    }
    evaluator = _evaluator(options, sets)
    if options.split:
        _split(sets, options)
    seed = _seed(options, evaluator, read_artifact)
    settings = Settings(
        seed=seed,
        **sets,
        objective=options.objective or "",
        background=options.background,
        score_range=_score_range(options, evaluator),
        task_model=None if options.task else options.task_model,
        constraints=constraints_for(
            seed, keep_placeholders=options.keep_placeholders, max_characters=options.max_chars
        ),
        random_seed=options.random_seed,
        minibatch=options.minibatch,
        proposer_request=_request(options),
        budget=options.budget,
        max_proposals=options.max_proposals,
        target_score=_target(options, evaluator),
        patience=options.patience,
        concurrency=options.concurrency,
        max_cost=options.max_cost,
        max_total_tokens=options.max_tokens,
        prices=options.prices,
    )
    return evaluator, settings


def _seed(options: argparse.Namespace, evaluator: Any, read: Any) -> str | None:
    from assay.core.errors import UsageError

    if options.no_seed:
        return None
    if options.seed:
        text: str = read(options.seed)
        if not text.strip():
            raise UsageError(f"{options.seed}: is empty; --no-seed lets the proposer write the first text")
        return text
    if options.task:
        own: str = evaluator.own_prompt()
        return own
    raise UsageError("give a SEED file to start from, or --no-seed")


def _score_range(options: argparse.Namespace, evaluator: Any) -> Any:
    if options.task:
        return evaluator.score_range
    return "unit" if options.judge_model else options.score_range


def _target(options: argparse.Namespace, evaluator: Any) -> float | None:
    if options.target_score is not None:
        target: float = options.target_score
        return target
    return 1.0 if _score_range(options, evaluator) == "unit" else None


def _request(options: argparse.Namespace) -> Request:
    from assay.core.types import Request

    return Request(temperature=options.temperature, max_tokens=options.max_answer_tokens)


def _split(sets: dict[str, Any], options: argparse.Namespace) -> None:
    from assay.core.errors import UsageError
    from assay.optimize.split import split

    if not sets["dataset"]:
        raise UsageError("--split cuts a --dataset or --task into parts; there is neither")
    parts = split(sets["dataset"], options.split, options.random_seed)
    sets |= dict(zip(("dataset", "valset", "testset"), parts, strict=False))


def _evaluator(options: argparse.Namespace, sets: dict[str, Any]) -> Evaluator:
    from assay.cli.evaluator_flags import evaluators_of
    from assay.core.errors import UsageError

    if not options.task:
        evaluators = evaluators_of(options)
        if len(evaluators) > 1:
            raise UsageError("a search has one judge; compare several with `assay score`")
        return evaluators[0]
    others = ("evaluator_command", "evaluator_url", "judge_model", "dataset")
    given = [f"--{name.replace('_', '-')}" for name in others if getattr(options, name)]
    if given:
        raise UsageError(f"--task brings its own samples and scorers; leave {' and '.join(given)} out")
    fitness = _task_fitness(options)
    sets["dataset"] = fitness.records
    return fitness  # type: ignore[no-any-return]


def _task_fitness(options: argparse.Namespace) -> Any:
    from assay.cli.run_flags import key_texts, key_values
    from assay.core.config import RunConfig
    from assay.core.errors import UsageError
    from assay.optimize.task_fitness import TaskFitness
    from assay.tasks.load import load_tasks

    if not options.task_model:
        raise UsageError("--task needs --task-model: the model that answers the prompts")
    config = RunConfig(
        model=options.task_model,
        model_options=key_values(options.task_model_arg, "--task-model-arg"),
        max_tokens=options.task_max_tokens,
        limit=options.limit,
        concurrency=options.concurrency,
        trust=options.trust,
    )
    definitions = load_tasks(options.task, trust=options.trust, config=dict(key_texts(options.config, "--config")))
    return TaskFitness(definitions, config, prompt_at=options.prompt_at)


def _proposer(options: argparse.Namespace) -> Any:
    from assay.cli.run_flags import key_values
    from assay.core.model_stack import Retrying
    from assay.models.build import make_model

    return Retrying(make_model(options.model, key_values(options.model_arg, "--model-arg")), retries=3)


def _checked_output(path: str | None) -> Path | None:
    from assay.core.errors import UsageError

    if path is None:
        return None
    if Path(path).is_dir():
        raise UsageError(f"--output {path}: is a folder; name a file")
    return Path(path)
