"""The assertions of a test: a weighted tree of them that each sample brings along, in `extras.assertions`.

Texts are checked with the same table as elsewhere (`assertion_list.py`); there are also graded ones, which give a
share, those that another model decides, and the author's programs. `score` is 1.0 when the test passes: when every
assertion does, or the weighted mean of their scores reaches `extras.threshold`. `passed` is that mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.describe import ScorerInfo, describes, share
from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Completion, Failure, Sample, Score, ScoreValue, Trace
from assay.patterns.matching import PatternTimeoutError
from assay.scorers.assertions.answer_checks import (
    ABOUT_TEXTS,
    ANSWER_CHECKS,
    F1,
    NEGATION,
    LookedAt,
    is_negated,
    metadata_of,
    yes,
)
from assay.scorers.assertions.assertion_kinds import ASSERTIONS
from assay.scorers.assertions.graded_assertions import Graded, Graders
from assay.scorers.assertions.package_assertions import PACKAGES, check_by_package
from assay.scorers.assertions.span_assertions import SPAN_ASSERTIONS
from assay.scorers.assertions.tool_call_assertions import calls_are_valid
from assay.scorers.assertions.trajectory_assertions import TRAJECTORY_ASSERTIONS, steps_of, summary
from assay.scorers.assertions.webhook_assertions import Webhooks
from assay.snippets.programs import Programs
from assay.spans import trace_of
from assay.text.wording import shortened

SET = "assert-set"
METRIC = "metric."
"""Before the name of a metric that assertions add up to, among the values of a score."""
WEBHOOK = "webhook"
GOAL = "trajectory:goal-success"
MOST_SHOWN = 200


class _Result(NamedTuple):
    passed: bool
    score: float
    weight: float
    metrics: list[tuple[str, float, float]]
    """Name, score, weight."""
    evidence: dict[str, Any]


class SampleAssertions:
    """See the module docstring. Values: `score`, `passed`, and `metric.NAME` for every metric that assertions name."""

    def __init__(
        self,
        key: str,
        graders: Mapping[str, Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        runs_programs: bool,
        packages: Mapping[str, str],
        webhooks: Sequence[str],
        command_tools: Sequence[str],
        context: BuildContext,
    ) -> None:
        self.name = key
        self._graders = Graders(key, graders, context)
        self._tools = tools
        self._programs = Programs(key, context) if runs_programs else None
        self._packages = packages
        self._webhooks = Webhooks(key, webhooks)
        self._command_tools = command_tools
        self._cost_of = context.cost_of

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        asserted = sample.extras.get("assertions") or []
        if not asserted:
            return Score(name=self.name, values={"score": None}, reason="the test has no assertions")
        output = _output_of(trace)
        answer = LookedAt(output, _as_text(output), trace, sample)
        if transform := sample.extras.get("transform"):
            answer = await self._transformed(transform, answer)
        results = [await self._checked(node, answer) for node in asserted]
        passed, mean = _summed(results, sample.extras.get("threshold"))
        metrics = _metrics(results)
        if scoring := sample.extras.get("scoring"):
            passed, mean, _ = await self._scored(scoring, metrics, results, sample)
        broken = [str(result.evidence["type"]) for result in results if not result.passed]
        values: dict[str, ScoreValue] = {"score": float(passed), "passed": mean}
        return Score(
            name=self.name,
            values=values | {f"{METRIC}{name}": value for name, value in metrics.items()},
            answer=answer.text if answer.text != trace.prediction else None,
            reason=f"does not hold: {', '.join(broken)}" if broken else None,
            metadata={"assertions": [result.evidence for result in results]},
        )

    async def aclose(self) -> None:
        await self._webhooks.aclose()
        if self._programs is not None:
            await self._programs.aclose()

    def gold(self, sample: Sample) -> Completion | None:
        """An answer built from the assertions themselves, where all of them are about its text; None otherwise."""
        from assay.scorers.assertions.assertion_gold import Wanted, gold_text  # needed only when a task is checked

        asserted = sample.extras.get("assertions") or []
        kinds = [str(node["type"]).removeprefix(NEGATION) for node in asserted]
        if sample.extras.get("transform") or not asserted or any(kind not in ABOUT_TEXTS for kind in kinds):
            return None
        wanted = [
            Wanted(kind.replace("-", "_"), str(node["type"]).startswith(NEGATION), node)
            for kind, node in zip(kinds, asserted, strict=True)
        ]

        def holds(text: str) -> bool:
            answer = LookedAt(text, text, Trace(prediction=text), sample)
            results = [self._result(node, _negated(node, self._looked_up(node, answer))) for node in asserted]
            return _summed(results, sample.extras.get("threshold"))[0]

        try:
            text = gold_text(wanted, holds)
        except FailureError:
            return None  # scoring reports it
        return None if text is None else Completion(text=text)

    async def _checked(self, node: Mapping[str, Any], answer: LookedAt) -> _Result:
        if node["type"] == SET:
            return await self._set(node, answer)
        if node.get("transform"):
            answer = await self._transformed(node["transform"], answer)
        if node.get("program"):
            return self._result(node, _by_program(node, await self._run(node["program"], answer, node)))
        return self._result(node, _negated(node, await self._graded(node, answer)))

    async def _graded(self, node: Mapping[str, Any], answer: LookedAt) -> Graded:
        """Whether it holds without its negation: decided by a package, a service, a model, or here."""
        kind = str(node["type"]).removeprefix(NEGATION)
        variables = answer.sample.row or {}
        if kind in PACKAGES:
            return await check_by_package(self._allowed_programs, kind, node, answer.text, self._packages)
        if kind == WEBHOOK:
            return await self._webhooks.check(str(node["value"]), answer.output, _asked_text(answer.trace), variables)
        if kind == GOAL:
            goal = node["value"] if isinstance(node["value"], str) else node["value"]["goal"]
            trajectory = summary(self._trace(answer, kind), self._command_tools)
            variables = {**variables, "goal": goal.strip(), "trajectory": trajectory}
        if "grader" in node:
            return await self._graders.grade(kind, node, answer.text, _asked_text(answer.trace), variables)
        return self._looked_up(node, answer)

    async def _set(self, node: Mapping[str, Any], answer: LookedAt) -> _Result:
        inner = [await self._checked(item, answer) for item in node["assert"]]
        passed, score = _summed(inner, node.get("threshold"))
        result = self._result(node, Graded(passed, score))
        for name, value, weight in (metric for part in inner for metric in part.metrics):
            if name != node.get("metric"):
                result.metrics.append((name, value, weight * result.weight))
        return result._replace(evidence={**result.evidence, "assertions": [item.evidence for item in inner]})

    def _result(self, node: Mapping[str, Any], graded: Graded) -> _Result:
        weight = 1.0 if node.get("weight") is None else float(node["weight"])
        passed = graded.passed or weight == 0  # without a weight it only measures
        metrics = [(str(node["metric"]), graded.score, weight)] if node.get("metric") else []
        return _Result(passed, graded.score, weight, metrics, _evidence(node, graded._replace(passed=passed), weight))

    async def _transformed(self, program: Mapping[str, Any], answer: LookedAt) -> LookedAt:
        output = await self._run(program, answer, {})
        if output is None:
            raise self._failure("bad_output", "a transform returned nothing")
        return answer._replace(output=output, text=_as_text(output))

    async def _scored(
        self, program: Mapping[str, Any], metrics: Mapping[str, float], results: Sequence[_Result], sample: Sample
    ) -> Graded:
        """The result of the author's program over all assertions."""
        parts = [{"pass": result.passed, "score": result.score, "reason": ""} for result in results]
        context = {"threshold": sample.extras.get("threshold"), "componentResults": parts}
        return _by_program(
            {"type": "", "program": program}, await self._allowed_programs.run(program, metrics, context)
        )

    @property
    def _allowed_programs(self) -> Programs:
        if self._programs is None:
            raise self._failure("untrusted", "this task does not declare that it runs programs")
        return self._programs

    async def _run(self, program: Mapping[str, Any], answer: LookedAt, node: Mapping[str, Any]) -> Any:
        variables, metadata, trace = (
            answer.sample.row or {},
            metadata_of(answer.trace),
            trace_of(answer.trace.completions),
        )
        context = {
            "prompt": _asked_text(answer.trace),
            "vars": variables,
            "test": {"vars": variables, "metadata": answer.sample.metadata},
            "metadata": metadata,
            "providerResponse": {"output": answer.output, **({"metadata": metadata} if metadata else {})},
            **({} if trace is None else {"trace": trace}),
            **({"config": node["config"]} if node.get("config") is not None else {}),
        }
        return await self._allowed_programs.run(program, answer.output, context)

    def _looked_up(self, node: Mapping[str, Any], answer: LookedAt) -> Graded:
        kind = str(node["type"]).removeprefix(NEGATION)
        try:
            if kind in ASSERTIONS:
                return yes(ASSERTIONS[kind](answer.text, node.get("value")))
            if kind == "cost":
                return self._cost(answer.trace, float(node["threshold"]))
            if kind in _TOOL_CALLS:
                return yes(calls_are_valid(answer.output, self._tools))
            if kind in SPAN_ASSERTIONS:
                return SPAN_ASSERTIONS[kind](self._trace(answer, kind)["spans"], node.get("value"))
            if kind in TRAJECTORY_ASSERTIONS:
                steps = steps_of(self._trace(answer, kind)["spans"], self._command_tools)
                return TRAJECTORY_ASSERTIONS[kind](steps, node["value"], negated=is_negated(node))
            return ANSWER_CHECKS[kind](answer, node)
        except PatternTimeoutError as error:
            raise self._failure("timeout", str(error)) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._failure("bad_input", f"`{kind}` cannot be checked: {type(error).__name__}: {error}") from error

    def _trace(self, answer: LookedAt, kind: str) -> dict[str, Any]:
        trace = trace_of(answer.trace.completions)
        if trace is None:
            message = (
                f"`{kind}` needs a trace, and this answer was recorded without one; run the task again with `tracing` "
                "enabled in the configuration"
            )
            raise self._failure("unsupported", message)
        return trace

    def _cost(self, trace: Trace, most: float) -> Graded:
        cost = None if self._cost_of is None else self._cost_of(trace.completions)
        if cost is None:
            raise self._failure("unsupported", "no price is known for this model, or it counts no tokens")
        return yes(cost <= most, f"{cost:g}")

    def _failure(self, kind: str, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind=kind, message=message))


