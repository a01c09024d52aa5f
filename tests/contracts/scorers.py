"""Every scorer of the catalog, with what it needs to be built and a sample that it scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.metrics.test_instructions import CASES as INSTRUCTIONS

from assay.catalog import make
from assay.core.seams import BuildContext, Scorer
from assay.core.types import Completion, Request, Sample, Trace
from assay.scorers.assertions.assertion_kinds import ASSERTIONS

TARGETS = ("The answer is (A): [1] 42 cats sat on the mat, 3.5 times.", "Q: B", "")
EXTRAS = {"allowed": ["a", "b"], "patterns": ["(?i)as an ai"], "choices": ["red", "blue"]}
ROW = {"gt": "A", "query": "q", "target": "t", "choices": '["A", "B"]', "calls": ["f"]}
ANSWERS = ("Paris", "", "The answer is (B).", "42")
JUDGED = {"model_key": "judge", "system_prompt": "Judge.", "user_prompt": "{{ model_output }}"}
ONE_OF_EACH = ("newlines", "square brackets", "fences in lines", "the answer is", "programs", "emoji")
"""For scorers that hand the text to another process, which has limits of its own."""


def says(text: str) -> Callable[[Request], str]:
    return lambda request: text


def checks_claims(request: Request) -> str:
    """A judge that finds one claim in every text, and holds it for true."""
    system = str((request.messages or ())[0].content)
    return json.dumps({"claims": ["it is so"]} if "Take the text apart" in system else {"entailed": [True]})


def with_references(text: str) -> Trace:
    raw = {"choices": [{"references": [{"content": "it is so"}]}]}
    return Trace(prediction=text, completions=(Completion(text=text, raw=raw),))


LIKELIHOODS = tuple(
    Trace(prediction=likely, items=[{"choice": each, "logprob": -1.0 - (each != likely)} for each in ("red", "blue")])
    for likely in ("red", "blue")
)
NATS = (Trace(prediction="one two", items=[{"text": "one two", "logprob": -4.0, "tokens": 2}]),)


def _completed(text: str) -> Trace:
    return Trace(prediction=text, items=[{"type": "completion", "name": "completion", "content": text}])


class Case(NamedTuple):
    """How a scorer is built, the sample and the answers that it scores, and what a judge says."""

    options: dict[str, Any]
    extras: dict[str, Any] = EXTRAS
    texts: tuple[str, ...] | None = None
    """The names of the long texts that it reads; None is all of them."""
    targets: tuple[str, ...] = TARGETS
    row: dict[str, Any] | None = ROW
    answers: tuple[str | Trace, ...] = ANSWERS
    judge: Callable[[Request], str] = says("0.5")

    @property
    def sample(self) -> Sample:
        return Sample(id="1", targets=self.targets, extras=self.extras, row=self.row)


ASKED = {"question": "q", "passages": ["it is so"], "answer": "so"}
PASSAGES = {"passages": "{{ sample.passages }}"}
REFERENCE = {"reference": "{{ sample.answer }}"}
EVALUATED = says('{"score": 0.5, "reasoning": "so", "wit": 0.5}')
SCORERS: dict[str, list[Case]] = {
    "sample_assertions": [
        Case({}, {"assertions": [{"type": "contains", "value": "Paris"}, {"type": "not-icontains", "value": "sorry"}]}),
        Case({}, {"assertions": [{"type": "levenshtein", "value": "Paris", "threshold": 2}], "threshold": 0.5}),
    ],
    "model_graded": [
        Case(
            {
                "model_key": "judge",
                "template": "fact",
                "prompt": [{"role": "user", "content": "{query}: {completion}? Say Yes or No."}],
                "choices": ["Yes", "No"],
                "choice_scores": {"Yes": 1.0, "No": 0.0},
                "eval_type": "classify",
                "inputs": ["query"],
            },
            answers=tuple(_completed(text) for text in ANSWERS),
            judge=says("Yes"),
        )
    ],
    "metric": [Case({"metric": "exact_match", "post_process": "strip_whitespace"})],
    "contains": [Case({})],
    "label_in_set": [Case({})],
    "forbidden_patterns": [Case({})],
    "code_exec": [
        Case(
            {"post_process": "extract_code_block", "shape": "expressions"},
            {},
            ONE_OF_EACH,
            targets=("x == 1",),
            answers=("x = 1", "x = 2", "```python\nx = 1\n```"),
        )
    ],
    "evaluator": [
        Case({"model_key": "judge", "objective": "be good"}, judge=EVALUATED),
        Case({"model_key": "judge", "objective": "be good", "quality_dimensions": {"wit": 1.0}}, judge=EVALUATED),
    ],
    "string_equals": [Case({"ground_truth": "{{ sample.gt }}", "value": "{{ model_output }}"})],
    "string_equals_mcqa": [Case({"ground_truth_choice": "{{ sample.gt }}", "choices": "{{ sample.choices }}"})],
    "bleu": [Case({"ground_truth": "{{ sample.gt }}"})],
    "corpus_bleu": [Case({"ground_truth": "{{ sample.gt }}"})],
    "corpus_chrf": [Case({"ground_truth": "{{ sample.gt }}"})],
    "model_as_a_judge_classifier": [
        Case({**JUDGED, "correct_labels": ["good"], "incorrect_labels": ["bad"]}, judge=says("good"))
    ],
    "model_as_a_judge_scorer": [Case(JUDGED)],
    "labeler_via_model": [Case(JUDGED, judge=says("polite"))],
    "python": [Case({"compute_scores_snippet": "def compute_scores(a, b):\n    return {'x': 1}"}, {}, ONE_OF_EACH)],
    "python_all_samples": [
        Case({"compute_scores_snippet": "def compute_scores(rows):\n    return [{'x': 1} for row in rows]"}, {}, ())
    ],
    **{
        name: [Case({"model_key": "judge", **options}, row=ASKED, judge=says(json.dumps(said)))]
        for name, options, said in (
            ("faithfulness", PASSAGES, {"statements": [{"statement": "so", "supported": True}]}),
            ("context_recall", {**PASSAGES, **REFERENCE}, {"statements": [{"statement": "so", "found": False}]}),
            ("context_precision", PASSAGES, {"passages": [{"number": 1, "useful": True}]}),
            ("answer_relevance", {}, {"reasoning": "so", "rating": 4}),
            ("rubric", {"criteria": "be good"}, {"reasoning": "so", "rating": 2}),
            ("toxicity", {}, {"reasoning": "so", "label": "mild"}),
            ("refusal", {}, {"reasoning": "so", "label": "partly"}),
            ("pairwise_preference", {"other": "42"}, {"reasoning": "so", "preferred": "tie"}),
            (
                "summarisation",
                {"document": "{{ sample.answer }}"},
                {"reasoning": "so", "faithfulness": 5, "coverage": 4, "coherence": 3, "concision": 1},
            ),
        )
    },
    "rag_checker": [
        Case({"judge_model_key": "judge"}, answers=tuple(map(with_references, ANSWERS)), judge=checks_claims)
    ],
    "function_call_coverage": [Case({"function_calls": "{{ sample.calls | tojson }}"})],
    "system_evidence": [
        Case({"compute_evidence_snippet": "def compute_evidence():\n    return {'metrics': {'x': 3}}"}, {}, ())
    ],
    "choice_likelihood": [Case({}, targets=("blue",), answers=LIKELIHOODS, row=None)],
    "lettered_choice": [Case({}, {"choices": [*"abcdefghij"]}, targets=("b",), row=None)],
    "text_likelihood": [Case({}, answers=NATS)],
    "instructions": [
        Case({}, {"instructions": [{"id": kind, **options}]})
        for kind, options in {kind: options for kind, options, *_ in INSTRUCTIONS}.items()
    ],
    "assertions": [
        Case({}, {"assertions": [{"type": kind, "value": "cats"}]}) for kind in ASSERTIONS if kind != "equals"
    ]
    + [Case({}, {"assertions": [{"type": "equals", "value": {"a": 1}}]})],
    "drop": [Case({"post_process": "extract_first_line"}, {"answers": [["cats", "3.5"], ["42"]]})],
    "choice_probability": [Case({}, targets=("blue",), answers=LIKELIHOODS, row=None)],
    "extracted_match": [
        Case({}, {"compare": {"steps": [{"do": "lowercase"}], "ignore_case": True, "ignore_punctuation": True}})
    ],
}


def make_scorer(name: str, case: Case, context: BuildContext) -> Scorer:
    made: Scorer = make("scorer", name, case.options, key="s", context=context)
    return made
