"""CPU time of `rouge_l` and `bleu_4` beside rouge_score and sacrebleu: same texts, same run, same numbers.

    PYTHONPATH=src python bench/metrics.py [--pairs 10000] [--rounds 5]

Every round has texts of its own, because sacrebleu remembers what it has tokenised, and each of its rounds starts
with that memory empty. The rounds of all contestants are interleaved, and the best round of each counts.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator

from assay.metrics.overlap import bleu_4, rouge_l

Pair = tuple[str, str]
Contestant = Callable[[str, str], float]

LENGTHS = {"8-30 words": (8, 30), "60 words": (60, 60)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    matches = {"rouge_l": rouge_contestants(), "bleu_4": bleu_contestants()}
    print("| metric | text | µs per pair | against | µs per pair | ratio | largest difference |")
    print("| --- | --- | --: | --- | --: | --: | --: |")
    for length, bounds in LENGTHS.items():
        for metric, contestants in matches.items():
            for line in compare(contestants, bounds, arguments.pairs, arguments.rounds):
                print(f"| {metric} | {length} | {line} |", flush=True)


def compare(contestants: dict[str, Contestant], bounds: tuple[int, int], pairs: int, rounds: int) -> Iterator[str]:
    best = dict.fromkeys(contestants, float("inf"))
    difference = dict.fromkeys(contestants, 0.0)
    for number in range(rounds):
        texts = list(text_pairs(random.Random(number * 1000 + bounds[0]), bounds, pairs))
        ours: list[float] = []
        for name, score in contestants.items():
            forget_tokenised_texts()
            start = time.process_time()
            values = [score(prediction, target) for prediction, target in texts]
            best[name] = min(best[name], (time.process_time() - start) / pairs * 1e6)
            ours = ours or values
            difference[name] = max(difference[name], *(abs(a - b) for a, b in zip(ours, values, strict=True)))
    own = best.pop("assay")
    for name, theirs in best.items():
        yield f"{own:.1f} | {name} | {theirs:.1f} | {theirs / own:.1f} | {difference[name]:.1e}"


def rouge_contestants() -> dict[str, Contestant]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    return {
        "assay": lambda prediction, target: rouge_l(prediction, [target], {}),
        "rouge_score": lambda prediction, target: scorer.score(target, prediction)["rougeL"].fmeasure,
    }


def bleu_contestants() -> dict[str, Contestant]:
    import sacrebleu

    scorer = sacrebleu.BLEU(effective_order=True)
    return {
        "assay": lambda prediction, target: bleu_4(prediction, [target], {}),
        "sacrebleu BLEU().sentence_score": lambda prediction, target: (
            scorer.sentence_score(prediction, [target]).score / 100
        ),
        "sacrebleu.sentence_bleu": lambda prediction, target: sacrebleu.sentence_bleu(prediction, [target]).score / 100,
    }


def forget_tokenised_texts() -> None:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()


def text_pairs(rng: random.Random, bounds: tuple[int, int], count: int) -> Iterator[Pair]:
    """Targets from a Zipf-like word model, and predictions that keep, swap, drop or replace their words."""
    vocabulary = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 10))) for _ in range(5000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    for _ in range(count):
        words = rng.choices(vocabulary, weights, k=rng.randint(*bounds))
        changed = [edit(rng, word, vocabulary, weights) for word in words]
        yield punctuated(rng, [word for word in changed if word]), punctuated(rng, words)


def edit(rng: random.Random, word: str, vocabulary: list[str], weights: list[float]) -> str:
    chance = rng.random()
    if chance < 0.70:
        return word
    return "" if chance < 0.78 else rng.choices(vocabulary, weights)[0]


def punctuated(rng: random.Random, words: list[str]) -> str:
    """Sentences as people write them: capitals, commas, a number now and then, a bracket or quotation sometimes."""
    written = []
    for word in words:
        chance = rng.random()
        if chance < 0.02:
            written.append(f"{rng.randint(1, 2000)}" if chance < 0.014 else f"{rng.uniform(1, 99):.1f}%")
        elif chance < 0.03:
            written.append(f"({word})" if chance < 0.025 else f'"{word}"')
        elif chance < 0.12:
            written.append(f"{word}," if chance < 0.09 else f"{word}.")
        else:
            written.append(f"{word}'s" if chance < 0.13 else word)
    return " ".join(written).capitalize() + "."


if __name__ == "__main__":
    main()
