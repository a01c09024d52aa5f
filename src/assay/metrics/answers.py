"""Short answers: the field's comparisons for open questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.metrics.text import squad_words


def squad_exact_match(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction equals a target after lowercasing and dropping articles, punctuation and extra spaces.

    Misleads when the answer is right and longer than the targets ("in December 1972"), or spelt in another way.
    Example: squad_exact_match("The Beatles!", ["beatles"], {}) == 1.0
    Reference: Rajpurkar et al. 2016, the evaluation script of SQuAD.
    """
    answer = squad_normalized(prediction)
    if not answer:  # an answer such as "The The" vanishes; an empty prediction is not the same as that
        return float(prediction.strip() != "" and prediction.strip() in targets)
    return float(any(answer == squad_normalized(target) for target in targets))


def squad_normalized(text: str) -> str:
    """One spelling per short answer.

    Example: squad_normalized("The Beatles!") == "beatles"
    """
    return " ".join(squad_words(text))


def starts_with(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction begins with a target, surrounding whitespace ignored.

    Misleads when one target is a prefix of a wrong answer ("A", "All of them").
    Example: starts_with("Paris, of course", ["Paris"], {}) == 1.0
    Reference: the `match` template of OpenAI evals.
    """
    text = prediction.strip()
    return float(any(target.strip() != "" and text.startswith(target.strip()) for target in targets))


def fuzzy_match(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when prediction or target contains the other, both lowercased, without articles and punctuation.

    Misleads when a target is short: "no" is in "I do not know".
    Example: fuzzy_match("It is the Eiffel Tower.", ["Eiffel tower"], {}) == 1.0
    Reference: the `fuzzy_match` template of OpenAI evals.
    """
    answer = squad_normalized(prediction)
    return float(any(_either_contains(answer, squad_normalized(target)) for target in targets))


def _either_contains(answer: str, target: str) -> bool:
    return target in answer or answer in target if answer and target else answer == target


def json_match(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction is the same JSON value as a target; `null` is equal to nothing, not even to itself.

    Misleads when a target has a field that does not matter: every field must be there, and no other.
    Example: json_match('{"b": [2], "a": 1}', ['{"a": 1, "b": [2]}'], {}) == 1.0
    Reference: the `JsonMatch` class of OpenAI evals.
    """
    value = _json(prediction)
    return float(any(_same_json(value, _json(target)) for target in targets))


def _json(text: str) -> Any:
    """The value; None, which equals nothing, where the text is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _same_json(left: Any, right: Any) -> bool:
    if left is None or right is None or isinstance(left, bool) != isinstance(right, bool):
        return False  # Python takes true for 1
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same_json(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same_json, left, right))
    return bool(left == right)
