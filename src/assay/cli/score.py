"""`assay score`: one artifact, one evaluator or several judges; mean, spread, and every example's score."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from assay.cli.evaluator_flags import add_evaluator_arguments

if TYPE_CHECKING:
    from assay.evaluators import Evaluator
    from assay.evaluators.scoring import ArtifactScore, ScoredExample
    from assay.reports.spending import Spent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", metavar="ARTIFACT", help="the text file that is scored")
    parser.add_argument("--dataset", metavar="FILE", help="JSON lines; the artifact is scored on each record")
    add_evaluator_arguments(parser)
    parser.add_argument("--json", action="store_true", help="everything as one JSON object on stdout")


def run(options: argparse.Namespace) -> int:
    import asyncio
    from pathlib import Path

    from assay.cli.evaluator_flags import evaluators_of, read_artifact, read_set
    from assay.cli.main import DONE, WITH_FAILURES
    from assay.core.usage import Account, usage_of
    from assay.reports.prices import find_prices
    from assay.reports.spending import spent_by, spent_in_words

    artifact = read_artifact(options.artifact)
    examples = read_set(options.dataset) if options.dataset else None
    prices = find_prices(Path(options.prices) if options.prices else None)
    with Account() as account:
        scores, dead = asyncio.run(_score_all(evaluators_of(options), artifact, examples, options))
    spent = spent_by([("judge", usage) for usage in usage_of(account)], prices)
    if options.json:
        print(_as_json(options.artifact, scores, dead, spent))
    else:
        _print_scores(scores, named=len(scores) + len(dead) > 1)
        for line in spent_in_words(spent):
            print(line)
    for reason in dead.values():
        print(f"dead, and in no mean: {reason}", file=sys.stderr)
    complete = not dead and all(score.failed == 0 for score in scores)
    return DONE if complete else WITH_FAILURES


async def _score_all(
    evaluators: list[Evaluator], artifact: str, examples: list[dict[str, Any]] | None, options: argparse.Namespace
) -> tuple[list[ArtifactScore], dict[str, str]]:
    """Every evaluator's scores, and why those without any have none. The only evaluator there is may not be dead."""
    from assay.core.errors import AssayError
    from assay.evaluators import preflight
    from assay.evaluators.scoring import score_artifact

    scores: list[ArtifactScore] = []
    dead: dict[str, str] = {}
    for evaluator in evaluators:
        try:
            if not options.no_preflight:
                await preflight(evaluator, examples[0] if examples else None, options.task_model)
            found = await score_artifact(
                evaluator, artifact, examples, options.task_model, concurrency=options.concurrency
            )
        except AssayError as error:
            if len(evaluators) == 1:
                raise
            dead[_unused(evaluator.name, dead)] = str(error)
            continue
        finally:
            await evaluator.close()
        if found.mean is None and len(evaluators) > 1:
            failure = found.examples[0].failure
            dead[_unused(evaluator.name, dead)] = failure.message if failure else "nothing was scored"
        else:
            scores.append(found)
    return scores, dead


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


def _as_json(artifact: str, scores: list[ArtifactScore], dead: dict[str, str], spent: list[Spent]) -> str:
    import msgspec

    from assay.reports.spending import total_cost

    result: dict[str, Any] = {"schema": "assay.score.v1", "artifact": artifact, "evaluators": scores, "dead": dead}
    if len(scores) > 1:
        result["judges"] = _between(scores)
    if spent:
        result |= {"spent": spent, "cost": total_cost([row.cost for row in spent])}
    return msgspec.json.encode(result).decode()
