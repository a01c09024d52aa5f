"""Assertions about an answer's similarity to a reference, by words and letters: BLEU, GLEU, ROUGE-N, edit distance.

Words are split as promptfoo splits them, so that thresholds mean the same; the metrics of tasks are in `metrics/`.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections import Counter
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

SMALLEST = 1e-7
"""Replaces a share of zero, which has no logarithm."""
ORDERS = (1, 2, 3, 4)


def bleu(candidate: str, references: Sequence[str]) -> float:
    """BLEU of words in lower case with equal weights for the orders that the candidate is long enough for."""
    if not candidate.strip():
        return 0.0
    words, reference_words = _words(candidate), [_words(reference) for reference in references]
    logs = []
    for order in ORDERS:
        own = _grams(words, order)
        if own:
            best = max((own & _grams(reference, order)).total() for reference in reference_words)
            logs.append(math.log(best / own.total() or SMALLEST))
    nearest = min((abs(len(reference) - len(words)), len(reference)) for reference in reference_words)[1]
    brevity = 1.0 if len(words) > nearest else math.exp(1 - nearest / len(words))
    return brevity * math.exp(math.fsum(logs) / len(logs))


def gleu(candidate: str, references: Sequence[str]) -> float:
    """The smaller of precision and recall over all orders; the best reference wins."""
    words = _without_full_stops(candidate)
    if not words:
        return 0.0
    return max(_gleu(words, _without_full_stops(reference)) for reference in references)


def _gleu(words: list[str], reference: list[str]) -> float:
    if words == reference:
        return 1.0
    pairs = [(_grams(words, order), _grams(reference, order)) for order in ORDERS]
    own, theirs = (sum(pair[at].total() for pair in pairs) for at in (0, 1))
    matched = sum((one & two).total() for one, two in pairs)
    return min(matched / own, matched / theirs) if own and theirs else 0.0


def rouge_1(candidate: str, reference: str) -> float:
    """The F-score of single tokens, in lower case; a token counts as often as both texts have it."""
    own, theirs = Counter(_treebank(candidate.lower())), Counter(_treebank(reference.lower()))
    overlap = (own & theirs).total()
    if not overlap:
        return 0.0
    precision, recall = overlap / own.total(), overlap / theirs.total()
    return 2 * precision * recall / (precision + recall)


def edit_distance(candidate: str, reference: str) -> int:
    """Insertions, deletions and substitutions of UTF-16 units, as JavaScript counts letters."""
    return Levenshtein.distance(_units(candidate), _units(reference))


def _units(text: str) -> list[int]:
    return array("H", text.encode(f"utf-16-{sys.byteorder[0]}e", "surrogatepass")).tolist()


def _words(text: str) -> list[str]:
    return text.lower().split()


def _without_full_stops(text: str) -> list[str]:
    words = [word.rstrip(".") for word in text.lower().split()]
    return words if any(words) else []


def _grams(words: Sequence[str], order: int) -> Counter[str]:
    return Counter(" ".join(words[at : at + order]) for at in range(len(words) - order + 1))


_TREEBANK = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"(?:^|(?<=[\s(\[{<]))\"", " `` "),
        (r"\"", " '' "),
        (r"\.{3}", " ... "),
        (r"([:,])(?!\d)", r" \1 "),
        (r"([;@#$%&])", r" \1 "),
        (r"([^.])(?<!\b[A-Za-z]\.[A-Za-z])(\.)([\])}>'\s]*)$", r"\1 \2\3 "),
        (r"([?!\]\[(){}<>])", r" \1 "),
        (r"--", " -- "),
        (r"^|$", " "),
        (r"([^'])' ", r"\1 ' "),
        (r"'([sSmMdD]) ", r" '\1 "),
        (r"('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r" \1 "),
        (r"(?i)\b(can)(not)\b", r" \1 \2 "),
        (r"(?i)\b(gim|lem)(me)\b", r" \1 \2 "),
        (r"(?i)\b(gon|wan)(na)\b", r" \1 \2 "),
        (r"(?i)\b(got)(ta)\b", r" \1 \2 "),
        (r"(?i)(?<!\w)('t)(is|was)\b", r" \1 \2 "),
    )
)


def _treebank(text: str) -> list[str]:
    """Tokens of the Penn Treebank: punctuation, clitics and the parts of contractions stand alone."""
    text = " ".join(text.split())
    for pattern, put in _TREEBANK:
        text = pattern.sub(put, text)
    return text.split()
