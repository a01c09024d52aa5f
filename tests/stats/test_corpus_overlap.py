"""Corpus BLEU and chrF: equal to sacrebleu's, with an interval over the answers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

import assay
from assay.metrics.corpus_overlap import bleu_counts, chrf_counts
from assay.stats.corpus_overlap import bleu_of_sums, chrf_of_sums

WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat,", "1.5", "ran."]
WORDS += ["“to”", "Köln", "東京", "京都", "e\u0301", ":-)", "&amp;", "—"]


def texts(seed: int, size: int, longest: int) -> tuple[list[str], list[str]]:
    random = Random(seed)

    def text() -> str:
        return " ".join(random.choices(WORDS, k=random.randint(0, longest)))

    targets = [text() or "one" for _ in range(size)]
    answers = [target if random.random() < 0.3 else text() for target in targets]
    return answers, targets


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("size", "longest"), [(1, 3), (4, 6), (40, 25)])
def test_both_equal_sacrebleu(seed: int, size: int, longest: int) -> None:
    answers, targets = texts(seed, size, longest)
    pairs = list(zip(answers, targets, strict=True))
    bleu = bleu_of_sums(np.array([[bleu_counts(*pair) for pair in pairs]], float).sum(axis=1))[0]
    chrf = chrf_of_sums(np.array([[chrf_counts(*pair) for pair in pairs]], float).sum(axis=1))[0]
    assert bleu == pytest.approx(BLEU().corpus_score(answers, [targets]).score / 100, abs=1e-9)
    assert chrf == pytest.approx(CHRF().corpus_score(answers, [targets]).score / 100, abs=1e-9)


def test_a_task_reports_the_number_over_all_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers, targets = texts(3, 30, 12)
    rows = [{"answer": answer, "target": target} for answer, target in zip(answers, targets, strict=True)]
    board = assay.evaluate(rows, answers="answer", scorer=["corpus_bleu", "corpus_chrf"]).leaderboard
    found = {item.name: item for item in board.tasks[0].aggregates}
    assert found["corpus_bleu"].value == pytest.approx(BLEU().corpus_score(answers, [targets]).score / 100)
    assert found["corpus_chrf"].value == pytest.approx(CHRF().corpus_score(answers, [targets]).score / 100)
    assert found["corpus_bleu"].low is not None
