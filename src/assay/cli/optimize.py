"""`assay optimize`: search for a better text, and say honestly what came of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.evaluator_flags import add_evaluator_arguments

if TYPE_CHECKING:
    from assay.core.types import Request
    from assay.evaluators import Evaluator
    from assay.optimize.results import Result
    from assay.optimize.run import SearchProgress
    from assay.optimize.settings import SearchSettings


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
    parser.add_argument(
        "--model", required=True, metavar="PROPOSER", help="the model that proposes, such as openai:NAME"
    )
    parser.add_argument("--model-arg", action="append", default=[], metavar="KEY=VALUE", help="passed to the proposer")
    parser.add_argument(
        "--proposer",
        metavar="MODULE:FUNCTION",
        help="your own function that writes the texts: (candidate, feedback, components) -> {component: text}; "
        "--model is then not asked",
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


def run(options: argparse.Namespace) -> int:
    from assay.optimize.folder import SearchFolder
    from assay.optimize.run import optimize
    from assay.optimize.settings import estimated

    output = _checked_output(options.output)
    evaluator, settings = _settings(options)
    if options.dry_run:
        planned = estimated(settings, settings.sets())
        print(planned.in_words())
        if warning := planned.warning():
            print(f"warning: {warning}", file=sys.stderr)
        return 0
    folder = SearchFolder(
        path=Path(options.run_dir) if options.run_dir else None,
        fresh=options.fresh,
        resume_foreign=options.resume_foreign,
        reuse=tuple(map(Path, options.reuse)),
        branch=Path(options.branch) if options.branch else None,
    )
    result = optimize(
        settings,
        evaluator,
        _proposer(options),
        folder=folder,
        propose=_own_proposer(options.proposer),
        probe=not options.no_preflight,
        progress=None if options.quiet else _progress_line(),
        listeners=_listeners(options),
    )
    if output is not None:
        from assay.core.run_file import write_whole

        write_whole(output, result.best.encode())
    return tell(result, options)


def _listeners(options: argparse.Namespace) -> list[object]:
    from assay.core.errors import UsageError
    from assay.optimize.events import EventStream
    from assay.runs.listeners import HearsSearches, find_listeners

    found: list[object] = list(find_listeners(options.log_to))
    for name, listener in zip(options.log_to, found, strict=True):
        if not isinstance(listener, HearsSearches):
            raise UsageError(f"--log-to {name}: hears of runs only, for it has no method `search_event(event)`")
    return [*found, *([EventStream(Path(options.events))] if options.events else [])]


def tell(result: Result, options: argparse.Namespace) -> int:
    """The result on stdout, where the files are on stderr, and the exit code."""
    import msgspec

    from assay.optimize.results import in_words, unified

    diff = "\n".join(unified(result.seed, result.best, "seed", "best")) or "no difference: the best text is the seed"
    if options.json:
        print(msgspec.json.encode(result, enc_hook=repr).decode())
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
        print("interrupted; rerun the same command to resume", file=sys.stderr)
    return _exit_status(result, options.fail_unless_better)


def _exit_status(result: Result, margin: float | None) -> int:
    from assay.runs.exit_status import DONE, GATE_NOT_MET, INTERRUPTED, WITH_FAILURES

    if result.stop_reason == "interrupted":
        return INTERRUPTED
    if margin is not None:
        gained = result.testset.difference if result.testset is not None else None
        if not result.better or gained is None or gained < margin:
            by = f" by {margin:g}" if margin else ""
            print(f"gate not met: --fail-unless-better{by}: {result.verdict}", file=sys.stderr)
            return GATE_NOT_MET
    return DONE if result.problem is None and result.stop_reason != "spent" else WITH_FAILURES


def _progress_line() -> SearchProgress:
    from assay.cli.progress import ProgressLine
    from assay.optimize.run import SearchProgress

    class SearchProgressLine(ProgressLine, SearchProgress):
        """Calls, best and last, on stderr: one line that is written over on a terminal, plain lines elsewhere."""

        def step(self, *, calls: int, budget: int, best: float | None, last: str) -> None:
            shown = "none" if best is None else f"{best:.4f}"
            self.show(f"calls {calls}/{budget}  best {shown}  last: {last}")

    return SearchProgressLine()


def _settings(options: argparse.Namespace) -> tuple[Evaluator, SearchSettings]:
    from assay.cli.evaluator_flags import evaluations_in_flight, read_artifact
    from assay.core.errors import UsageError
    from assay.optimize.constraints import constraints_for
    from assay.optimize.settings import SearchSettings

    if options.no_seed and (options.seed or options.component):
        raise UsageError(f"--no-seed: there is a seed as well, {options.seed or '--component'}; give one of them")
    if options.seed and options.component:
        raise UsageError("SEED and --component: give one text, or several components")
    if options.valset and not options.dataset:
        raise UsageError("--valset needs --dataset: the examples to learn from")
    if options.split and (options.valset or options.testset):
        raise UsageError("--split makes the valset and the testset; leave --valset and --testset out")
    sets = _sets(options)  # first: a bad line is reported before anything is started
    evaluator = _evaluator(options, sets)
    if options.split:
        _split(sets, options)
    seed = _seed(options, evaluator)
    texts = {"text": seed} if isinstance(seed, str) else seed
    settings = SearchSettings(
        seed=seed,
        **sets,
        holdout=options.holdout,
        objective=options.objective or "",
        background=options.background,
        template=read_artifact(options.reflection_template) if options.reflection_template else None,
        feedback_characters=options.feedback_chars,
        remember=options.remember,
        score_range=_score_range(options, evaluator),
        task_model=None if options.task else options.task_model,
        constraints=constraints_for(
            texts, keep_placeholders=options.keep_placeholders, max_characters=options.max_chars
        ),
        random_seed=options.random_seed,
        minibatch=options.minibatch,
        repeat=options.repeat,
        demonstrations=options.demonstrations,
        strategy=_strategy(options),
        proposer_request=_request(options),
        budget=options.budget,
        max_proposals=options.max_proposals,
        target_score=_target(options, evaluator),
        patience=options.patience,
        concurrency=evaluations_in_flight(options),
        max_cost=options.max_cost,
        max_total_tokens=options.max_tokens,
        prices=options.prices,
    )
    return evaluator, settings


def _sets(options: argparse.Namespace) -> dict[str, Any]:
    """The records of every set; what is wrong with any of them is reported for all at once."""
    from assay.cli.evaluator_flags import read_set
    from assay.core.errors import UsageError

    sets: dict[str, Any] = {}
    problems = []
    for name in ("dataset", "valset", "testset"):
        path = getattr(options, name)
        try:
            sets[name] = read_set(path) if path else None
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return sets


def _strategy(options: argparse.Namespace) -> Any:
    from assay.optimize.engine import SearchStrategy

    names = [name.strip() for name in (options.objectives or "").split(",")]
    return SearchStrategy(
        selector=options.selector,
        frontier=options.frontier,
        acceptance=options.acceptance,
        components=options.component_selector,
        proposals=options.proposals,
        sampling=options.sampling,
        merges=options.merge,
        objectives=tuple(name for name in names if name),
        chosen_by=options.choose_by,
    )


def _seed(options: argparse.Namespace, evaluator: Any) -> Any:
    from assay.cli.evaluator_flags import read_artifact
    from assay.core.errors import UsageError

    if options.no_seed:
        return None
    if options.component:
        texts = _named(options.component, "--component")
        return {name: _not_empty(path, read_artifact(path)) for name, path in texts.items()}
    if options.seed:
        return _not_empty(options.seed, read_artifact(options.seed))
    if options.task:
        return evaluator.own_prompt()
    raise UsageError("give a SEED file to start from, --component NAME=FILE for several texts, or --no-seed")


def _not_empty(path: str, text: str) -> str:
    from assay.core.errors import UsageError

    if not text.strip():
        raise UsageError(f"{path}: is empty; --no-seed lets the proposer write the first text")
    return text


def _named(given: list[str], flag: str) -> dict[str, str]:
    from assay.core.errors import UsageError

    named: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"{flag} {each!r}: expected NAME=VALUE")
        if name in named:
            raise UsageError(f"{flag} {name} is given twice")
        named[name] = value
    return named


def _own_proposer(name: str | None) -> Any:
    from assay.catalog import import_own
    from assay.core.errors import UsageError

    if name is None:
        return None
    function = import_own(name)
    if not callable(function):
        raise UsageError(f"--proposer {name}: is no function")
    return function


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
    from assay.optimize.sets import HOLDOUT, hold_out, split

    if not sets["dataset"]:
        raise UsageError("--split cuts a --dataset or --task into parts; there is neither")
    records, held = sets["dataset"], None
    if options.split.count("/") == 1:
        share = HOLDOUT if options.holdout is None else options.holdout
        records, held = hold_out(records, share, options.random_seed)
    parts = split(records, options.split, options.random_seed)
    sets |= {"testset": held or None, **dict(zip(("dataset", "valset", "testset"), parts, strict=False))}


def _evaluator(options: argparse.Namespace, sets: dict[str, Any]) -> Evaluator:
    from assay.cli.evaluator_flags import evaluators_of, refuse_without_effect
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
    refuse_without_effect(options, "task")
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
    places = options.prompt_at
    if len(places) > 1 or any("=" in place for place in places):
        return TaskFitness(definitions, config, prompt_at=_named(places, "--prompt-at"))
    return TaskFitness(definitions, config, prompt_at=places[0] if places else None)


def _proposer(options: argparse.Namespace) -> Any:
    from assay.cli.evaluator_flags import say
    from assay.cli.run_flags import key_values
    from assay.models.build import make_model
    from assay.models.pool import wrap_alone

    model = make_model(options.model, key_values(options.model_arg, "--model-arg"))
    return wrap_alone(model, concurrency=options.concurrency, say=say)


def _checked_output(path: str | None) -> Path | None:
    from assay.core.errors import UsageError

    if path is None:
        return None
    if Path(path).is_dir():
        raise UsageError(f"--output {path}: is a folder; name a file")
    return Path(path)
