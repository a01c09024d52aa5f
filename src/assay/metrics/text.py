"""Text metrics: whether the prediction is the target or contains it, and how many words they share."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def exact_match(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction equals a target, surrounding whitespace ignored.

    Misleads when the answer is right but not bare: "Paris." is not "Paris", and neither is "paris". Clean it with a
    post-process rule first, or use `normalized_exact_match`, which is what task folders call `exact_match`.
    Example: exact_match("41\\n", ["41", "forty-one"], {}) == 1.0
    Reference: the frozen task spec, where post-processing comes before the metric.
    """
    answer = prediction.strip()
    return float(any(answer == target.strip() for target in targets))


def normalized_exact_match(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction equals a target in lowercase with every run of whitespace as one space.

    Misleads where case or layout carry meaning (code, units: "mW" and "MW"), and still calls "Paris." wrong.
    Example: normalized_exact_match(" New\\tYork ", ["new york"], {}) == 1.0
    Reference: task folders, whose word for it is `exact_match`; tables show it as `exact_match (normalized)`.
    """
    answer = _normalized(prediction)
    return float(any(answer == _normalized(target) for target in targets))


def accuracy(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction is the target label, case and surrounding whitespace ignored.

    Misleads on unbalanced labels: the mean rewards always naming the most frequent one. A label inside a sentence
    ("The label is positive") counts as wrong.
    Example: accuracy("Positive ", ["positive"], {}) == 1.0
    Reference: the frozen task spec; the task's mean of it is the classification accuracy of the textbooks.
    """
    label = prediction.strip().lower()
    return float(any(label == target.strip().lower() for target in targets))


def substring_contains(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when a target occurs in the prediction, both in lowercase with whitespace collapsed.

    Misleads when the target is short ("no" is in "I know") or denied ("it is not Paris"), and rewards predictions
    that list every possibility. An empty target is never found.
    Example: substring_contains("It was\\nPARIS, of course.", ["paris"], {}) == 1.0
    Reference: task folders.
    """
    text = _normalized(prediction)
    return float(any(wanted in text for wanted in map(_normalized, targets) if wanted))


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())


def f1(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """Token F1 as SQuAD v2.0 counts it: shared words against both lengths; the best target counts.

    Misleads because order and negation do not count ("man bites dog" equals "dog bites man"), and outside English,
    where articles stay and unspaced scripts are one word. An empty target is matched only by an empty answer.
    Example: f1("the black cat", ["A cat"], {}) == 2 / 3
    Reference: Rajpurkar et al. 2018, https://arxiv.org/abs/1806.03822, the official evaluation script.
    """
    words = squad_words(prediction)
    return max((_word_f1(words, squad_words(target)) for target in targets), default=0.0)


_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"[at](?<!\w.)(?:(?<=a)n?|(?<=t)he)\b")
"""`\\b(a|an|the)\\b`, written so that a search can skip every other letter."""


def squad_words(text: str) -> list[str]:
    """The words of a text as SQuAD compares them: in lowercase, without punctuation, then without articles."""
    text = text.lower()
    if text.isascii():
        text = text.translate(_WITHOUT_PUNCTUATION)
    else:  # where a table is slow
        for mark in string.punctuation:
            text = text.replace(mark, "")
    return _ARTICLE.sub(" ", text).split()


def _word_f1(words: list[str], target: list[str]) -> float:
    if not words or not target:
        return float(words == target)
    shared = sum((Counter(words) & Counter(target)).values())
    return 2 * shared / (len(words) + len(target))
