"""`rag_checker`: eleven numbers from claims, worked out by hand."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.scripted import Context, Scripted

from assay.core.errors import FailureError
from assay.core.types import Completion, Request, Sample, Score, Trace
from assay.scorers.judging.rag_checker import ALL_SCORES, Checked, passages, rag_checker, rag_scores


def test_the_formulas_by_hand() -> None:
    # answer claims: 1 right and in chunk 0; 2 wrong, in the irrelevant chunk 1; 3 wrong, nowhere; 4 right, nowhere
    # target claims: 1 said by the answer and in chunk 0; 2 not said, in chunk 0; 3 said, nowhere
    checked = Checked(
        answer_in_target=[True, False, False, True],
        target_in_answer=[True, False, True],
        answer_in_chunks=[[True, False, False, False], [False, True, False, False]],
        target_in_chunks=[[True, True, False], [False, False, False]],
    )
    found = rag_scores(checked)
    assert found == pytest.approx(
        {
            "precision": 2 / 4,
            "recall": 2 / 3,
            "f1_score": 2 * (0.5 * 2 / 3) / (0.5 + 2 / 3),
            "claim_recall": 2 / 3,
            "context_precision": 1 / 2,
            "context_utilization": 1 / 2,
            "noise_sensitivity_in_relevant": 0.0,
            "noise_sensitivity_in_irrelevant": 1 / 4,
            "hallucination": 1 / 4,
            "self_knowledge": 1 / 4,
            "faithfulness": 2 / 4,
        }
    )
    assert tuple(found) == ALL_SCORES


def test_empty_denominators_give_zero() -> None:
    assert set(rag_scores(Checked(answer_in_target=[], target_in_answer=[])).values()) == {0.0}


class Oracle:
    """A judge that takes sentences for claims and substrings for entailment."""

    def __call__(self, request: Request) -> str:
        system, user = (str(message.content) for message in request.messages or ())
        if "Take the text apart" in system:
            text = user.split("Text: ", 1)[1]
            return json.dumps({"claims": [part.strip() for part in text.split(".") if part.strip()]})
        text, claims = user.removeprefix("Text: ").split("\n\nClaims:\n")
        found = [claim.split(". ", 1)[1] in text for claim in claims.splitlines()]
        return f"Sure:\n```json\n{json.dumps({'entailed': found})}\n```"


def check(model: Scripted, answer: str, chunks: list[str], target: str, **options: Any) -> Score:
    raw = {"choices": [{"references": [{"content": chunk} for chunk in chunks]}]}
    trace = Trace(prediction=answer, completions=(Completion(text=answer, raw=raw),))
    scorer = rag_checker("r", judge_model_key="j", context=Context({"j": model}), **options)
    return asyncio.run(scorer(Sample(id="1", row={"query": "q", "target": target}), trace))


def test_a_judge_is_called_and_the_calls_are_counted() -> None:
    model = Scripted(Oracle())
    score = check(model, "Bern is a city. Bern has bears", ["Bern is a city. It rains"], "Bern is a city. It rains")
    assert score.values["precision"] == 0.5
    assert score.values["recall"] == 0.5
    assert score.values["claim_recall"] == 1.0
    assert score.values["faithfulness"] == 0.5
    assert score.values["hallucination"] == 0.5
    assert score.metadata is not None
    assert score.metadata["judge"]["calls"] == len(model.requests) == 6
    assert score.metadata["judge"]["tokens_in"] == 18
    assert score.metadata["expected"] == {"target": "Bern is a city. It rains"}


def test_only_the_scores_asked_for_are_computed_and_chunks_only_when_needed() -> None:
    model = Scripted(Oracle())
    score = check(model, "a", ["a", "b"], "a", scores_to_compute=["precision", "recall"])
    assert score.values == {"precision": 1.0, "recall": 1.0}
    assert len(model.requests) == 4


def test_an_empty_answer_claims_nothing() -> None:
    score = check(Scripted(Oracle()), "", [], "a")
    assert score.values["precision"] == 0.0
    assert score.values["recall"] == 0.0


@pytest.mark.parametrize(
    "answers",
    [
        ["no json"],
        ['{"claims": 3}'],
        ['{"claims": ["a", "b"]}', '{"claims": ["a"]}', '{"entailed": [true]}'],
        ['{"claims": ["a"]}', '{"claims": ["a"]}', '{"entailed": ["yes"]}'],
    ],
)
def test_a_judge_that_talks_nonsense_is_a_failure(answers: list[str]) -> None:
    with pytest.raises(FailureError) as caught:
        check(Scripted([*answers, answers[-1], answers[-1]]), "a", [], "a")
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("scorer", "bad_output")


def test_a_missing_column_is_a_failure() -> None:
    with pytest.raises(FailureError, match="no column `frage`"):
        check(Scripted(Oracle()), "a", [], "a", query_column="frage")


@pytest.mark.parametrize("raw", [None, {}, {"choices": [{"index": 0}]}, {"choices": []}, {"references": "x"}])
def test_an_answer_without_references_fails_before_the_judge_is_called(raw: dict[str, Any] | None) -> None:
    model = Scripted(Oracle())
    trace = Trace(prediction="a", completions=(Completion(text="a", raw=raw),))
    scorer = rag_checker("r", judge_model_key="j", context=Context({"j": model}))
    with pytest.raises(FailureError, match="keep_raw=true") as caught:
        asyncio.run(scorer(Sample(id="1", row={"query": "q", "target": "a"}), trace))
    assert (caught.value.failure.kind, model.requests) == ("bad_input", [])


def test_an_empty_list_of_references_is_an_answer_and_scores_without_chunks_need_none() -> None:
    assert check(Scripted(Oracle()), "a", [], "a").values["claim_recall"] == 0.0
    trace = Trace(prediction="a", completions=(Completion(text="a"),))
    options = {"context": Context({"j": Scripted(Oracle())}), "scores_to_compute": ["precision"]}
    scorer = rag_checker("r", judge_model_key="j", **options)  # type: ignore[arg-type]
    score = asyncio.run(scorer(Sample(id="1", row={"query": "q", "target": "a"}), trace))
    assert score.values == {"precision": 1.0}


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        (["one", "two"], ["one", "two"]),
        ([{"content": "one"}, {"content": "two"}], ["one", "two"]),
        ('["one", "two"]', ["one", "two"]),
        ("one passage [1]", ["one passage [1]"]),
        ("[sic] one", ["[sic] one"]),
        ([], []),
        (None, []),
        ("", []),
    ],
)
def test_passages_of_a_column_are_read_in_every_form(cell: Any, found: list[str]) -> None:
    assert passages(cell) == found


ROW = {
    "query": "q",
    "target": "b is 1. c is 2. d is 3",
    "wanted": '["REQUIRED", "OPTIONAL", "REQUIRED"]',
    "said": ["REQUIRED", "optional"],
    "claims": [{"subject": "b", "predicate": "is", "object": "1"}, {"subject": "x", "predicate": "is", "object": "9"}],
}


class Labels(Oracle):
    """The same judge, for which the first claim is required."""

    def __call__(self, request: Request) -> str:
        system, user = (str(message.content) for message in request.messages or ())
        if "REQUIRED" in system:
            count = len(user.split("Claims:\n")[1].splitlines())
            return json.dumps({"labels": ["REQUIRED", *["OPTIONAL"] * (count - 1)]})
        return super().__call__(request)


def of_row(model: Scripted, row: dict[str, Any], answer: str = "b is 1. x is 9", **options: Any) -> Score:
    scores = {"scores_to_compute": ["precision", "recall"], **options}
    scorer = rag_checker("r", judge_model_key="j", context=Context({"j": model}), **scores)
    return asyncio.run(scorer(Sample(id="1", row=row), Trace(prediction=answer)))


def test_the_modes_count_all_claims_or_the_required_ones() -> None:
    columns = {"target_labels_column": "wanted", "response_labels_column": "said"}
    plain = of_row(Scripted(Oracle()), ROW)
    required = of_row(Scripted(Oracle()), ROW, mode="required_only", **columns)
    both = of_row(Scripted(Oracle()), ROW, mode="required_and_optional", **columns)
    assert plain.values == {"precision": 1 / 2, "recall": 1 / 3}
    assert required.values == {"precision": 1.0, "recall": 1 / 2}
    assert both.values == {**plain.values, "required_precision": 1.0, "required_recall": 1 / 2}


def test_a_judge_says_what_is_required_where_no_column_does() -> None:
    model = Scripted(Labels())
    score = of_row(model, ROW, mode="required_only", claim_labeling_instructions="Names are required.")
    assert score.values == {"precision": 1.0, "recall": 1.0}
    assert (score.metadata or {})["target_labels"] == ["REQUIRED", "OPTIONAL", "OPTIONAL"]
    systems = [str(request.messages[0].content) for request in model.requests if request.messages]
    assert sum("Names are required." in system for system in systems) == 2


def test_claims_of_columns_are_not_taken_from_the_text_and_instructions_reach_the_judge() -> None:
    model = Scripted(Oracle())
    score = of_row(model, ROW, response_claims_column="claims", claim_extraction_instructions="One claim a sentence.")
    assert score.values == {"precision": 1 / 2, "recall": 1 / 3}
    systems = [str(request.messages[0].content) for request in model.requests if request.messages]
    assert [system.endswith("One claim a sentence.") for system in systems] == [True, False, False]


def test_faithfulness_needs_no_expected_answer() -> None:
    model = Scripted(Oracle())
    row = {"query": "q", "passages": ["b is 1"]}
    options = {"target_column": None, "contexts_column": "passages", "scores_to_compute": ["faithfulness"]}
    assert of_row(model, row, **options).values == {"faithfulness": 1 / 2}
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("row", "options", "kind", "says"),
    [
        ({**ROW, "target": None}, {}, "missing_gold", "`sample.target` is empty"),
        ({**ROW, "target": " "}, {}, "missing_gold", "`sample.target` is empty"),
        ({**ROW, "query": None}, {}, "bad_input", "`query` is empty"),
        (ROW, {"response_claims_column": "query"}, "bad_input", "must hold a list, got 'q'"),
        (ROW, {"mode": "required_only", "response_labels_column": "wanted"}, "bad_input", "must be 2 of REQUIRED"),
    ],
)
def test_a_row_that_lacks_what_is_compared_fails(
    row: dict[str, Any], options: dict[str, Any], kind: str, says: str
) -> None:
    with pytest.raises(FailureError, match=says) as caught:
        of_row(Scripted(Labels()), row, **options)
    assert caught.value.failure.kind == kind


def test_a_typed_cell_is_compared_as_it_is_written() -> None:
    model = Scripted(Oracle())
    scorer = rag_checker("r", judge_model_key="j", scores_to_compute=["recall"], context=Context({"j": model}))
    sample = Sample(id="1", row={"query": "q", "target": 2.5}, written={"target": "2.50"})
    asyncio.run(scorer(sample, Trace(prediction="2.50")))
    assert any("Text: 2.50" in str(message.content) for request in model.requests for message in request.messages or ())
