"""Few-shot examples: how they are put in front of a prompt, for every model alike, and how to tell that an author did
so by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

_SEPARATOR = "\n\n"
_QUESTION_LABELS = ("q", "question", "input", "example")
_LABEL = re.compile(r"\s{0,8}([^\W\d_][\w ]{0,29}?)[ \t]{0,3}\d{0,4}[ \t]{0,3}:")
_LINE_LABEL = re.compile(
    r"^ {0,3}(?:[#>*_-]{1,6}[ \t]{0,2})?([^\W\d_][\w ]{0,29}?)[ \t]{0,3}\d{0,4}[ \t*_]{0,3}:", re.MULTILINE
)
_QUESTION = re.compile(r"^ {0,3}(Q)[ \t]{0,3}\d{0,4}\.(?=\s)", re.MULTILINE | re.IGNORECASE)
_ANSWER = re.compile(r"(?:^|\s)A[ \t]{0,3}\d{0,4}\.(?=\s)", re.IGNORECASE)


def render(task: Any) -> str:
    """The text that is sent to a model: each example as `prompt completion`, then the prompt, blank lines between.

    `task` is a `TaskSpec` or a mapping with the same names.

    >>> render({"prompt": "2 + 2 =", "few_shot_examples": [{"prompt": "1 + 1 =", "completion": "2"}]})
    '1 + 1 = 2\\n\\n2 + 2 ='
    """
    if isinstance(task, Mapping):
        examples, prompt = task.get("few_shot_examples") or (), task["prompt"]
    else:
        examples, prompt = task.few_shot_examples, task.prompt
    if not examples:
        return str(prompt)
    return _SEPARATOR.join([*(" ".join(_pair(example)) for example in examples), prompt])


def find_embedded_block(prompt: str, examples: Sequence[Any] = ()) -> str | None:
    """Where a prompt already holds few-shot examples of its own, as a phrase that shows both places; None when it
    holds none.

    Four signs count. An example of the task stands in the prompt, word for word, on lines of its own. Or the label
    that begins a question begins two: the labels the task's examples use, or, for a task without examples, `Q:`,
    `Question:`, `Input:` and `Example:`. Or the prompt ends in a label that waits for its answer, whatever it is
    called, and the same two labels stand in it already with an answer (`Review: … Sentiment: good`). Or it ends in an
    equation that waits for its right side, and lines above have the same with other numbers, solved. A label begins a
    line or a sentence and may carry a number; a line indented by four or more is code, and the examples in a docstring
    are part of the question.
    """
    return (
        _example_in(prompt, examples)
        or _label_given_twice(prompt, examples)
        or _question_given_twice(prompt)
        or _answered_before(prompt)
        or _solved_before(prompt)
    )


def _pair(example: Any) -> tuple[str, str]:
    if hasattr(example, "completion"):
        return example.prompt, example.completion
    return example["prompt"], example["completion"]


def _example_in(prompt: str, examples: Sequence[Any]) -> str | None:
    for number, (question, answer) in enumerate(map(_pair, examples)):
        start = prompt.find(question) if question.strip() else -1
        if start < 0 or prompt[:start].rpartition("\n")[2].strip():
            continue
        rest = prompt[start + len(question) :].lstrip()
        if answer.strip() and rest.partition("\n")[0].strip() == answer.strip().partition("\n")[0]:
            return f"{_place(prompt, start)} is few_shot_examples[{number}] again"
    return None


def _label_given_twice(prompt: str, examples: Sequence[Any]) -> str | None:
    if prompt.count(":") < 2:
        return None
    first_places: dict[str, int] = {}
    for match in _label_pattern(_labels_of(examples) if examples else _QUESTION_LABELS).finditer(prompt):
        label, start = match[1].casefold(), match.start(1)
        first = first_places.setdefault(label, start)
        if first != start:
            return f"{_place(prompt, first)} and {_place(prompt, start)} both begin with the label `{match[1]}:`"
    return None


def _question_given_twice(prompt: str) -> str | None:
    """`Q.` is no abbreviation where it begins two lines and `A.` one between them."""
    questions = [match.start(1) for match in _QUESTION.finditer(prompt)]
    if len(questions) < 2 or not _ANSWER.search(prompt, questions[0], questions[1]):
        return None
    return f"{_place(prompt, questions[0])} and {_place(prompt, questions[1])} both begin with the label `Q.`"


def _solved_before(prompt: str) -> str | None:
    if not prompt.endswith("="):
        return None
    start = prompt.rfind("\n") + 1
    if not (shape := _shape(prompt[start:-1])):
        return None
    place = 0
    for line in prompt[:start].splitlines(keepends=True):
        left, _, right = line.partition("=")
        if right.strip() and _shape(left) == shape:
            return f"{_place(prompt, place)} and {_place(prompt, start)} are an equation and its solution each"
        place += len(line)
    return None


def _shape(expression: str) -> str:
    """An expression without its numbers; nothing where it is not one of two numbers or more."""
    shape = re.sub(r"\d+(?:\.\d+)?", "0", expression.replace(" ", "").strip())
    return shape if shape.count("0") > 1 else ""


def _answered_before(prompt: str) -> str | None:
    if not prompt.endswith(":"):
        return None
    labels = [(match[1].casefold(), match.start(1), match.end()) for match in _LINE_LABEL.finditer(prompt)]
    if len(labels) < 4 or labels[-1][2] != len(prompt):
        return None
    question, waiting = labels[-2][0], labels[-1][0]
    for (label, start, _), (following, _, end) in pairwise(labels[:-2]):
        answer = prompt[end : labels[-2][1]].lstrip(" \t").partition("\n")[0]
        if question != waiting and (label, following) == (question, waiting) and answer:
            return f"{_place(prompt, start)} and {_place(prompt, labels[-2][1])} are a question and its answer each"
    return None


def _labels_of(examples: Sequence[Any]) -> tuple[str, ...]:
    matches = (_LABEL.match(_pair(example)[0]) for example in examples)
    return tuple(sorted({match[1].casefold() for match in matches if match}))


@lru_cache(maxsize=256)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    # every repetition is bounded, so that no prompt makes the search slow
    words = "|".join(re.escape(label) for label in labels) or r"(?!)"
    start = r"(?:^|(?<=[.!?:;]\s)) {0,3}(?:[#>*_-]{1,6}[ \t]{0,2})?"
    end = r"(?:[ \t]{0,3}\d{1,4})?[ \t*_]{0,3}:"
    return re.compile(f"{start}({words}){end}", re.IGNORECASE | re.MULTILINE)


def _place(prompt: str, start: int) -> str:
    line = prompt.count("\n", 0, start) + 1
    excerpt = prompt[start : start + 40].partition("\n")[0]
    return f"line {line} of the prompt ({excerpt!r})"
