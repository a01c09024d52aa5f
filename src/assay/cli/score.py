"""`assay score`: one artifact, one evaluator or several judges; mean, spread, and every example's score."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.cli.evaluator_flags import (
    add_evaluator_arguments,
    evaluations_in_flight,
    evaluators_of,
    print_note,
    read_artifact,
    read_set,
    run_settings_of,
)
from assay.cli.flags import option, switch
from assay.core.errors import AssayError, UsageError
from assay.overriding import override
from assay.runs.exit_status import DONE, WITH_FAILURES

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from assay.costs.spending import Spent
    from assay.evaluators import Evaluator
    from assay.evaluators.scoring import ArtifactScore, ScoredExample

    _Scored = tuple[list[ArtifactScore], dict[str, str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", metavar="ARTIFACT", help="the text file to score")
    option(parser, "--dataset FILE", "JSON lines; the artifact is scored on each record")
    add_evaluator_arguments(parser)
    switch(parser, "--json", "everything as one JSON object on stdout")
    parser.epilog = """\
examples:
  assay score reply.txt --evaluator-command "python3 score.py"
  assay score prompt.txt --dataset tickets.jsonl --evaluator-url http://127.0.0.1:8000/score
  assay score reply.txt --judge-model openai:NAME --objective "a short, polite reply"
"""


def run(options: argparse.Namespace) -> int:
    from assay.core.usage import Account, usage_of
    from assay.costs.budget import unbilled
    from assay.costs.prices import find_prices
    from assay.costs.spending import spent_by, spent_in_words
    from assay.evaluators.llm_judge import clamped_in_words
    from assay.evaluators.payload import AsksModels
    from assay.runs.progress import run_blocking

    _refuse_without_effect(options)
    artifact = read_artifact(options.artifact)
    examples = read_set(options.dataset) if options.dataset else None
    evaluators = evaluators_of(options)
    judges = [
        model for evaluator in evaluators if isinstance(evaluator, AsksModels) for model in evaluator.called_models
    ]
    prices = find_prices(Path(options.prices) if options.prices else None).where_unbilled(unbilled(judges))
    with Account() as account:
        work = _score_all(evaluators, artifact, examples, options)
        scores, excluded = run_blocking(_until_a_signal(work))
    spent = spent_by([("judge", usage) for usage in usage_of(account)], prices)
    if options.json:
        print(_as_json(options.artifact, scores, excluded, spent))
    else:
        _print_scores(scores, named=len(scores) + len(excluded) > 1)
        for line in spent_in_words(spent):
            print(line)
    for score in scores:
        seen = [example.side_info for example in score.examples if example.failure is None]
        if options.judge_model and (warning := clamped_in_words(seen)) is not None:
            print(f"warning: {score.evaluator}: {warning}", file=sys.stderr)
    for reason in excluded.values():
        print(f"excluded from the mean: {reason}", file=sys.stderr)
    complete = not excluded and all(score.failed == 0 for score in scores)
    return DONE if complete else WITH_FAILURES


def _refuse_without_effect(options: argparse.Namespace) -> None:
    """Flags that `optimize` uses with every evaluator, and `score` only with judges."""
    for flag, value in (("--objective", options.objective), ("--prices", options.prices)):
        if value and not options.judge_model and (options.evaluator_command or options.evaluator_url):
            raise UsageError(f"{flag} is for --judge-model and has no effect here; leave it out")


async def _until_a_signal(work: Coroutine[Any, Any, _Scored]) -> _Scored:
    """Ctrl-C, SIGTERM and a closed terminal give up what is in flight, which ends the programs that score."""
    import asyncio

    from assay.core.run import Stop
    from assay.runs.progress import Progress, signals

    class AtOnce(Stop):
        @override
        def request(self) -> None:
            self.now()

    scoring = asyncio.ensure_future(work)
    stop = AtOnce()
    stop.bind(scoring.cancel)
    with signals(stop, Progress()):
        try:
            return await scoring
        except asyncio.CancelledError:
            if stop.interrupted:
                raise KeyboardInterrupt from None
            raise


async def _score_all(
    evaluators: list[Evaluator], artifact: str, examples: list[dict[str, Any]] | None, options: argparse.Namespace
) -> tuple[list[ArtifactScore], dict[str, str]]:
    """Every evaluator's scores, and why those without any have none. The only evaluator may not be excluded."""
    from assay.core.run import Stop
    from assay.evaluators import preflight
    from assay.evaluators.preflight import notes
    from assay.evaluators.scoring import score_artifact
    from assay.runs.patient_evaluator import PatientEvaluator

    scores: list[ArtifactScore] = []
    excluded: dict[str, str] = {}
    for evaluator in evaluators:
        # when the wait ends without an answer, what was scored is reported and the rest has failed
        patient = PatientEvaluator(
            evaluator, Stop(), print_note, patience_seconds=run_settings_of(options).patience_seconds
        )
        try:
            for note in notes(evaluator):
                print_note(note)
            if not options.no_preflight:
                await preflight(evaluator, examples[0] if examples else None, options.task_model, patient=patient)
            score = await score_artifact(
                patient, artifact, examples, options.task_model, concurrency=evaluations_in_flight(options)
            )
        except AssayError as error:
            if len(evaluators) == 1:
                raise
            excluded[_unused(evaluator.name, excluded)] = str(error)
            continue
        finally:
            await evaluator.close()
        if score.mean is None and len(evaluators) > 1:
            failure = score.examples[0].failure
            excluded[_unused(evaluator.name, excluded)] = failure.message if failure else "nothing was scored"
        else:
            scores.append(score)
    return scores, excluded


