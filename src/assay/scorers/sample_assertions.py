"""The assertions of a test: each sample has its own weighted tree of them, in `extras.assertions`.

Texts are checked with the same table as elsewhere (`assertion_list.py`); there are also graded ones, which give a
share, those that another model decides, and the author's programs. `score` is 1.0 when the test passes: when every
assertion does, or the weighted mean of their scores reaches `extras.threshold`. `passed` is that mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Completion, Failure, Sample, Score, ScoreValue, Trace
from assay.patterns.matching import PatternTimeoutError
from assay.scorers.assertion_list import ASSERTIONS
from assay.scorers.graded_assertions import Graded, Graders
from assay.scorers.json_schema import conforms
from assay.scorers.markup_assertions import contains_html, contains_xml, is_html, is_refusal, is_xml
from assay.scorers.overlap_assertions import bleu, edit_distance, gleu, rouge_1
from assay.snippets.programs import Programs
from assay.wording import shortened

SET = "assert-set"
METRIC = "metric."
"""Before the name of a metric that assertions add up to, among the values of a score."""
NEGATION = "not-"
MOST_SHOWN = 200


class CheckedAnswer(NamedTuple):
    """What assertions check: the answer as a value and as a text, its trace and its sample."""

    output: Any
    text: str
    trace: Trace
    sample: Sample


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
        context: BuildContext,
    ) -> None:
        self.name = key
        self._graders = Graders(key, graders, context)
        self._tools = tools
        self._programs = Programs(key, context) if runs_programs else None
        self._cost_of = context.cost_of

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        asserted = sample.extras.get("assertions") or []
        if not asserted:
            return Score(name=self.name, values={"score": None}, reason="the test has no assertions")
        output = _output_of(trace)
        answer = CheckedAnswer(output, _as_text(output), trace, sample)
        if transform := sample.extras.get("transform"):
            answer = await self._transformed(transform, answer)
        results = [await self._check(node, answer) for node in asserted]
        passed, mean = _summed(results, sample.extras.get("threshold"))
        metrics = _metrics(results)
        if scoring := sample.extras.get("scoring"):
            passed, mean, _ = await self._scored(scoring, metrics, results, sample)
        broken = [str(each.evidence["type"]) for each in results if not each.passed]
        values: dict[str, ScoreValue] = {"score": float(passed), "passed": mean}
        return Score(
            name=self.name,
            values=values | {f"{METRIC}{name}": value for name, value in metrics.items()},
            answer=answer.text if answer.text != trace.prediction else None,
            reason=f"does not hold: {', '.join(broken)}" if broken else None,
            metadata={"assertions": [each.evidence for each in results]},
        )

    async def aclose(self) -> None:
        if self._programs is not None:
            await self._programs.aclose()

    def gold(self, sample: Sample) -> Completion | None:
        """An answer built from the assertions themselves, where all of them are about its text; None otherwise."""
        from assay.scorers.assertion_gold import Wanted, gold_text  # needed only when a task is checked

        asserted = sample.extras.get("assertions") or []
        kinds = [str(node["type"]).removeprefix(NEGATION) for node in asserted]
        if sample.extras.get("transform") or not asserted or any(kind not in _ABOUT_TEXTS for kind in kinds):
            return None
        wanted = [
            Wanted(kind.replace("-", "_"), str(node["type"]).startswith(NEGATION), node)
            for kind, node in zip(kinds, asserted, strict=True)
        ]

        def holds(text: str) -> bool:
            answer = CheckedAnswer(text, text, Trace(prediction=text), sample)
            results = [self._result(node, _negated(node, self._compute(node, answer))) for node in asserted]
            return _summed(results, sample.extras.get("threshold"))[0]

        try:
            text = gold_text(wanted, holds)
        except FailureError:
            return None  # scoring reports it
        return None if text is None else Completion(text=text)

    async def _check(self, node: Mapping[str, Any], answer: CheckedAnswer) -> _Result:
        if node["type"] == SET:
            return await self._set(node, answer)
        if node.get("transform"):
            answer = await self._transformed(node["transform"], answer)
        kind = str(node["type"]).removeprefix(NEGATION)
        if node.get("program"):
            return self._result(node, _by_program(node, await self._run(node["program"], answer, node)))
        if "grader" in node:
            prompt = _prompt_text(answer.trace)
            graded = await self._graders.grade(kind, node, answer.text, prompt, answer.sample.row or {})
            return self._result(node, _negated(node, graded))
        return self._result(node, _negated(node, self._compute(node, answer)))

    async def _set(self, node: Mapping[str, Any], answer: CheckedAnswer) -> _Result:
        children = [await self._check(each, answer) for each in node["assert"]]
        passed, score = _summed(children, node.get("threshold"))
        result = self._result(node, Graded(passed, score))
        for name, value, weight in (each for child in children for each in child.metrics):
            if name != node.get("metric"):
                result.metrics.append((name, value, weight * result.weight))
        return result._replace(evidence={**result.evidence, "assertions": [each.evidence for each in children]})

    def _result(self, node: Mapping[str, Any], graded: Graded) -> _Result:
        weight = 1.0 if node.get("weight") is None else float(node["weight"])
        passed = graded.passed or weight == 0  # without a weight it only measures
        metrics = [(str(node["metric"]), graded.score, weight)] if node.get("metric") else []
        return _Result(passed, graded.score, weight, metrics, _evidence(node, graded._replace(passed=passed), weight))

    async def _transformed(self, program: Mapping[str, Any], answer: CheckedAnswer) -> CheckedAnswer:
        output = await self._run(program, answer, {})
        if output is None:
            raise self._failure("bad_output", "a transform returned nothing")
        return answer._replace(output=output, text=_as_text(output))

    async def _scored(
        self, program: Mapping[str, Any], metrics: Mapping[str, float], results: Sequence[_Result], sample: Sample
    ) -> Graded:
        """The result of the author's program over all assertions."""
        if self._programs is None:
            raise self._failure("untrusted", "this task does not declare that it runs programs")
        parts = [{"pass": each.passed, "score": each.score, "reason": ""} for each in results]
        context = {"threshold": sample.extras.get("threshold"), "componentResults": parts}
        return _by_program({"type": "", "program": program}, await self._programs.run(program, metrics, context))

    async def _run(self, program: Mapping[str, Any], answer: CheckedAnswer, node: Mapping[str, Any]) -> Any:
        if self._programs is None:
            raise self._failure("untrusted", "this task does not declare that it runs programs")
        variables = answer.sample.row or {}
        context = {
            "prompt": _prompt_text(answer.trace),
            "vars": variables,
            "test": {"vars": variables, "metadata": answer.sample.metadata},
            "metadata": {},
            "providerResponse": {"output": answer.output},
            **({"config": node["config"]} if node.get("config") is not None else {}),
        }
        return await self._programs.run(program, answer.output, context)

    def _compute(self, node: Mapping[str, Any], answer: CheckedAnswer) -> Graded:
        kind = str(node["type"]).removeprefix(NEGATION)
        try:
            if kind in ASSERTIONS:
                return _yes(ASSERTIONS[kind](answer.text, node.get("value")))
            if kind == "cost":
                return self._cost(answer.trace, float(node["threshold"]))
            if kind in _TOOL_CALLS:
                return _yes(_calls_are_valid(answer.output, self._tools))
            return _CHECKS[kind](answer, node)
        except PatternTimeoutError as error:
            raise self._failure("timeout", str(error)) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._failure("bad_input", f"`{kind}` cannot be checked: {type(error).__name__}: {error}") from error

    def _cost(self, trace: Trace, most: float) -> Graded:
        cost = None if self._cost_of is None else self._cost_of(trace.completions)
        if cost is None:
            raise self._failure("unsupported", "no price is known for this model, or it counts no tokens")
        return _yes(cost <= most, f"{cost:g}")

    def _failure(self, kind: str, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind=kind, message=message))


