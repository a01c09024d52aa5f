"""Names of a test that no program knows that it has to define, by what its prompt asks for."""

from __future__ import annotations

import re

from rapidfuzz.distance import Levenshtein

from assay.sandbox.assertions import Plan

_WORD = re.compile(r"[^\W\d]\w*")
_ASKED_FOR = re.compile(r"\bdef ([^\W\d]\w*)|`([^\W\d]\w*)(?:\([^`]*\))?`|\b([^\W\d]\w*)\(")
"""Names that a prompt marks as code."""


def undefined_name(plan: Plan, prompt: str, solution: str) -> str:
    """The first such name, in words; empty where there is none.

    Neither the prompt nor a right program has it, and the prompt asks for a function one letter off it, or for another
    one of the test. Classes may be usual ones, such as the `Node` of a tree.
    """
    known = set(_WORD.findall(f"{prompt} {solution}"))
    asked = {name for groups in _ASKED_FOR.findall(prompt) for name in groups if name}
    used = next((name for name in plan.names if name in asked), None)
    for name in (each for each in plan.names if each not in known):
        near = [word for word in asked if min(len(word), len(name)) > 2 and _one_off(word, name)]
        if near:
            return f"it uses `{name}`, and the prompt asks for `{near[0]}`"
        if used is not None and name.islower():
            return f"it uses `{name}`, which neither the test nor the prompt has, beside `{used}`"
    return ""


def _one_off(one: str, other: str) -> bool:
    return Levenshtein.distance(one, other, score_cutoff=1) == 1
