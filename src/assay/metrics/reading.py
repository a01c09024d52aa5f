"""Answers of several spans, numbers and dates about a passage, compared as DROP's evaluation does. Pure functions."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

MOST_SPANS = 50
LONGEST_ANSWER = 10_000
"""Characters of an answer that are read."""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_BETWEEN_WORDS = re.compile(r"[ -]")
_BETWEEN_SPANS = re.compile(r"[,;\n|]|\band\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def drop_scores(prediction: str, answers: Sequence[Sequence[str]]) -> tuple[float, float]:
    """(exact match, F1) of a prediction, the best over all answers; an answer is a list of spans.

    A number, a date and a single span are answers of one span. For an answer of several, the prediction is read as one
    span and as a list (commas, semicolons, "and", lines), and the better reading counts.
    Misleads when a right answer is a sentence: every word outside the spans costs precision.
    Example: drop_scores("The 9 and Bears", [["Bears", "9"]]) == (1.0, 1.0)
    Reference: Dua et al. 2019, DROP, section 5; its evaluation script (F1 rounded to two places).
    """
    prediction = prediction[:LONGEST_ANSWER]
    best = (0.0, 0.0)
    for answer in answers:
        if not answer or not answer[0].strip():
            continue
        wanted = [_words(span) for span in answer[:MOST_SPANS]]
        readings = [[prediction]]
        if len(wanted) > 1:
            readings.append(_BETWEEN_SPANS.split(prediction)[:MOST_SPANS])
        for reading in readings:
            scores = _compare([_words(span) for span in reading], wanted)
            best = max(best[0], scores[0]), max(best[1], scores[1])
    return best


def _compare(answer: list[list[str]], target: list[list[str]]) -> tuple[float, float]:
    texts, targets = [" ".join(words) for words in answer], [" ".join(words) for words in target]
    exact = float(set(texts) == set(targets) and len(texts) == len(targets))
    bags = [set(words) for words in answer]
    scores = [[_bag_f1(bag, set(words)) for bag in bags] for words in target]
    mean = _best_pairing(scores) / max(len(answer), len(target))
    return exact, round(mean * 100) / 100  # as numpy rounds, which the published numbers went through


def _words(span: str) -> list[str]:
    """The words of a span: lowercase, no articles and punctuation, one spelling per number."""
    return " ".join(map(_word, _BETWEEN_WORDS.split(span.lower()))).split()


def _word(token: str) -> str:
    if (number := _as_number(token)) is None:
        token = token.translate(_NO_PUNCTUATION)
        number = _as_number(token)
    return _ARTICLES.sub(" ", token if number is None else str(number))


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _bag_f1(answer: set[str], target: set[str]) -> float:
    """F1 of two sets of words; 0 where the target has numbers and the prediction none of them."""
    numbers = {word for word in target if _as_number(word) is not None}
    if numbers and not numbers & answer:
        return 0.0
    shared = len(answer & target)
    precision = shared / len(answer) if answer else 1.0
    recall = shared / len(target) if target else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _best_pairing(scores: list[list[float]]) -> float:
    """The largest sum of scores with every row and every column used at most once (the Hungarian method)."""
    if len(scores) > len(scores[0]):
        scores = [list(column) for column in zip(*scores, strict=True)]
    rows, columns = len(scores), len(scores[0])
    row_price, column_price = [0.0] * (rows + 1), [0.0] * (columns + 1)
    row_of = [0] * (columns + 1)
    """The row assigned to each column, counted from 1; column 0 has the row that is to be assigned."""
    for row in range(1, rows + 1):
        row_of[0], column = row, 0
        slack, came_from, visited = [float("inf")] * (columns + 1), [0] * (columns + 1), [False] * (columns + 1)
        while row_of[column]:
            visited[column] = True
            least, nearest = float("inf"), 0
            for item in range(1, columns + 1):
                if visited[item]:
                    continue
                cost = -scores[row_of[column] - 1][item - 1] - row_price[row_of[column]] - column_price[item]
                if cost < slack[item]:
                    slack[item], came_from[item] = cost, column
                if slack[item] < least:
                    least, nearest = slack[item], item
            for each in range(columns + 1):
                if visited[each]:
                    row_price[row_of[each]] += least
                    column_price[each] -= least
                else:
                    slack[each] -= least
            column = nearest
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    return sum(scores[row - 1][column - 1] for column, row in enumerate(row_of) if column and row)
