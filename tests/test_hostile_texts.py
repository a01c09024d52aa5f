"""No text that a model may write holds up a run: what reads one takes a moment for a megabyte, all over the catalog.

A post-process rule or metric that is added to the catalog is tried without being named here; a scorer needs to be told
what to build it with, and the last test says so.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest
from jinja2.exceptions import SecurityError

from assay.catalog import CATALOG, resolve
from assay.core.errors import FailureError
from assay.core.types import Completion, Message, Trace
from assay.evaluators.payload import read_answer
from assay.metrics.languages import language_of
from assay.optimize.answer_block import text_in
from assay.prompts.jinja_rules import check_format
from assay.sandbox.clean_text import clean
from assay.testing import hostile_texts
from tests.contracts.scorers import EXTRAS, SCORERS, TARGETS, Case, make_scorer
from tests.scripted import Context, Scripted

CPU_SECONDS = 0.2
"""For one text, once through one function."""
YARDSTICK_SECONDS = 0.05
READS_NO_MODEL_TEXT = {
    "python_all_samples": "the dataset alone",
    "system_evidence": "nothing",
    "choice_likelihood": "likelihoods of the sample's own choices",
    "choice_probability": "likelihoods of the sample's own choices",
    "text_likelihood": "the likelihood of the sample's own text",
}
ELSEWHERE = {
    "lm_eval": "code of lm_eval, in a process with a time limit",
    "inspect": "code of Inspect, in a process with a time limit",
    "recorded": "reads nothing: the score is in the log",
}
OTHERS: dict[str, Callable[[str], Any]] = {
    "language_of": language_of,
    "the proposer's block": text_in,
    "an evaluator's answer": lambda text: read_answer(text.encode(), "unit", "part"),
    "a program's output": clean,
    "a format": check_format,
}


@pytest.mark.parametrize("name", CATALOG["post_process"])
def test_a_post_process_rule_reads_a_megabyte_in_a_moment(name: str) -> None:
    assert slow(resolve("post_process", name)) == {}


@pytest.mark.parametrize("name", CATALOG["metric"])
def test_a_metric_reads_a_megabyte_in_a_moment(name: str) -> None:
    metric = resolve("metric", name)
    assert slow(lambda text: metric(text, TARGETS, EXTRAS)) == {}


@pytest.mark.parametrize("name", OTHERS)
def test_what_else_reads_a_text_does_so_in_a_moment(name: str) -> None:
    assert slow(OTHERS[name]) == {}


@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=f"{name}-{number}")
        for name in SCORERS
        if name not in READS_NO_MODEL_TEXT
        for number, case in enumerate(SCORERS[name])
    ],
)
def test_a_scorer_reads_a_megabyte_in_a_moment(name: str, case: Case) -> None:
    said = ""
    judge = Scripted(lambda request: said)
    with asyncio.Runner() as runner:
        scorer = make_scorer(name, case, Context({"judge": judge}))

        def score(text: str) -> Any:
            nonlocal said
            said = text
            messages = (Message(role="user", content="?"), Message(role="assistant", content=text))
            trace = Trace(prediction=text, messages=messages, completions=(Completion(text=text),))
            return runner.run(scorer(case.sample, trace))

        try:
            assert slow(score, case.texts) == {}
        finally:
            if hasattr(scorer, "aclose"):
                runner.run(scorer.aclose())


@pytest.mark.parametrize("metric", ["rouge_l", "bleu_4", "f1", "fuzzy_match", "substring_contains"])
def test_a_long_target_makes_a_long_text_not_many_times_slower(metric: str) -> None:
    target = " ".join(f"word{number % 4000}" for number in range(10_000))
    compute = resolve("metric", metric)
    texts = {"answers": "The answer is word1 word2 ", "words": "word1 ", "letters": "a ", "target again": target + " "}
    for name, piece in texts.items():
        assert seconds(lambda text: compute(text, [target], {}), hostile_texts.run_of(piece)) < 8 * CPU_SECONDS, name


def test_every_scorer_of_the_catalog_is_tried_or_reads_no_text_of_a_model() -> None:
    assert {*SCORERS, *ELSEWHERE} == {*CATALOG["scorer"]} > {*READS_NO_MODEL_TEXT}


def slow(read: Callable[[str], Any], names: tuple[str, ...] | None = None) -> dict[str, float]:
    """The texts that take too long, and how long."""
    return {
        name: round(taken, 3)
        for name, text in hostile_texts.texts()
        if names is None or name in names
        if (taken := seconds(read, text)) >= CPU_SECONDS
    }


def seconds(read: Callable[[str], Any], text: str) -> float:
    """CPU time of this process; where it seems too much, the best of five, on the scale of a machine that is free."""
    taken = _once(read, text)
    for _ in range(4):
        if taken < CPU_SECONDS:
            break
        taken = min(taken, _once(read, text) / slowness())
    return taken


def slowness() -> float:
    """How many times longer this machine takes now than one that has nothing else to do."""
    return max(1.0, _once(re.compile(r"\b\w").findall, "a " * 300_000) / YARDSTICK_SECONDS)


def _once(read: Callable[[str], Any], text: str) -> float:
    before = process_time()
    try:
        read(text)
    except (FailureError, ValueError, SecurityError):
        pass  # a text may be refused; in a moment too
    return process_time() - before