def sample_assertions(
    key: str,
    *,
    graders: Mapping[str, Mapping[str, Any]] | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    python_snippet: str | None = None,
    node_program: str | None = None,
    context: BuildContext = NO_CONTEXT,
) -> SampleAssertions:
    """The assertions of each sample (`extras.assertions`), weighted and nested: those of promptfoo's tests.

    `graders` are the models that some of them call, `tools` what tool calls are checked against; `python_snippet` and
    `node_program` say which programs of the tests are run.
    """
    return SampleAssertions(key, graders or {}, tools, bool(python_snippet or node_program), context)


def _summed(results: Sequence[_Result], threshold: Any) -> tuple[bool, float]:
    """Whether they pass together, and their weighted mean."""
    total = math.fsum(each.weight for each in results)
    mean = math.fsum(each.score * each.weight for each in results) / total if total > 0 else 0.0
    return (all(each.passed for each in results) if threshold is None else mean >= float(threshold)), mean


def _metrics(results: Sequence[_Result]) -> dict[str, float]:
    sums: dict[str, tuple[float, float]] = {}
    for name, score, weight in (each for result in results for each in result.metrics):
        so_far, weights = sums.get(name, (0.0, 0.0))
        sums[name] = so_far + score * weight, weights + weight
    return {name: total / weights if weights > 0 else 0.0 for name, (total, weights) in sums.items()}


def _negated(node: Mapping[str, Any], graded: Graded) -> Graded:
    """`not-` negates an assertion and inverts its score."""
    if not str(node["type"]).startswith(NEGATION):
        return graded
    score = 1.0 - graded.score
    if str(node["type"]).endswith("llm-rubric"):  # a grader may ignore the range in its prompt
        score = min(1.0, max(0.0, score))
    return Graded(not graded.passed, score, graded.reason)