def _described(options: Mapping[str, Any]) -> ScorerInfo:
    called = options.get("webhooks") or ()
    addresses = called if isinstance(called, list | tuple) else (called,)
    return ScorerInfo(
        values=(share("score"), share("passed")),
        more_values=True,
        reaches=tuple(("address", str(address), "webhooks") for address in addresses if address),
    )


@describes(lambda options, _: _described(options))
def sample_assertions(
    key: str,
    *,
    graders: Mapping[str, Mapping[str, Any]] | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    python_snippet: str | None = None,
    node_program: str | None = None,
    packages: Mapping[str, str] | None = None,
    webhooks: Sequence[str] = (),
    command_tools: Sequence[str] = (),
    context: BuildContext = NO_CONTEXT,
) -> SampleAssertions:
    """The assertions of each sample (`extras.assertions`), weighted and nested: those of promptfoo's tests.

    `graders` are the models that some of them call, `tools` what tool calls are checked against; `python_snippet` and
    `node_program` say which programs of the tests are run, `packages` the folder above the `node_modules` that holds
    each npm package, `webhooks` the addresses that are called, `command_tools` the tools whose calls are commands in
    the steps of a trace.
    """
    return SampleAssertions(
        key,
        graders or {},
        tools,
        bool(python_snippet or node_program),
        packages or {},
        webhooks,
        command_tools,
        context,
    )


