"""An evaluator as a scorer: the prediction is the candidate, the sample is the example."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta

from assay import catalog
from assay.catalog import OptionError
from assay.core.describe import Reached, ScorerInfo, Value, describes, share
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Failure, Sample, Score, ScoreValue, Trace
from assay.evaluators.command import CommandEvaluator, command_evaluator
from assay.evaluators.http_service import HttpEvaluator, http_evaluator
from assay.evaluators.llm_judge import JUDGE_TIMEOUT_SECONDS, llm_judge_evaluator
from assay.evaluators.payload import Evaluator, EvaluatorError, check_score_range, check_timeout, why_not_a_number
from assay.part_options import Doc, InFiles, ModelKey, part
from assay.processes.environment import names_in
from assay.scorers.judging.judge import judge_model
from assay.text.redaction import credential_in


def _described(options: Mapping[str, Any]) -> ScorerInfo:
    """A judge's score is a share, and so is that of the others unless it may be any number."""
    is_share = options.get("model_key") is not None or options.get("score_range") in (None, "unit")
    return ScorerInfo(
        values=(share("score") if is_share else Value(name="score"),),
        more_values=True,
        needs_answer=True,
        reaches=tuple(_reached(options)),
    )


def _reached(
    options: Mapping[str, Any],
) -> Iterator[Reached]:
    """What a program or a service may do is the author's choice; the options may be those of an untrusted file."""
    if command := options.get("command"):
        yield "program", shlex.join(map(str, command if isinstance(command, list | tuple) else [command])), "command"
    url, passed = options.get("url"), options.get("pass_env")
    for address in url if isinstance(url, list | tuple) else [url]:
        if address:
            yield "address", str(address), "url"
    for name in passed if isinstance(passed, list | tuple) else names_in(str(passed or "")):
        yield "variable", str(name), "pass_env"
    if cwd := options.get("cwd"):
        yield "file", str(cwd), "cwd"


@describes(lambda options, _: _described(options))
@part(
    "A command, an HTTP service or a judge model that speaks evaluator protocol v2.",
    example="""\
type: evaluator
command: [python3, score.py]
timeout_seconds: 10
""",
    one_of=(("command", "url", "model_key"),),
)
def evaluator(
    key: str,
    *,
    command: Annotated[
        Sequence[str] | None, Meta(min_length=1), Doc("The program and its arguments; needs `--trust`.")
    ] = None,
    url: Annotated[str | None, Doc("The address that candidates are posted to.")] = None,
    model_key: Annotated[str | None, ModelKey("The key of the model that judges.")] = None,
    objective: Annotated[str | None, Doc("What a good answer is, for a judge.")] = None,
    quality_dimensions: Annotated[
        Mapping[str, float] | None, Meta(min_length=1), Doc("Names and weights, for a judge.")
    ] = None,
    hard_constraints: Annotated[Sequence[str] | None, Doc("What must hold, for a judge.")] = None,
    cwd: Annotated[str | None, Doc("Working directory of the program.")] = None,
    headers: Annotated[Mapping[str, str] | None, Doc("Sent with every request to the service.")] = None,
    pass_env: Annotated[
        Sequence[str] | None,
        Doc("Credentials of the environment to pass to the program, by the names of their variables."),
    ] = None,
    timeout_seconds: Annotated[float | None, Doc("Time limit for one evaluation.")] = None,
    score_range: Annotated[
        Literal["unit", "any"] | None, Doc("`unit` is [0, 1], `any` every finite number."), InFiles("unit")
    ] = None,
    task_model: Annotated[str | None, Doc("The name of the model the candidate is meant for.")] = None,
    post_process: str = "none",
    has_solver: bool = True,
    model: Mapping[str, Any] | None = None,
    context: BuildContext = NO_CONTEXT,
) -> EvaluatorScorer:
    """The catalog's `evaluator` scorer: exactly one of `command`, `url` and `model_key` names what scores.

    The evaluator is sent the prediction as `candidate`, and as `example` the dataset row, or the sample's id, prompt,
    targets and extras. A command of a task file outside the current project runs only with `--trust`.
    """
    if not has_solver:
        raise UsageError(f"scorer `{key}`: an evaluator scores answers, and a dataset task has none")
    given = [name for name, value in (("command", command), ("url", url), ("model_key", model_key)) if value]
    if len(given) != 1:
        problem = f"got {' and '.join(given)}" if given else "got none of them"
        raise UsageError(f"scorer `{key}`: an evaluator is one of `command`, `url` and `model_key`; {problem}")
    options: dict[str, Any] = {"task_model": task_model}
    made: Evaluator
    if model_key is not None:
        # the limit is the model's own, below its queue and its outages
        limit = check_timeout(JUDGE_TIMEOUT_SECONDS if timeout_seconds is None else timeout_seconds)
        made = llm_judge_evaluator(
            objective or "",
            judge_model(model_key, model, context, timeout_seconds=limit),
            quality_dimensions=quality_dimensions,
            hard_constraints=hard_constraints or (),
            timeout_seconds=None,
            retries=context.judge_retries,
            **options,
        )
    else:
        if timeout_seconds is not None:
            options["timeout_seconds"] = timeout_seconds
        options["score_range"] = check_score_range(score_range or "unit")
        if command is not None:
            made = _command(key, command, context, cwd=cwd, pass_env=pass_env or (), **options)
        else:
            service = http_evaluator(_address(key, url or ""), headers=headers, **options)
            context.loading.append(partial(_reach, service))
            made = service
    return EvaluatorScorer(key, made, post_process)


