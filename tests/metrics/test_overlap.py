"""The overlap metrics against the libraries whose definitions they follow."""

from __future__ import annotations

import functools
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import example, given, settings
from hypothesis import strategies as st

import assay
from assay.metrics.overlap import _fastest_lcs_length, _lcs_length_in_python, bleu_4, rouge_l

SOURCE = str(Path(assay.__file__).parents[1])
theirs_bleu = sacrebleu.BLEU(effective_order=True)


@functools.cache
def theirs_rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # here: it takes a second that no other file needs

    return RougeScorer(["rougeL"])


WORDS = (
    'the of a cat Cat sat on mat, mat. 1,000.5 3.5% 1990s 5-4 -7 don\'t (so) "no" naïve 東京 x/y e.g. ... wait..5 &amp;'
)
few_words = st.lists(st.sampled_from(WORDS.split()[:5]), max_size=12).map(" ".join)
many_words = st.lists(st.sampled_from(WORDS.split()), max_size=30).map(" ".join)
# what the tokeniser has rules for, next to each other in every order
odd_text = st.lists(
    st.sampled_from([*"ab12..,,--' \n&<>;\"/$_é\xa0\u3000\x1c\x85İK", "&amp;", "&lt;", "&quot;", "<skipped>", "-\n"]),
    max_size=25,
).map("".join)
any_text = st.text(max_size=60) | few_words | many_words | odd_text


@st.composite
def related_texts(draw: st.DrawFn) -> tuple[str, str]:
    """A target, and a prediction that keeps some stretch of it."""
    target = draw(any_text)
    start, stop = sorted(draw(st.tuples(st.integers(0, len(target)), st.integers(0, len(target)))))
    return draw(any_text) + target[start:stop] + draw(any_text), target


@settings(max_examples=400)
@given(related_texts() | st.tuples(any_text, any_text))
@example(("of c c", "w c x of of"))
@example(("1.,.5 a..5 5..a 1-2--3", "1.,.5 a..5 5..a 1-2--3"))
def test_bleu_4_is_sacrebleus_sentence_bleu(pair: tuple[str, str]) -> None:
    prediction, target = pair
    assert bleu_4(prediction, [target], {}) == pytest.approx(
        theirs_bleu.sentence_score(prediction, [target]).score / 100, abs=1e-9
    )


@pytest.mark.parametrize("unit", ["the cat sat on a mat. ", "cat ", "a b c d e f g h i j k ", "on the "])
def test_so_it_is_for_a_text_that_goes_round_in_circles(unit: str) -> None:
    prediction, target = unit * 9000 + "the end of 1,000.5 cats", "a cat sat on the cat on the mat. the end of 1,000.5"
    theirs = theirs_bleu.sentence_score(prediction, [target]).score / 100
    assert bleu_4(prediction, [target], {}) == pytest.approx(theirs, abs=1e-12)


def test_words_that_only_one_text_has_are_in_no_common_subsequence() -> None:
    prediction, target = [["the", "answer", "is", "cat"] * 5000, ["cat", "sat", "the", "mat"] * 300]
    length = _fastest_lcs_length()([*map(str.encode, prediction)], [*map(str.encode, target)])
    assert rouge_l(" ".join(prediction), [" ".join(target)], {}) == 2 * length / (len(prediction) + len(target))


@settings(max_examples=400)
@given(related_texts() | st.tuples(any_text, any_text))
def test_rouge_l_is_rouge_scores_f_measure(pair: tuple[str, str]) -> None:
    prediction, target = pair
    assert rouge_l(prediction, [target], {}) == pytest.approx(
        theirs_rouge().score(target, prediction)["rougeL"].fmeasure, abs=1e-9
    )


def test_both_agree_with_the_libraries_on_long_texts() -> None:
    rng = random.Random(7)
    for _ in range(200):
        target = rng.choices(WORDS.split(), k=rng.randint(30, 90))
        prediction = " ".join(word for word in target if rng.random() < 0.8)
        reference = " ".join(target)
        ours = bleu_4(prediction, [reference], {}), rouge_l(prediction, [reference], {})
        theirs = (
            theirs_bleu.sentence_score(prediction, [reference]).score / 100,
            theirs_rouge().score(reference, prediction)["rougeL"].fmeasure,
        )
        assert ours == pytest.approx(theirs, abs=1e-9)


@given(st.lists(any_text, min_size=1, max_size=4), any_text)
def test_the_best_target_counts(targets: list[str], prediction: str) -> None:
    for metric in (bleu_4, rouge_l):
        assert metric(prediction, targets, {}) == max(metric(prediction, [target], {}) for target in targets)


@given(
    st.lists(st.sampled_from([b"a", b"b", b"c", b"dd"]), max_size=90), st.lists(st.sampled_from([b"a", b"b", b"dd"]))
)
def test_the_subsequence_in_plain_python_has_rapidfuzz_length(words: list[bytes], target: list[bytes]) -> None:
    assert _lcs_length_in_python(words, target) == _fastest_lcs_length()(words, target)


def test_rouge_l_works_where_rapidfuzz_is_not_installed() -> None:
    program = (
        "import sys; sys.modules['rapidfuzz'] = None\n"
        "from assay.metrics.overlap import rouge_l, _fastest_lcs_length\n"
        "print(_fastest_lcs_length().__name__, rouge_l('the quick brown fox', ['the quick red fox'], {}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": SOURCE})
    assert done.stdout.split() == ["_lcs_length_in_python", "0.75"], done.stderr
