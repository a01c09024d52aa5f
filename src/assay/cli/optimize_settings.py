"""What the flags of `assay optimize` become: the evaluator, and the settings of the search."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from assay.cli.evaluator_flags import (
    evaluations_in_flight,
    evaluators_of,
    read_artifact,
    read_set,
    run_settings_of,
)
from assay.cli.setting_flags import config_texts, flag_of_run, given_settings, json_values
from assay.core.errors import UsageError
from assay.optimize.search_settings import SearchOptions, SearchStrategy
from assay.setting import flag_of

if TYPE_CHECKING:
    from assay.evaluators import Evaluator
    from assay.optimize.settings import SearchSettings


def evaluator_and_settings(options: argparse.Namespace) -> tuple[Evaluator, SearchSettings]:
    """The settings that were given, and what the other flags become."""
    from assay.core.types import Request
    from assay.optimize.constraints import constraints_for
    from assay.optimize.settings import SearchSettings

    if options.no_seed and (options.seed or options.component):
        raise UsageError(f"--no-seed: there is a seed as well, {options.seed or '--component'}; give one of them")
    if options.seed and options.component:
        raise UsageError("SEED and --component: give one text, or several components")
    if options.valset and not (options.dataset or options.task):
        raise UsageError("--valset needs --dataset: the examples to learn from")
    strategy = SearchStrategy(**given_settings(options, SearchStrategy))
    _refuse_alone(options, strategy)
    sets = _sets(options)  # first: a bad line is reported before anything is started
    evaluator = _evaluator(options, sets)
    seed = _seed(options, evaluator)
    _refuse_with_one_text(options, seed, strategy)
    texts = {"text": seed} if isinstance(seed, str) else seed
    shared = run_settings_of(options)
    settings = SearchSettings(
        **{"target_score": _target(options, evaluator), **given_settings(options, SearchOptions)},
        **sets,
        seed=seed,
        objective=options.objective or "",
        template=read_artifact(options.reflection_template) if options.reflection_template else None,
        score_range=_score_range(options, evaluator),
        task_model=None if options.task else options.task_model,
        constraints=constraints_for(
            texts, keep_placeholders=options.keep_placeholders, max_characters=options.max_chars
        ),
        strategy=strategy,
        proposer_request=Request(temperature=options.temperature, max_tokens=options.max_tokens),
        concurrency=evaluations_in_flight(options),
        patience_seconds=shared.patience_seconds,
        prices=shared.prices,
    )
    return evaluator, settings


_OF_THE_MODEL = (
    *("temperature", "max_tokens", "model_arg", "reflection_template", "objective", "background"),
    "feedback_characters",
)
"""Flags for a model that proposes; a --proposer does not use them."""


def _refuse_alone(options: argparse.Namespace, strategy: SearchStrategy) -> None:
    if not options.model and not options.proposer:
        raise UsageError(
            "no proposer given: use --model, such as openai:NAME, or --proposer, your own program or function"
        )
    used = ("objective",) if options.judge_model else ()  # a judge is shown it too
    given = [name for name in _OF_THE_MODEL if name not in used and getattr(options, name) not in (None, [], "")]
    if options.proposer and given:
        flag = flag_of(SearchOptions, given[0])
        raise UsageError(
            f"{flag} is for --model and has no effect with --proposer, which does not call it; leave it out"
        )
    if strategy.sampling != "independent" and strategy.proposals == 1:
        raise UsageError("--sampling is for several --proposals at once and has no effect on one; leave it out")


def _refuse_with_one_text(options: argparse.Namespace, seed: Any, strategy: SearchStrategy) -> None:
    several = options.demonstrations or (isinstance(seed, dict) and len(seed) > 1)
    for name, given in (("merges", strategy.merges > 0), ("components", strategy.components == "all")):
        if given and not several:
            flag = flag_of(SearchStrategy, name)
            raise UsageError(f"{flag} is for several components and has no effect on one text; leave it out")


def _sets(options: argparse.Namespace) -> dict[str, Any]:
    """The records of every set; what is wrong with any of them is reported for all at once."""
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


def _seed(options: argparse.Namespace, evaluator: Any) -> Any:
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
    if not text.strip():
        raise UsageError(f"{path}: is empty; --no-seed lets the proposer write the first text")
    return text


def _named(given: list[str], flag: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"{flag} {item!r}: expected NAME=VALUE")
        if name in named:
            raise UsageError(f"{flag} {name} is given twice")
        named[name] = value
    return named


def _score_range(options: argparse.Namespace, evaluator: Any) -> Any:
    if options.task:
        return evaluator.score_range
    return "unit" if options.judge_model else options.score_range


def _target(options: argparse.Namespace, evaluator: Any) -> float | None:
    """Where a search stops unless --target-score says otherwise."""
    return 1.0 if _score_range(options, evaluator) == "unit" else None


def _evaluator(options: argparse.Namespace, sets: dict[str, Any]) -> Evaluator:
    if not options.task:
        evaluators = evaluators_of(options)
        if len(evaluators) > 1:
            raise UsageError("a search has one judge; compare several with `assay score`")
        return evaluators[0]
    others = ("evaluator_command", "evaluator_url", "judge_model", "dataset", "valset", "testset")
    given = [flag_of_run(name) for name in others if getattr(options, name)]
    if given:
        raise UsageError(
            f"--task brings its own samples and scorers; leave {' and '.join(given)} out; "
            "--split 50/25/25 splits the samples into dataset, valset and testset"
        )
    fitness = _task_fitness(options)
    sets["dataset"] = fitness.records
    return fitness  # type: ignore[no-any-return]


_FLAGS = {"max_tokens": "--task-max-tokens", "model_options": "--task-model-arg", "model": "--task-model"}
"""What a search calls the settings of the model that answers, where `run` calls them otherwise."""


def _task_fitness(options: argparse.Namespace) -> Any:
    from assay.optimize.task_fitness import TaskFitness
    from assay.run_config import RunConfig
    from assay.runs.plan import check_settings, plan_runs, read_tasks

    if not options.task_model:
        raise UsageError("--task needs --task-model: the model that answers the prompts")
    shared = run_settings_of(options)
    config = RunConfig(
        model_options=json_values(options.task_model_arg, "--task-model-arg"),
        max_tokens=options.task_max_tokens,
        limit=options.limit,
        concurrency=options.concurrency,
        judge_retries=shared.judge_retries,
        patience_seconds=shared.patience_seconds,
        task_config=config_texts(options.task_config or []),
        trust=bool(options.trust),
        cache=False,  # a search reuses evaluations, not answers
    )
    check_settings(config, lambda name: _FLAGS.get(name, flag_of_run(name)))
    definitions, warnings = read_tasks(options.task, config, evaluated=options.task_model)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    runs = plan_runs(definitions, config, options.task_model, given=_FLAGS)
    if len(runs) > 1:
        raise UsageError(f"--task: a search has one way to ask and to score, and these tasks are {len(runs)} runs")
    definitions, config = runs[0].definitions, runs[0].config
    places = options.prompt_at
    several = len(places) > 1 or any("=" in place for place in places)
    return TaskFitness(
        definitions,
        config,
        prompt_at=_named(places, "--prompt-at") if several else places[0] if places else None,
        flags=_FLAGS,
        used_elsewhere=("patience_seconds",),
    )
