"""Short answers: the field's comparison for open questions, and answers that are stated at the end of a text."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from assay.metrics.extraction import own_answer
from assay.metrics.post_process import extract_code_block, extract_first_line
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


_WHAT_FOLLOWS = r"(?:\s*+(?=[^\n])|\s*(?=[^\S\n]\n*+\Z))"
"""To the next word; where only blanks are left, to the last of them."""
_STATED = re.compile(
    r"[aA](?i:nswer)(?<=\b\w{6})(?:\s++(?!(?i:answer)\b)\w++){0,6}?\s*+"
    rf"(?:\b(?i:is)\b(?:\s*+:{_WHAT_FOLLOWS}|{_WHAT_FOLLOWS})|:{_WHAT_FOLLOWS})"
)


def extract_stated_answer(text: str) -> str:
    """What stands after the last "answer is" or "answer:", else the first line; no bold, no full stop at the end.

    A line that begins with "Q:" or "Question:" ends the answer.
    Misleads when a model answers in a sentence without announcing its answer.
    Example: extract_stated_answer("We sort them. So the answer is apple pear.") == "apple pear"
    """
    text = own_answer(text)
    announced = deque(_STATED.finditer(text), maxlen=1)
    line = text[announced[0].end() :].partition("\n")[0] if announced else extract_first_line(text)
    return line.strip().strip("*_`\"' ").removesuffix(".").strip("*_`\"' ").strip()


_AFTER_THE_BODY = re.compile(r"\n(?=class\b|def\b|@|#|if\b|print\b|assert\b|```)")


def extract_function_body(text: str) -> str:
    """The program in a continuation of an unfinished function: its body up to the next thing at the margin.

    A fenced block is taken as it is, and so is a text that begins with a definition of its own.
    Misleads when a body needs a helper that the model wrote after it: that helper is cut off, as published.
    Example: extract_function_body("    return x + 1\\n\\nprint(f(1))") == "    return x + 1\\n"
    Reference: the stop sequences of Chen et al. 2021, section 2.1.
    """
    if "```" in text or not text.lstrip("\n").startswith((" ", "\t")):
        return extract_code_block(text)
    return _AFTER_THE_BODY.split(text, maxsplit=1)[0]


_CLOSED = re.compile(r"\[DONE\]|\[/?BEGIN\]")


def extract_program(text: str) -> str:
    """The program in a text: between [BEGIN] and [DONE] where these stand, else in the first code block, else all.

    Example: extract_program("[BEGIN]\\nx = 1\\n[DONE]") == "x = 1"
    """
    parts = [part for part in _CLOSED.split(text) if part.strip()]
    return extract_code_block((parts[0] if parts else text).strip("\r\n"))
