"""What corpus BLEU and chrF count in one answer; their aggregates sum the counts over the task before dividing."""

from __future__ import annotations

from collections import Counter

from assay.metrics.overlap import shared_ngrams, tokens_13a

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
    counts: list[int] = []
    for n in range(1, CHARACTERS + 1):
        theirs, ours = _ngrams(wanted, n), _ngrams(answer, n)
        # an order that the target is too short for counts nothing of the answer, as in the reference
        counts += [ours.total() if theirs else 0, theirs.total(), (ours & theirs).total()]
    return counts


def _ngrams(text: str, n: int) -> Counter[str]:
    return Counter(text[at : at + n] for at in range(len(text) - n + 1))
