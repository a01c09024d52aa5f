"""What corpus BLEU and chrF count in one answer; their aggregates sum the counts over the task before dividing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assay.metrics.overlap import STRETCH, shared_ngrams, tokens_13a

WORDS, CHARACTERS = 4, 6
"""The longest n-grams: of words in BLEU, of characters in chrF."""
BLEU_COUNTS = (
    *(f"matched_{n}" for n in range(1, WORDS + 1)),
    *(f"ngrams_{n}" for n in range(1, WORDS + 1)),
    "words",
    "target_words",
)
CHRF_COUNTS = tuple(f"{what}_{n}" for n in range(1, CHARACTERS + 1) for what in ("answer", "target", "matched"))


def bleu_counts(prediction: str, target: str) -> list[int]:
    """The values of `BLEU_COUNTS`: n-grams of words that are in the target too, all n-grams, and both lengths."""
    words, wanted = tokens_13a(prediction), tokens_13a(target)
    matched = shared_ngrams(words, wanted)
    return [*matched, *(max(0, len(words) - n) for n in range(WORDS)), len(words), len(wanted)]


def chrf_counts(prediction: str, target: str) -> list[int]:
    """The values of `CHRF_COUNTS`: n-grams of characters without spaces, of the answer, of the target and of both."""
    answer, wanted = ("".join(text.split()) for text in (prediction, target))
    theirs = [Counter(wanted[at : at + n] for at in range(len(wanted) - n + 1)) for n in range(1, CHARACTERS + 1)]
    counts: list[int] = []
    for n, (ngrams, matched) in enumerate(zip(theirs, _matched(answer, theirs), strict=True), 1):
        # an order that the target is too short for counts nothing of the answer, as in the reference
        counts += [max(0, len(answer) - n + 1) if ngrams else 0, ngrams.total(), matched]
    return counts


def _matched(answer: str, theirs: list[Counter[str]]) -> list[int]:
    """How many n-grams of each order both have. A very long text usually repeats itself: a repeated stretch is counted
    only once.
    """
    stretches = Counter(answer[at : at + STRETCH + CHARACTERS - 1] for at in range(0, len(answer), STRETCH))
    seen: list[Counter[str]] = [Counter() for _ in theirs]
    for stretch, times in stretches.items():
        begins: Iterable[int] = range(min(STRETCH, len(stretch)))
        for n, (known, ngrams) in enumerate(zip(theirs, seen, strict=True), 1):
            # a shared n-gram begins with a shared one that is a character shorter
            begins = [at for at in begins if stretch[at : at + n] in known]
            for ngram, hits in Counter(stretch[at : at + n] for at in begins).items():
                ngrams[ngram] += hits * times
    return [(ngrams & known).total() for known, ngrams in zip(theirs, seen, strict=True)]