def _summed(results: Sequence[_Result], threshold: Any) -> tuple[bool, float]:
    """Whether they pass together, and their weighted mean."""
    total = math.fsum(result.weight for result in results)
    mean = math.fsum(result.score * result.weight for result in results) / total if total > 0 else 0.0
    return (all(result.passed for result in results) if threshold is None else mean >= float(threshold)), mean


def _metrics(results: Sequence[_Result]) -> dict[str, float]:
    sums: dict[str, tuple[float, float]] = {}
    for name, score, weight in (metric for result in results for metric in result.metrics):
        so_far, weights = sums.get(name, (0.0, 0.0))
        sums[name] = so_far + score * weight, weights + weight
    return {name: total / weights if weights > 0 else 0.0 for name, (total, weights) in sums.items()}


def _negated(node: Mapping[str, Any], graded: Graded) -> Graded:
    """`not-` negates an assertion and inverts its score."""
    if not is_negated(node):
        return graded
    if str(node["type"]).endswith(GOAL):
        return Graded(not graded.passed, float(not graded.passed), graded.reason)
    if str(node["type"]).endswith(F1):  # which promptfoo does not invert
        return graded._replace(passed=not graded.passed)
    score = 1.0 - graded.score
    if str(node["type"]).endswith("llm-rubric"):  # a grader may ignore the range in its prompt
        score = min(1.0, max(0.0, score))
    return Graded(not graded.passed, score, graded.reason)


