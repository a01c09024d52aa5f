"""No text that a model may write holds up a run: what reads one takes a moment for a megabyte, all over the catalog.

A post-process rule or metric that is added to the catalog is tried without being named here; a scorer needs to be told
what to build it with, and the last test says so.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import pytest
from jinja2.exceptions import SecurityError

from assay.catalog import CATALOG, resolve
from assay.core.errors import FailureError
from assay.core.types import Completion, Message, Sample, Trace
from assay.evaluators.payload import read_answer
from assay.metrics.languages import language_of
from assay.optimize.answer_block import text_in
from assay.prompts.jinja_rules import check_format
from assay.sandbox.clean_text import clean
from assay.scorers.assertion_list import ASSERTIONS
from tests import hostile_texts
from tests.metrics.test_instructions import CASES as INSTRUCTIONS
from tests.scripted import Context, Scripted

CPU_SECONDS = 0.2
"""For one text, once through one function."""
YARDSTICK_SECONDS = 0.05
TARGETS = ("The answer is (A): [1] 42 cats sat on the mat, 3.5 times.", "Q: B", "")
EXTRAS = {"allowed": ["a", "b"], "patterns": ["(?i)as an ai"], "choices": ["red", "blue"]}
ROW = {"gt": "A", "query": "q", "target": "t", "choices": '["A", "B"]', "calls": ["f"]}


class Case(NamedTuple):
    """How a scorer is built, the sample it scores, and the names of its texts; None is all of them."""

    options: dict[str, Any]
    extras: dict[str, Any] = EXTRAS
    texts: tuple[str, ...] | None = None


JUDGED = {"model_key": "judge", "system_prompt": "Judge.", "user_prompt": "{{ model_output }}"}
ONE_OF_EACH = ("newlines", "square brackets", "fences in lines", "the answer is", "programs", "emoji")
"""For scorers that hand the text to another process, which has limits of its own."""
SCORERS: dict[str, list[Case]] = {
    "metric": [Case({"metric": "exact_match", "post_process": "strip_whitespace"})],
    "contains": [Case({})],
    "label_in_set": [Case({})],
    "forbidden_patterns": [Case({})],
    "code_exec": [Case({"post_process": "extract_code_block", "shape": "expressions"}, {}, ONE_OF_EACH)],
    "evaluator": [
        Case({"model_key": "judge", "objective": "be good"}),
        Case({"model_key": "judge", "objective": "be good", "quality_dimensions": {"wit": 1.0}}),
    ],
    "string_equals": [Case({"ground_truth": "{{ sample.gt }}", "value": "{{ model_output }}"})],
    "string_equals_mcqa": [Case({"ground_truth_choice": "{{ sample.gt }}", "choices": "{{ sample.choices }}"})],
    "bleu": [Case({"ground_truth": "{{ sample.gt }}"})],
    "model_as_a_judge_classifier": [Case({**JUDGED, "correct_labels": ["good"], "incorrect_labels": ["bad"]})],
    "model_as_a_judge_scorer": [Case(JUDGED)],
    "labeler_via_model": [Case(JUDGED)],
    "python": [Case({"compute_scores_snippet": "def compute_scores(a, b):\n    return {'x': 1}"}, {}, ONE_OF_EACH)],
    "rag_checker": [Case({"judge_model_key": "judge"})],
    "function_call_coverage": [Case({"function_calls": "{{ sample.calls | tojson }}"})],
    "lettered_choice": [Case({}, {"choices": [*"abcdefghij"]})],
    "instructions": [
        Case({}, {"instructions": [{"id": kind, **options}]})
        for kind, options in {kind: options for kind, options, *_ in INSTRUCTIONS}.items()
    ],
    "assertions": [
        Case({}, {"assertions": [{"type": kind, "value": "cats"}]}) for kind in ASSERTIONS if kind != "equals"
    ]
    + [Case({}, {"assertions": [{"type": "equals", "value": {"a": 1}}]})],
    "extracted_match": [
        Case({}, {"compare": {"steps": [{"do": "lowercase"}], "ignore_case": True, "ignore_punctuation": True}})
    ],
}
READS_NO_MODEL_TEXT = {
    "python_all_samples": "the dataset alone",
    "system_evidence": "nothing",
    "choice_likelihood": "likelihoods of the sample's own choices",
    "text_likelihood": "the likelihood of the sample's own text",
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
    [pytest.param(name, case, id=f"{name}-{number}") for name in SCORERS for number, case in enumerate(SCORERS[name])],
)
def test_a_scorer_reads_a_megabyte_in_a_moment(name: str, case: Case) -> None:
    said = ""
    judge = Scripted(lambda request: said)
    with asyncio.Runner() as runner:
        scorer = resolve("scorer", name)("s", context=Context({"judge": judge}), **case.options)
        sample = Sample(id="1", targets=TARGETS, extras=case.extras, row=ROW if name != "lettered_choice" else None)

        def score(text: str) -> Any:
            nonlocal said
            said = text
            messages = (Message(role="user", content="?"), Message(role="assistant", content=text))
            trace = Trace(prediction=text, messages=messages, completions=(Completion(text=text),))
            return runner.run(scorer(sample, trace))

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
    assert {*SCORERS, *READS_NO_MODEL_TEXT} == {*CATALOG["scorer"]}


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