class EvaluatorScorer:
    """Scores `score`, and one value for each sub-score in the evaluator's `scores`."""

    def __init__(self, name: str, made: Evaluator, post_process: str) -> None:
        self.name = name
        self._evaluator = made
        self._post_process: Callable[[str], str] | None = (
            None if post_process == "none" else catalog.resolve("post_process", post_process)
        )

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        answer = None if self._post_process is None else self._post_process(trace.prediction)
        evaluation = await self._evaluator(trace.prediction if answer is None else answer, _example(sample))
        reasoning = evaluation.side_info.get("reasoning")
        return Score(
            name=self.name,
            values={**_sub_scores(evaluation.side_info), "score": evaluation.score},
            answer=answer,
            reason=reasoning if isinstance(reasoning, str) else None,
            metadata=evaluation.side_info or None,
        )

    async def aclose(self) -> None:
        await self._evaluator.close()


def _command(key: str, command: Sequence[str], context: BuildContext, **options: Any) -> CommandEvaluator:
    made = command_evaluator(command, **options)
    if not context.own_code:
        raise UsageError(f"scorer `{key}` runs a program: {made.name}. Pass --trust if you know what it does.")
    try:
        made.check()
    except UsageError as error:
        missing = str(error)

        async def refuse() -> None:
            raise OptionError(missing, use="evaluator", option="command")

        context.loading.append(refuse)
        failure = Failure(stage="scorer", part=key, kind="not_started", message=missing)
        raise FailureError(failure) from error
    return made


async def _reach(service: HttpEvaluator) -> None:
    try:
        await service.reach()
    except EvaluatorError as error:
        raise OptionError(str(error), use="evaluator", option="url") from error


def _address(key: str, url: str) -> str:
    """The URL of a task file, which is written into run files as it is."""
    try:
        secret = credential_in(url)
    except ValueError:
        secret = None  # not an address at all; the evaluator's own message is better
    if secret is not None:
        raise UsageError(f"scorer `{key}`: url holds {secret}, and a task is written into run files; leave it out")
    return url


def _example(sample: Sample) -> dict[str, Any]:
    if sample.row is not None:
        return sample.row
    # the evaluator is sent what to score, not the settings of the scoring
    extras = {name: value for name, value in sample.extras.items() if name != "evaluator"}
    return {"id": sample.id, "prompt": sample.prompt, "targets": list(sample.targets), "extras": extras}


def _sub_scores(side_info: Mapping[str, Any]) -> dict[str, ScoreValue]:
    scores = side_info.get("scores")
    if not isinstance(scores, dict):
        return {}
    return {str(name): float(value) for name, value in scores.items() if why_not_a_number(value) is None}