def _unused(name: str, taken: dict[str, str]) -> str:
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def _print_scores(scores: list[ArtifactScore], *, named: bool) -> None:
    for score in scores:
        if named:
            print(score.evaluator)
        print(_headline(score))
        for example in score.examples:
            _print_example(example)
    if len(scores) > 1:
        comparison = _between(scores)
        print(
            f"{len(scores)} judges: mean {comparison['mean']:.4f}, "
            f"from {comparison['low']:.4f} to {comparison['high']:.4f}, deviation {comparison['deviation']:.4f}"
        )


def _headline(score: ArtifactScore) -> str:
    failed = f", {score.failed} failed" if score.failed else ""
    if score.mean is None:
        return f"no score{failed}"
    spread = "" if score.deviation is None else f" ± {score.deviation:.4f}, from {score.low:.4f} to {score.high:.4f}"
    return f"mean {score.mean:.4f}{spread}, {score.scored} scored{failed}"


def _print_example(example: ScoredExample) -> None:
    from assay.evaluators.payload import shortened

    if example.failure is not None:
        print(f"  {example.index + 1:>5}  failed  {example.failure.kind}: {shortened(example.failure.message, 300)}")
        return
    print(f"  {example.index + 1:>5}  {example.score:.4f}")
    for name, value in example.side_info.items():
        print(f"         {name}: {shortened(value, 300)}")


def _between(scores: list[ArtifactScore]) -> dict[str, float]:
    import statistics

    means = [score.mean for score in scores if score.mean is not None]
    return {
        "mean": statistics.fmean(means),
        "deviation": statistics.stdev(means) if len(means) > 1 else 0.0,
        "low": min(means),
        "high": max(means),
    }


def _as_json(artifact: str, scores: list[ArtifactScore], excluded: dict[str, str], spent: list[Spent]) -> str:
    from assay.costs.spending import total_cost

    result: dict[str, Any] = {
        "schema": "assay.score.v1",
        "artifact": artifact,
        "evaluators": scores,
        "excluded": excluded,
    }
    if len(scores) > 1:
        result["judges"] = _between(scores)
    if spent:
        result |= {"spent": spent, "cost": total_cost([row.cost for row in spent])}
    return msgspec.json.encode(result).decode()
