"""Overlap metrics: how much of a reference text's wording a prediction shares, in the field's own definitions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import compress, count, pairwise, repeat
from typing import Any


def rouge_l(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """ROUGE-L F1: the longest common subsequence of words, against both lengths; the best target counts.

    Misleads for languages not written in a-z and 0-9, whose words vanish in the tokeniser (two equal Chinese texts
    score 0.0, accents split words), and for reordered but equally good summaries.
    Example: rouge_l("the quick brown fox", ["the quick red fox"], {}) == 0.75
    Reference: Lin 2004, https://aclanthology.org/W04-1013; values equal `rouge_score` rougeL without stemming.
    """
    words = rouge_words(prediction)
    return max((_lcs_f1(words, rouge_words(target)) for target in targets), default=0.0)


# Lowercasing comes before this, so 26 letters and 10 digits are all that survives.
_ROUGE_TABLE = bytes(byte if chr(byte) in "abcdefghijklmnopqrstuvwxyz0123456789" else 32 for byte in range(256))


def rouge_words(text: str) -> list[bytes]:
    """The words that ROUGE-L compares; a text in another script than a-z and 0-9 has none."""
    # bytes, because a table lookup takes less than half the time of a regular expression
    return text.lower().encode("ascii", "replace").translate(_ROUGE_TABLE).split()


LARGE = 10_000_000
"""Pairs of words from which on it pays to drop words first. Time grows with the pairs; the result is the same."""


def _lcs_f1(words: list[bytes], target: list[bytes]) -> float:
    if not words or not target:
        return 0.0
    total = len(words) + len(target)
    if len(words) * len(target) > LARGE:  # a word that only one of them has is in no common subsequence
        shared = {*words} & {*target}
        words, target = [word for word in words if word in shared], [word for word in target if word in shared]
    return 2 * _fastest_lcs_length()(words, target) / total


def _lcs_length_in_python(words: Sequence[bytes], target: Sequence[bytes]) -> int:
    """Length of the longest common subsequence, one bit per word of `words` (Hyyrö 2004)."""
    places: dict[bytes, int] = {}
    for position, word in enumerate(words):
        places[word] = places.get(word, 0) | 1 << position
    everything = (1 << len(words)) - 1
    unmatched = everything
    for word in target:
        hits = unmatched & places.get(word, 0)
        unmatched = (unmatched + hits | unmatched - hits) & everything
    return len(words) - unmatched.bit_count()


@cache
def _fastest_lcs_length() -> Callable[[Sequence[bytes], Sequence[bytes]], int]:
    try:
        from rapidfuzz.distance import LCSseq
    except ImportError:  # no wheel for this platform: the same length, eight to ten times slower
        return _lcs_length_in_python
    return LCSseq.similarity


_MOST_COMPARED = 100_000


def edit_similarity(left: str, right: str) -> float:
    """How alike two texts are, from 0 to 1: twice their longest common subsequence of characters over both lengths.

    Says nothing about meaning: "yes" and "no" are unlike, "it is" and "it is not" alike. Of longer texts the first
    100,000 characters are compared.
    Example: edit_similarity("colour", "color") == 10 / 11
    Reference: normalised Indel similarity, as in RapidFuzz's `ratio`.
    """
    left, right = left[:_MOST_COMPARED], right[:_MOST_COMPARED]
    if not left and not right:
        return 1.0
    units = [[item.encode("utf-8", "surrogatepass") for item in text] for text in (left, right)]
    common = _fastest_lcs_length()(*units)
    return 2 * common / (len(left) + len(right))


def bleu_4(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """Sentence BLEU: geometric mean of the 1- to 4-gram precisions times a brevity penalty; the best target counts.

    Misleads on short answers, where one smoothed order decides, and on averages: the mean of sentence scores is not
    corpus BLEU. Several targets are compared one by one, not pooled as sacrebleu pools references. Case counts.
    Example: bleu_4("the cat sat on the mat", ["the cat sat on the mat"], {}) == 1.0
    Reference: Papineni et al. 2002, https://aclanthology.org/P02-1040; values equal sacrebleu's sentence BLEU
    (eff:yes, tok:13a, smooth:exp) divided by 100.
    """
    words = tokens_13a(prediction)
    return max((_sentence_bleu(words, tokens_13a(target)) for target in targets), default=0.0)


def _sentence_bleu(words: list[str], target: list[str]) -> float:
    length = len(words)
    hits, *longer = _shared_in_long(words, target) if length > LONG else (_shared(words, target),)
    if not hits:
        return 0.0
    order = min(4, length)  # "effective order": a text of three words has no 4-grams to be wrong about
    log_precisions = math.log(hits / length)
    misses = 0
    for n, hits in zip(range(2, order + 1), longer or _shared_longer(words, target)):  # noqa: B905 (short texts)
        # "exp" smoothing: the k-th order without a hit counts as half, a quarter, … of one
        misses += not hits
        log_precisions += math.log((hits or 0.5**misses) / (length - n + 1))
    brevity = min(0.0, 1 - len(target) / length)
    return min(1.0, math.exp(brevity + log_precisions / order))


def shared_ngrams(words: list[str], target: list[str]) -> list[int]:
    """How many 1-, 2-, 3- and 4-grams the texts share, each counted at most as often as the target has it."""
    if len(words) > LONG:
        return _shared_in_long(words, target)
    return [_shared(words, target), *_shared_longer(words, target)]


LONG, STRETCH = 20_000, 5040
"""Words of a long text, and of a stretch of it: a multiple of every length that a loop of a few words may have."""


def _shared_in_long(words: list[str], target: list[str]) -> list[int]:
    """Shared 1- to 4-grams. A very long text usually repeats itself: a repeated stretch is counted only once."""
    stretches = Counter(tuple(words[at : at + STRETCH + 3]) for at in range(0, len(words), STRETCH))
    wanted = [Counter(zip(*(target[start:] for start in range(n)))) for n in (1, 2, 3, 4)]  # noqa: B905 (as in `_grams`)
    seen: list[Counter[tuple[str, ...]]] = [Counter() for _ in wanted]
    for stretch, times in stretches.items():
        begins: Iterable[int] = compress(count(), map(wanted[0].__contains__, zip(stretch[:STRETCH])))
        for n, (known, grams) in enumerate(zip(wanted, seen, strict=True), start=1):
            # a shared n-gram begins with a shared one that is a word shorter
            places = [at for at in begins if stretch[at : at + n] in known]
            for gram, hits in Counter(stretch[at : at + n] for at in places).items():
                grams[gram] += hits * times
            begins = places
    return [(grams & known).total() for known, grams in zip(wanted, seen, strict=True)]


def _shared(grams: Sequence[Any], target: Sequence[Any]) -> int:
    """How many n-grams the texts share, each counted at most as often as the target has it."""
    left: dict[Any, int] = {}
    for gram in target:
        left[gram] = left.get(gram, 0) + 1
    hits = 0
    for gram in grams:
        spare = left.get(gram)
        if spare:
            left[gram] = spare - 1
            hits += 1
    return hits


def _shared_longer(words: list[str], target: list[str]) -> list[int]:
    """Shared 2-, 3- and 4-grams.

    Pairs of words rarely repeat. Then the position of each pair in the target is known, and a longer n-gram is shared
    exactly where pairs follow each other there too: one lookup per pair instead of building and hashing three n-grams.
    Where a pair does repeat, pairs are counted one by one, and triples are tried next.
    """
    shared: list[int] = []
    for n in (2, 3, 4):
        grams, target_grams = _grams(words, n), _grams(target, n)
        place = dict(zip(target_grams, count(1)))
        places = [*map(place.get, grams, repeat(0))]
        hits = len(places) - places.count(0)
        if len(place) == len(target_grams) and len({*places, 0}) > hits:
            return [*shared, hits, *_runs(places)][:3]
        shared.append(_shared(grams, target_grams))
    return shared


def _grams(words: list[str], n: int) -> list[tuple[str, ...]]:
    if n == 2:
        return [*pairwise(words)]
    return [*zip(*(words[start:] for start in range(n)))]  # noqa: B905 (the shifted lists end one after the other)


def _runs(places: list[int]) -> tuple[int, int]:
    """How often two, and three, neighbours in the list are consecutive places; 0 is no place."""
    twice = thrice = 0
    follows = False
    last = -1
    for here in places:
        if here > 1 and here == last + 1:
            twice += 1
            thrice += follows
            follows = True
        else:
            follows = False
        last = here
    return twice, thrice


# What is left of a text after this translation shows which rules of the tokeniser apply: digits as "0", ".", ",", "-"
# and the symbols that are always tokens of their own. Letters, apostrophes and everything beyond ASCII are ordinary.
_ALONE = '!"#$%&()*+/:;<=>?@[\\]^_`{|}~'
_DIGITS_AS_ZERO = bytes.maketrans(b"123456789", b"000000000")
_ORDINARY = bytes(byte for byte in range(256) if chr(byte) not in _ALONE + ".,-0123456789")


def tokens_13a(text: str) -> list[str]:
    """The words and symbols of a text as WMT's mteval-v13a script splits them."""
    text = text.rstrip()
    if "<" in text or "&" in text or "\n" in text:
        text = _without_markup(text)
    marks = {*text.encode("utf-8", "surrogatepass").translate(_DIGITS_AS_ZERO, _ORDINARY).decode("ascii")}
    if "0" in marks:
        marks.remove("0")
        if "-" in marks:
            for digit in "0123456789":
                text = text.replace(f"{digit}-", f"{digit} - ")
        if _POINT_IN_NUMBER.search(text):
            text = _split_around_numbers(text)
            marks.difference_update(".,")
    marks.discard("-")
    for mark in marks:
        text = text.replace(mark, f" {mark} ")
    return text.split()