def _by_program(node: Mapping[str, Any], value: Any) -> Graded:
    """What a program returned: whether, how well, or both with a reason."""
    negated, threshold = is_negated(node), node.get("threshold")
    if isinstance(value, str) and node["program"]["language"] == "python":
        value = _spoken(value)
    if isinstance(value, bool):
        return Graded(value is not negated, float(value is not negated))
    if isinstance(value, int | float):
        holds = value > 0 if threshold is None else value >= threshold
        return Graded(holds is not negated, float(value))
    if isinstance(value, dict):
        value = {_CAMELS.get(name, name): each for name, each in value.items()}
        score = value.get("score")
        if isinstance(value.get("pass"), bool) and isinstance(score, int | float) and not isinstance(score, bool):
            holds = value["pass"]
            if node["program"]["language"] == "python" and threshold is not None and score < threshold:
                holds = False
            return Graded(holds is not negated, float(score), str(value.get("reason") or ""))
    raise _bad_return(value)


_CAMELS = {"pass_": "pass"}


def _spoken(text: str) -> Any:
    """The result that a Python program returned as text: true, false, an object or a number."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return json.loads(text) if text.startswith("{") else float(text)
    except ValueError as error:
        raise _bad_return(text) from error


def _bad_return(value: Any) -> FailureError:
    shown = shortened(json.dumps(value, default=str), MOST_SHOWN)
    message = (
        f"a program must return true or false, a number, or an object with `pass`, `score` and `reason`, got {shown}"
    )
    return FailureError(Failure(stage="scorer", kind="bad_output", message=message))


def _evidence(node: Mapping[str, Any], graded: Graded, weight: float) -> dict[str, Any]:
    value = node.get("value")
    shown = {} if value is None else {"value": shortened(value, MOST_SHOWN) if isinstance(value, str) else value}
    reason = {"found": shortened(graded.reason, MOST_SHOWN)} if graded.reason else {}
    metric = {"metric": node["metric"]} if node.get("metric") else {}
    return {
        "type": node["type"],
        **shown,
        "passed": graded.passed,
        "score": graded.score,
        "weight": weight,
        **metric,
        **reason,
    }


def _output_of(trace: Trace) -> Any:
    """The answer as a value: tool calls where it is nothing else."""
    last = trace.completions[-1] if trace.completions else None
    if last is None or not last.tool_calls:
        return trace.prediction
    return last.tool_calls if not last.text else {"content": last.text, "tool_calls": last.tool_calls}


def _asked_text(trace: Trace) -> str:
    """The input: the prompt, or the messages before the answer as JSON."""
    if trace.prompt is not None:
        return trace.prompt
    before = (trace.messages or ())[:-1]
    if len(before) == 1 and isinstance(before[0].content, str):
        return before[0].content
    return json.dumps([{"role": item.role, "content": item.content} for item in before], ensure_ascii=False, indent=2)


def _as_text(output: Any) -> str:
    if isinstance(output, str):
        return output
    return json.dumps(output, ensure_ascii=False, separators=(",", ":"))


_TOOL_CALLS = ("is-valid-openai-tools-call", "is-valid-function-call", "is-valid-openai-function-call")
