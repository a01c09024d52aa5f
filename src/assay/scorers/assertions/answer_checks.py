"""The checks of one answer that need no other model: shares, counts, markup, and how the answer came about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from assay.core.types import Sample, Trace
from assay.scorers.assertions.assertion_kinds import ASSERTIONS
from assay.scorers.assertions.graded_assertions import Graded
from assay.scorers.assertions.markup_assertions import contains_html, contains_xml, is_html, is_refusal, is_xml
from assay.scorers.assertions.overlap_assertions import bleu, edit_distance, gleu, rouge_1
from assay.scorers.assertions.skill_assertions import skill_used
from assay.scorers.assertions.tool_call_assertions import tool_call_f1

NEGATION = "not-"
F1 = "tool-call-f1"
SKILL = "skill-used"
GUARDRAILS = "guardrails"


class LookedAt(NamedTuple):
    """What assertions look at: the answer, as a value and as a text, and how it came about."""

    output: Any
    text: str
    trace: Trace
    sample: Sample


def yes(holds: bool, reason: str = "") -> Graded:
    return Graded(holds, float(holds), reason)


def metadata_of(trace: Trace) -> dict[str, Any]:
    """What the author's own provider returned in addition to its answer."""
    raw = (trace.completions[-1].raw if trace.completions else None) or {}
    metadata = raw.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def is_negated(node: Mapping[str, Any]) -> bool:
    return str(node["type"]).startswith(NEGATION)


def _references(node: Mapping[str, Any]) -> list[str]:
    value = node["value"]
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _share(score: float, node: Mapping[str, Any], usual: float) -> Graded:
    wanted = usual if node.get("threshold") is None else float(node["threshold"])
    return Graded(score >= wanted, score, f"{score:.3f}")


def _levenshtein(answer: LookedAt, node: Mapping[str, Any]) -> Graded:
    distance = edit_distance(answer.text, str(node["value"]))
    return yes(distance <= (5 if node.get("threshold") is None else float(node["threshold"])), f"distance {distance}")


def _word_count(answer: LookedAt, node: Mapping[str, Any]) -> Graded:
    words, value = len(answer.text.split()), node["value"]
    if isinstance(value, dict):
        return yes(value.get("min", words) <= words <= value.get("max", words), f"{words} words")
    return yes(words == float(value), f"{words} words")


def _latency(answer: LookedAt, node: Mapping[str, Any]) -> Graded:
    milliseconds = 1000 * sum(completion.seconds for completion in answer.trace.completions)
    return yes(milliseconds <= float(node["threshold"]), f"{milliseconds:.0f} ms")


def _finish_reason(answer: LookedAt, node: Mapping[str, Any]) -> Graded:
    reason = answer.trace.completions[-1].finish_reason if answer.trace.completions else None
    return yes(reason is not None and reason.lower() == str(node["value"]).lower(), str(reason))


def _perplexity(answer: LookedAt, node: Mapping[str, Any]) -> Graded:
    """`perplexity` is at most the threshold; `perplexity-score`, one over one plus it, at least that."""
    tokens = answer.trace.completions[-1].logprobs if answer.trace.completions else None
    if not tokens:
        raise ValueError("the answer came without log-probabilities")
    perplexity = math.exp(-math.fsum(token["logprob"] for token in tokens) / len(tokens))
    threshold, negated = node.get("threshold"), is_negated(node)
    if node["type"].endswith("score"):
        score = 1 / (1 + perplexity)
        return Graded(not negated if threshold is None else score >= float(threshold), score, f"{score:.3f}")
    return yes(not negated if threshold is None else perplexity <= float(threshold), f"{perplexity:.3f}")


def _guardrails(answer: LookedAt, node: Mapping[str, Any]) -> Graded:
    """Holds unless the provider says that its safety checks flagged the answer; without checks it holds."""
    del node
    last = answer.trace.completions[-1] if answer.trace.completions else None
    if last is None:
        return yes(True)
    given = (last.raw or {}).get(GUARDRAILS) or {}
    if given.get("flagged"):
        where = "prompt" if given.get("flaggedInput") else "output" if given.get("flaggedOutput") else "content"
        return yes(False, str(given.get("reason") or f"the {where} failed safety checks"))
    return yes(last.refusal is None, last.refusal or "")


def _refusal(answer: LookedAt, node: Mapping[str, Any]) -> Graded:
    del node
    return yes(is_refusal(answer.text))


ANSWER_CHECKS: dict[str, Callable[[LookedAt, Mapping[str, Any]], Graded]] = {
    "levenshtein": _levenshtein,
    "word-count": _word_count,
    "bleu": lambda answer, node: _share(bleu(answer.text, _references(node)), node, 0.5),
    "gleu": lambda answer, node: _share(gleu(answer.text, _references(node)), node, 0.5),
    "rouge-n": lambda answer, node: _share(rouge_1(answer.text, str(node["value"])), node, 0.75),
    "is-xml": lambda answer, node: yes(is_xml(answer.text, node.get("value"))),
    "contains-xml": lambda answer, node: yes(contains_xml(answer.text, node.get("value"))),
    "is-html": lambda answer, _: yes(is_html(answer.text)),
    "contains-html": lambda answer, _: yes(contains_html(answer.text)),
    "is-refusal": _refusal,
    F1: lambda answer, node: _share(tool_call_f1(answer.output, node["value"]), node, 1.0),
    "latency": _latency,
    "perplexity": _perplexity,
    "perplexity-score": _perplexity,
    "finish-reason": _finish_reason,
    GUARDRAILS: _guardrails,
    SKILL: lambda answer, node: skill_used(metadata_of(answer.trace), node["value"], negated=is_negated(node)),
}
ABOUT_TEXTS = frozenset((*ASSERTIONS, *ANSWER_CHECKS)) - {
    "latency", "finish-reason", "perplexity", "perplexity-score", F1, GUARDRAILS, SKILL,
}  # fmt: skip
