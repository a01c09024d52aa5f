"""Short answers: the field's comparisons for open questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.metrics.text import squad_words


def squad_exact_match(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction equals a target after lowercasing and dropping articles, punctuation and extra spaces.

    Misleads when the answer is right and longer than the targets ("in December 1972"), or spelt in another way.
    Example: squad_exact_match("The Beatles!", ["beatles"], {}) == 1.0
    Reference: Rajpurkar et al. 2016, the evaluation script of SQuAD.
    """
    said = squad_normalized(prediction)
    if not said:  # an answer such as "The The" vanishes; nothing said is not the same as that
        return float(prediction.strip() != "" and prediction.strip() in targets)
    return float(any(said == squad_normalized(target) for target in targets))


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
    said = squad_normalized(prediction)
    wanted = [squad_normalized(target) for target in targets]
    return float(bool(said) and any(target in said or said in target for target in wanted if target))
