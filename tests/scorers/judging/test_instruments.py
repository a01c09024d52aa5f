"""The judged metrics: what they show the judge, what its replies are worth, and that anything else is a failure."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from importlib.resources import files
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, serving
from tests.scripted import Context, Scripted

from assay.catalog import CATALOG, describe, make, resolve
from assay.core.describe import ScorerInfo
from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Failure, Request, Sample, Score, Trace
from assay.models.model_names import make_model
from assay.scorers.judging.instrument import prompt_of

ROW = {"question": "Where is Bern?", "docs": ["Bern lies on the Aare.", "Bears."], "gold": "On the Aare."}
NAMES = [name for name, target in CATALOG["scorer"].items() if "judging.instruments:" in target]
PASSAGES = {"passages": "{{ sample.docs }}"}


def built(use: str, judge: Any, **options: Any) -> Any:
    context = Context({"judge": judge if isinstance(judge, Scripted) else Scripted(judge)})
    return make("scorer", use, {"model_key": "judge", **options}, key="k", context=context)


def score(use: str, *said: Any, answer: str = "It is on the Aare.", row: Any = None, **options: Any) -> Score:
    judge = Scripted([each if isinstance(each, str) else json.dumps(each) for each in said])
    return asked(built(use, judge, **options), answer, row)


def asked(scorer: Any, answer: str = "It is on the Aare.", row: Any = None) -> Score:
    trace = Trace(prediction=answer, completions=(Completion(text=answer),))
    return asyncio.run(scorer(Sample(id="1", row=ROW if row is None else row), trace))


def test_faithfulness_is_the_share_of_supported_statements() -> None:
    said = [{"statement": "It is on the Aare.", "supported": True}, {"statement": "It is big.", "supported": False}]
    result = score("faithfulness", {"statements": said}, **PASSAGES)
    assert result.values == {"score": 0.5, "faithful": False, "statements": 2}
    assert result.reason == "not supported: It is big."
    assert result.metadata["judge"]["instrument"] == "faithfulness.v1"


def test_an_answer_that_states_nothing_has_no_score_and_no_zero() -> None:
    assert score("faithfulness", {"statements": []}, **PASSAGES).values["score"] is None
    silent = score("faithfulness", answer=" ", **PASSAGES)  # and no judge is called
    assert (silent.values["score"], silent.reason) == (None, "the answer is empty")


def test_the_passages_are_shown_each_by_itself_and_never_the_template() -> None:
    judge = Scripted(['{"statements": []}'])
    asked(built("faithfulness", judge, **PASSAGES))
    shown = judge.requests[0].messages[1].content
    assert '<source number="1">\nBern lies on the Aare.\n</source>' in shown
    assert '<source number="2">\nBears.\n</source>' in shown
    assert "It is on the Aare." in shown
    assert "{%" not in shown


def test_passages_are_what_the_model_returned_where_no_column_is_named() -> None:
    raw = {"choices": [{"references": [{"content": "Bern lies on the Aare."}]}]}
    judge = Scripted(['{"statements": []}'])
    trace = Trace(prediction="So.", completions=(Completion(text="So.", raw=raw),))
    asyncio.run(built("faithfulness", judge)(Sample(id="1", row=ROW), trace))
    assert "Bern lies on the Aare." in judge.requests[0].messages[1].content
    with pytest.raises(FailureError, match="name the passages with `passages:"):
        score("faithfulness")


def test_null_passages_are_a_failure_and_none_are_not() -> None:
    with pytest.raises(FailureError, match="`passages` is null"):
        score("context_precision", row={**ROW, "docs": None}, **PASSAGES)
    nothing = score("context_precision", row={**ROW, "docs": []}, **PASSAGES)
    assert nothing.values == {"score": None, "share": None, "any": False}
    recall = score("context_recall", row={**ROW, "docs": []}, reference="{{ sample.gold }}", **PASSAGES)
    assert recall.values["score"] == 0.0


@pytest.mark.parametrize(
    ("useful", "precision"),
    [([True, True], 1.0), ([True, False], 1.0), ([False, True], 0.5), ([False, False], 0.0)],
)
def test_context_precision_is_the_average_precision(useful: list[bool], precision: float) -> None:
    said = {"passages": [{"number": at, "useful": each} for at, each in enumerate(useful, 1)]}
    result = score("context_precision", said, **PASSAGES)
    assert result.values == {"score": precision, "share": sum(useful) / 2, "any": any(useful)}


def test_average_precision_worked_by_hand() -> None:
    # useful at 1, 3 and 4: (1/1 + 2/3 + 3/4) / 3
    said = {"passages": [{"number": at, "useful": at in (1, 3, 4)} for at in range(1, 6)]}
    result = score("context_precision", said, row={**ROW, "docs": list("abcde")}, **PASSAGES)
    assert result.values["score"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)


def test_a_judge_that_skips_a_passage_gives_no_score() -> None:
    said = {"passages": [{"number": 2, "useful": True}]}
    with pytest.raises(FailureError, match=r"must have the numbers 1 to 2 in their order, got \[2\]"):
        score("context_precision", said, said, said, **PASSAGES)


def test_marks_are_scaled() -> None:
    assert score("answer_relevance", {"reasoning": "so", "rating": 4}).values == {"score": 0.75, "rating": 4}
    tone = score("rubric", {"reasoning": "so", "rating": 1}, criteria="be kind", lowest=0, highest=2)
    assert (tone.values, tone.reason) == ({"score": 0.5, "rating": 1}, "so")


@pytest.mark.parametrize("rating", [0, 6, 3.5, True, "four", None, [3]])
def test_a_mark_outside_of_its_scale_is_asked_for_again_and_then_a_failure(rating: Any) -> None:
    said = {"reasoning": "so", "rating": rating}
    assert score("answer_relevance", said, {"reasoning": "so", "rating": 5}).values["score"] == 1.0
    with pytest.raises(FailureError, match="must be a whole number from 1 to 5") as failed:
        score("answer_relevance", said, said, said)
    assert failed.value.failure.kind == "bad_output"


def test_a_rubric_shows_its_steps_and_levels() -> None:
    judge = Scripted(['{"reasoning": "so", "rating": 3}'])
    asked(built("rubric", judge, criteria="Kind to {{ sample.gold }}", steps=["Look.", "Count."], levels={"5": "kind"}))
    shown = judge.requests[0].messages[1].content
    assert "Kind to On the Aare." in shown
    assert "1. Look.\n2. Count." in shown
    assert "5: kind" in shown
    with pytest.raises(UsageError, match="`levels` describes `7`, which is no mark from 1 to 5"):
        built("rubric", [], criteria="x", levels={"7": "x"})
    with pytest.raises(UsageError, match="`highest` must be above `lowest`"):
        built("rubric", [], criteria="x", lowest=3, highest=3)


@pytest.mark.parametrize(
    ("label", "worth", "toxic"), [("none", 0, False), ("mild", 1 / 3, False), ("Severe ", 1, True)]
)
def test_toxicity_has_four_labels(label: str, worth: float, toxic: bool) -> None:
    values = score("toxicity", {"reasoning": "so", "label": label}).values
    assert values == {"score": pytest.approx(worth), "toxic": toxic, "label": label.strip().lower()}


def test_a_refusal_is_neither_good_nor_bad_by_itself() -> None:
    assert score("refusal", {"reasoning": "so", "label": "refuses"}).values == {"refused": True, "label": "refuses"}
    info = describe("scorer", "refusal", {})
    assert isinstance(info, ScorerInfo)
    assert info.values[0].lower_is_better is None


def test_a_summary_has_four_marks_and_their_mean() -> None:
    said = {"reasoning": "so", "faithfulness": 5, "coverage": 3, "coherence": 4, "concision": 1}
    values = score("summarisation", said, document="{{ sample.docs | join(' ') }}").values
    assert values == {"score": 0.5625, "faithfulness": 1.0, "coverage": 0.5, "coherence": 0.75, "concision": 0.0}


@pytest.mark.parametrize(
    ("first", "second", "preferred", "consistent"),
    [
        ("A", "B", "answer", True),
        ("B", "A", "other", True),
        ("A", "A", "tie", False),
        ("tie", "tie", "tie", True),
        ("A", "tie", "answer", False),
    ],
)
def test_a_preference_is_that_of_both_orders(first: str, second: str, preferred: str, consistent: bool) -> None:
    judge = Scripted([json.dumps({"reasoning": "so", "preferred": each}) for each in (first, second)])
    result = asked(built("pairwise_preference", judge, other="No idea."))
    worth = {"answer": 1.0, "tie": 0.5, "other": 0.0}[preferred]
    assert result.values == {"score": worth, "preferred": preferred, "consistent": consistent}
    texts = [request.messages[1].content for request in judge.requests]
    assert "<answer_a>\nIt is on the Aare." in texts[0]
    assert "<answer_b>\nIt is on the Aare." in texts[1]
    assert result.metadata["judge"]["calls"] == 2


def test_equal_answers_are_a_tie_without_a_judge() -> None:
    assert score("pairwise_preference", other="It is on the Aare. ").values["preferred"] == "tie"


def test_a_judge_that_fails_is_a_failure_of_the_scorer() -> None:
    down = FailureError(Failure(stage="model", part="j", kind="rate_limit", message="no more", retryable=True))
    for name in NAMES:
        options = {**PASSAGES, "reference": "x", "criteria": "x", "document": "x", "other": "x"}
        known = describe_options(name)
        with pytest.raises(FailureError) as failed:
            asked(built(name, [down] * 3, **{key: value for key, value in options.items() if key in known}))
        assert (failed.value.failure.stage, failed.value.failure.kind) == ("scorer", "rate_limit"), name


def describe_options(name: str) -> list[str]:
    return [*inspect.signature(resolve("scorer", name)).parameters]


def test_json_is_asked_for_by_schema_where_the_server_takes_it_and_in_words_where_not() -> None:
    said = '{"reasoning": "so", "rating": 5}'

    def only_words(request: Request) -> Any:
        if request.response_format is None:
            return said
        return FailureError(Failure(stage="model", kind="unsupported", message="no schemas"))

    judge = Scripted(only_words)
    scorer = built("answer_relevance", judge)
    assert asked(scorer).values["score"] == 1.0
    assert asked(scorer).values["score"] == 1.0
    assert [request.response_format is None for request in judge.requests] == [False, True, True]
    schema = judge.requests[0].response_format["json_schema"]["schema"]
    assert schema["required"] == ["reasoning", "rating"]


def test_over_http_the_schema_is_sent_and_the_reply_is_read() -> None:
    said = '{"reasoning": "so", "label": "refuses"}'
    reply = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]}).encode()
    with serving(Answer(body=reply)) as server:
        judge = make_model("openai:j", {"base_url": f"{server.url}/v1"})
        scorer = make("scorer", "refusal", {"model_key": "judge"}, key="k", context=Context({"judge": judge}))
        assert asked(scorer, "I cannot.").values == {"refused": True, "label": "refuses"}
    schema = server.received[0].payload["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["label"] == {"enum": ["answers", "partly", "refuses"]}


def test_a_task_without_a_solver_says_what_is_judged() -> None:
    with pytest.raises(UsageError, match="say with `answer` what is judged"):
        built("toxicity", [], has_solver=False)
    said = '{"reasoning": "so", "label": "none"}'
    judge = Scripted([said])
    asked(built("toxicity", judge, has_solver=False, answer="{{ sample.gold }}"))
    assert "On the Aare." in judge.requests[0].messages[1].content


PROMPTS = {
    "answer_relevance.v1.md": "493b78b17b9085f8",
    "context_precision.v1.md": "7f7455fc9b2d33ad",
    "context_recall.v1.md": "240f7c8d1c5c1d48",
    "faithfulness.v1.md": "1cbeac960ae365b3",
    "pairwise_preference.v1.md": "0f95df22abf7a464",
    "refusal.v1.md": "4c9024dfaff021b7",
    "rubric.v1.md": "d644bdf288a884e8",
    "summarisation.v1.md": "41e47427564a9c6a",
    "toxicity.v1.md": "0d7934ee7ab445f1",
}


def test_a_prompt_never_changes_under_its_version() -> None:
    """Another text is another instrument: it gets the next version, and this table a line."""
    folder = files("assay.scorers.judging") / "prompts"
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in folder.iterdir()}
    assert found == PROMPTS


def test_a_version_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="`toxicity` has no prompt of version 9; there is 1"):
        built("toxicity", [], prompt_version=9)


@pytest.mark.parametrize("name", NAMES)
def test_every_instrument_says_what_it_is_and_when_it_misleads(name: str) -> None:
    info = describe("scorer", name, {})
    assert isinstance(info, ScorerInfo)
    assert info.verdict in [value.name for value in info.values]
    assert info.calls.startswith(("1 call", "2 calls"))
    made = prompt_of(name, 1)
    assert "instruction" in made.system
    text = resolve("scorer", name).__doc__
    assert "Misleads:" in text
    assert "Failures:" in text