def _by_program(node: Mapping[str, Any], value: Any) -> Graded:
    """The grade in a program's return value: a boolean, a score, or an object with both and a reason."""
    negated, threshold = str(node["type"]).startswith(NEGATION), node.get("threshold")
    if isinstance(value, str) and node["program"]["language"] == "python":
        value = _parsed(value)
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


def _parsed(text: str) -> Any:
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


def _yes(holds: bool, reason: str = "") -> Graded:
    return Graded(holds, float(holds), reason)


def _output_of(trace: Trace) -> Any:
    """The answer as a value: tool calls where it is nothing else."""
    last = trace.completions[-1] if trace.completions else None
    if last is None or not last.tool_calls:
        return trace.prediction
    return last.tool_calls if not last.text else {"content": last.text, "tool_calls": last.tool_calls}


def _prompt_text(trace: Trace) -> str:
    """The prompt, or the messages before the answer as JSON."""
    if trace.prompt is not None:
        return trace.prompt
    before = (trace.messages or ())[:-1]
    if len(before) == 1 and isinstance(before[0].content, str):
        return before[0].content
    return json.dumps([{"role": each.role, "content": each.content} for each in before], ensure_ascii=False, indent=2)


def _as_text(output: Any) -> str:
    if isinstance(output, str):
        return output
    return json.dumps(output, ensure_ascii=False, separators=(",", ":"))


# -- checks that need no other model --------------------------------------------------------------------------------


def _references(node: Mapping[str, Any]) -> list[str]:
    value = node["value"]
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _share(score: float, node: Mapping[str, Any], default: float) -> Graded:
    threshold = default if node.get("threshold") is None else float(node["threshold"])
    return Graded(score >= threshold, score, f"{score:.3f}")


def _levenshtein(answer: CheckedAnswer, node: Mapping[str, Any]) -> Graded:
    distance = edit_distance(answer.text, str(node["value"]))
    return _yes(distance <= (5 if node.get("threshold") is None else float(node["threshold"])), f"distance {distance}")


def _word_count(answer: CheckedAnswer, node: Mapping[str, Any]) -> Graded:
    words, value = len(answer.text.split()), node["value"]
    if isinstance(value, dict):
        return _yes(value.get("min", words) <= words <= value.get("max", words), f"{words} words")
    return _yes(words == float(value), f"{words} words")


def _latency(answer: CheckedAnswer, node: Mapping[str, Any]) -> Graded:
    milliseconds = 1000 * sum(completion.seconds for completion in answer.trace.completions)
    return _yes(milliseconds <= float(node["threshold"]), f"{milliseconds:.0f} ms")


def _finish_reason(answer: CheckedAnswer, node: Mapping[str, Any]) -> Graded:
    reason = answer.trace.completions[-1].finish_reason if answer.trace.completions else None
    return _yes(reason is not None and reason.lower() == str(node["value"]).lower(), str(reason))


def _refusal(answer: CheckedAnswer, node: Mapping[str, Any]) -> Graded:
    del node
    return _yes(is_refusal(answer.text))


_CHECKS: dict[str, Callable[[CheckedAnswer, Mapping[str, Any]], Graded]] = {
    "levenshtein": _levenshtein,
    "word-count": _word_count,
    "bleu": lambda answer, node: _share(bleu(answer.text, _references(node)), node, 0.5),
    "gleu": lambda answer, node: _share(gleu(answer.text, _references(node)), node, 0.5),
    "rouge-n": lambda answer, node: _share(rouge_1(answer.text, str(node["value"])), node, 0.75),
    "is-xml": lambda answer, node: _yes(is_xml(answer.text, node.get("value"))),
    "contains-xml": lambda answer, node: _yes(contains_xml(answer.text, node.get("value"))),
    "is-html": lambda answer, _: _yes(is_html(answer.text)),
    "contains-html": lambda answer, _: _yes(contains_html(answer.text)),
    "is-refusal": _refusal,
    "latency": _latency,
    "finish-reason": _finish_reason,
}
_TOOL_CALLS = ("is-valid-openai-tools-call", "is-valid-function-call", "is-valid-openai-function-call")
_ABOUT_TEXTS = frozenset((*ASSERTIONS, *_CHECKS)) - {"latency", "finish-reason"}


def _calls_are_valid(output: Any, tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the answer is tool calls, each of a known function with arguments that its schema allows."""
    calls = output.get("tool_calls") if isinstance(output, dict) else output
    if not isinstance(calls, list) or not calls:
        return False
    schemas = {each["function"]["name"]: each["function"].get("parameters") for each in tools if "function" in each}
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
            return False
        try:
            given = json.loads(function["arguments"])
        except (ValueError, RecursionError):
            return False
        schema = schemas.get(function.get("name"))
        if schema is None or not conforms(given, schema):
            return False
    return True
