"""The prompt of a proposer: the current text, how it did, what was tried and rejected, and how to answer."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from assay.optimize.answer_block import fence_for
from assay.optimize.feedback import shortened
from assay.optimize.journal import ONE, Texts
from assay.optimize.settings import CURRENT, RESULTS, SearchSettings

_LONGEST_ATTEMPT = 600
_LONGEST_CASE = 2000
"""Of a first draft."""

DEFAULT_OBJECTIVE = "Rewrite the text so that its evaluations score higher."


class RejectedText(Struct, frozen=True, kw_only=True):
    """A rewriting that was tried and not kept."""

    before: str
    after: str
    reason: str
    failure: str | None = None
    """What its evaluation failed with."""
    number: int | None = None
    """Of the candidate that it made; None where it made none."""


def reflection_prompt(
    settings: SearchSettings,
    texts: Texts,
    component: str,
    results: Sequence[str],
    rejected: Sequence[RejectedText] = (),
) -> str:
    """The prompt for one rewriting of one component."""
    current = texts[component]
    rules = settings.constraints.in_words(component)
    fence = fence_for(current)
    shown = "\n\n".join(f"# Example {number}\n{result}" for number, result in enumerate(results, 1))
    if settings.template is not None:
        # one pass, so that nothing in a text is taken for a place
        prompt = _filled(settings.template, current, shown)
        return "\n\n".join(part for part in (prompt, _tried(rejected), _answer_format(fence)) if part)
    parts = [
        "You are an expert optimization assistant. Your task is to analyze evaluation feedback and propose an improved "
        "version of a system component.",
        f"## Optimization Goal\n\n{settings.objective or DEFAULT_OBJECTIVE}",
        f"## Domain Context\n\n{settings.background}" if settings.background else "",
        f"## Rules\n\n{rules}" if rules else "",
        _others(texts, component),
        f"## Current Component\n\n{_named(component)}\n\n{fence}\n{current}\n{fence}",
        f"## Evaluation Results\n\nHow the current component did on some of its cases:\n\n{shown.rstrip()}",
        _tried(rejected),
        "## Your Task\n\nLook for patterns in what failed and in what worked, and for their causes. Then write a "
        "version that fixes the causes, keeps what works, and would also do better on cases that are not shown here.",
        _answer_format(fence),
    ]
    return "\n\n".join(part for part in parts if part)


def first_draft_prompt(settings: SearchSettings, component: str, examples: Sequence[dict[str, Any]]) -> str:
    """The proposer's prompt when there is no seed."""
    rules = settings.constraints.in_words(component)
    cases = "\n".join(json.dumps(shortened(example, _LONGEST_CASE), ensure_ascii=False) for example in examples)
    parts = [
        "Write the first version of a text that will be improved step by step.",
        f"## Goal\n\n{settings.objective}",
        f"## Component\n\n{_named(component)}" if component != ONE else "",
        f"## Background\n\n{settings.background}" if settings.background else "",
        f"## Rules\n\n{rules}" if rules else "",
        f"## Some of the cases it will be tried on\n\n{cases}" if cases else "",
        _answer_format(fence_for()),
    ]
    return "\n\n".join(part for part in parts if part)


def repeat_complaint(text: str, current: str, tried: Sequence[str]) -> str:
    """What is wrong with a text that is known already, with others that are."""
    known = "the current text" if text == current else "a text that was tried before"
    others = [fromkey for fromkey in dict.fromkeys(tried) if fromkey != text]
    if not others:
        return f"it was {known}; write a different one"
    shown = "\n\n".join(map(_cut_to_attempt, others))
    return f"it was {known}; write a different one. These were tried as well:\n\n{shown}\n\n"


def _cut_to_attempt(text: str) -> str:
    return text if len(text) <= _LONGEST_ATTEMPT else f"{text[:_LONGEST_ATTEMPT]}…"


def _filled(template: str, current: str, results: str) -> str:
    places = {CURRENT: current, RESULTS: results}
    return re.sub("|".join(places), lambda place: places[place[0]], template)


def _named(component: str) -> str:
    return "The text being optimized:" if component == ONE else f"The component being optimized, `{component}`:"


def _others(texts: Texts, component: str) -> str:
    others = {name: text for name, text in texts.items() if name != component}
    if not others:
        return ""
    shown = "\n\n".join(f"### {name}\n\n{text}" for name, text in others.items())
    return f"## Other Components\n\nThese stay as they are:\n\n{shown}"


def _tried(rejected: Sequence[RejectedText]) -> str:
    if not rejected:
        return ""
    shown = "\n\n".join(
        f"- {candidate.reason}:\n{_change(candidate)}"
        + (f"\n\nIt failed with:\n\n{candidate.failure}" if candidate.failure else "")
        for candidate in rejected
    )
    return (
        f"## Already Tried\n\nThese rewritings of the current component were no better. Try something else.\n\n{shown}"
    )


@lru_cache(maxsize=128)  # each is shown with every rewriting of its parent until others take its place
def _change(each: RejectedText) -> str:
    lines = list(difflib.unified_diff(each.before.splitlines(), each.after.splitlines(), lineterm="", n=0))[2:]
    change = "\n".join(line for line in lines if not line.startswith("@@")) or "(the same text)"
    return _cut_to_attempt(change)


def _answer_format(fence: str) -> str:
    return (
        f"## Output Format\n\nAnswer with the new text alone, complete, between one pair of {fence} fences; "
        "a fence inside the text must be shorter than those around it. No explanations outside of them."
    )