def _without_markup(text: str) -> str:
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(entity, character)
    return text


_POINT_IN_NUMBER = re.compile(r"[0-9.,][.,][0-9]")
_POINT_POINT = re.compile(r"[.,][.,]")
_POINT_AROUND_NUMBER = re.compile(r"\.(?:(?<![0-9].)|(?![0-9]))")
_COMMA_AROUND_NUMBER = re.compile(r",(?:(?<![0-9].)|(?![0-9]))")
_LAST_STAYS = re.compile(r"([.,](?:(?<=[0-9].)|(?<![0-9.,].)[.,])(?:[.,]{2})*+)(?=[0-9])")
"""A run of points and commas whose last one stays with the digit after it."""


def _split_around_numbers(text: str) -> str:
    """Separate every point and comma except those between two digits."""
    if not _POINT_POINT.search(text):
        return _COMMA_AROUND_NUMBER.sub(" , ", _POINT_AROUND_NUMBER.sub(" . ", text))
    # The script goes over pairs of characters, from left to right and twice: of a run before a digit ("1.,.5", "a.,5")
    # the last is separated only where it comes second in such a pair. All others are separated.
    pieces = _LAST_STAYS.split(text.replace("\r", " "))
    pieces[1::2] = map(_with_last_hidden, pieces[1::2])
    text = "".join(pieces).replace(".", " . ").replace(",", " , ")
    return text.replace("\n", ".").replace("\r", ",")


@lru_cache(256)
def _with_last_hidden(run: str) -> str:
    """The last point replaced by a line break, which the text no longer has, or the last comma by a carriage return."""
    return run[:-1] + ("\n" if run[-1] == "." else "\r")
