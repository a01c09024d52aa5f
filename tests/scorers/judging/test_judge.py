"""Judges: their prompts, what counts as a verdict, and that anything else is a failure, never a score."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluators.loopback import Answer, serving
from tests.scorers.judges import PROMPTS, TRACE, judge, labeler, refused
from tests.scripted import Context, Scripted

from assay.cli.main import main
from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Request, Sample
from assay.evaluators.usable_answers import UnusableError
from assay.results.board.board_types import read_leaderboard_file
from assay.scorers.judging.judge import Classifier, Rating
from assay.scorers.judging.verdict import read_label, read_score


def classifier(model: Scripted, **options: Any) -> Any:
    given_ = {**PROMPTS, "correct_labels": ["correct"], "incorrect_labels": ["incorrect", "unsure"], **options}
    return Classifier("c", **given_, context=Context({"j": model}))


def rating(model: Scripted, **options: Any) -> Any:
    return Rating("s", **{**PROMPTS, "score_min": 1, "score_max": 5, **options}, context=Context({"j": model}))


JSON = '{"prediction": "correct", "reasoning": "same city", "confidence": 0.9}'


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("correct", True),
        ("incorrect", False),
        ("unsure", False),
        (" Correct.\n", True),
        ("'correct'", True),
        ("**Correct**", True),
        (JSON, True),
        (f"```json\n{JSON}\n```", True),
        (f"Here you are:\n```\n{JSON}\n```\nBye", True),
        (f"I think so. {JSON} That is all.", True),
        ('{"prediction": "INCORRECT"}', False),
        ('{"label": "correct"}', True),
        (f"{JSON} and again {JSON}", True),  # twice the same is one verdict
    ],
)
def test_verdicts_of_a_classifier(said: str, right: bool) -> None:
    assert judge(classifier(Scripted([said]))).values == {"is_correct": right}


@pytest.mark.parametrize(
    "said",
    [
        "",
        "   \n",
        "banana",
        "wrong",
        "The answer is correct",
        "correct or incorrect",
        "not correct",
        '{"prediction": "maybe"}',
        '{"prediction": null}',
        '{"prediction": ["correct"]}',
        '{"verdict": "correct"}',
        '{"prediction": "correct"',
        '{"prediction": "correct"} {"prediction": "incorrect"}',
        "{" * 5000,
        "[]",
    ],
)
def test_anything_else_is_a_failure_and_no_score(said: str) -> None:
    failure = refused(classifier(Scripted([said] * 3)))
    assert (failure.stage, failure.part, failure.kind) == ("scorer", "c", "bad_output")
    assert "sample `1`" in failure.message


def test_an_unusable_verdict_is_asked_for_again_and_every_answer_is_counted() -> None:
    model = Scripted(["I like it", "correct"])
    score = judge(classifier(model))
    assert score.values == {"is_correct": True}
    assert score.metadata is not None
    assert (score.metadata["judge"]["calls"], score.metadata["judge"]["tokens_in"]) == (2, 6)
    last = (model.requests[1].messages or ())[-2:]
    assert [message.content for message in last] == [
        "I like it",
        "Your answer could not be used: not one of the labels correct, incorrect, unsure. "
        "Answer again, in the form that was asked for.",
    ]


def test_the_reasoning_is_kept_and_the_tokens_are_counted_apart() -> None:
    score = judge(classifier(Scripted([JSON])))
    assert score.reason == "same city"
    assert score.metadata is not None
    asked = score.metadata["judge"].pop("prompt")
    assert score.metadata == {
        "prediction": "correct",
        "reasoning": "same city",
        "confidence": 0.9,
        "expected": {"gt": "Paris"},
        "judge": {"model": "scripted", "calls": 1, "tokens_in": 3, "tokens_out": 2, "cached": 0, "said": JSON},
    }
    assert [message["role"] for message in asked] == ["system", "user"]


def test_of_a_list_what_the_model_was_not_shown_is_kept_as_text() -> None:
    row = {"gt": ["Capital?", "Paris", "Lutetia"]}
    score = asyncio.run(classifier(Scripted([JSON]))(Sample(id="1", row=row), TRACE))
    assert score.metadata["expected"] == {"gt": "Paris\nLutetia"}
    score = asyncio.run(classifier(Scripted([JSON]))(Sample(id="1", row={"gt": ["Capital?"]}), TRACE))
    assert "expected" not in score.metadata


def test_two_messages_are_sent_and_the_format_is_said() -> None:
    model = Scripted(["correct"])
    judge(classifier(model))
    system, user = model.requests[0].messages or ()
    assert system.content == "Judge.\n\nAnswer with one of these labels and nothing else: correct, incorrect, unsure"
    assert user.content == "Paris: Rome"
    assert model.requests[0].response_format is None


def test_structured_outputs_ask_for_a_schema_with_the_labels() -> None:
    model = Scripted([JSON])
    judge(classifier(model, use_structured_outputs=True))
    asked = model.requests[0].response_format
    assert asked is not None
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["strict"] is True
    assert asked["json_schema"]["schema"]["properties"]["prediction"] == {"enum": ["correct", "incorrect", "unsure"]}


def test_a_model_without_structured_outputs_is_asked_for_plain_text() -> None:
    unsupported = FailureError(Failure(stage="model", kind="unsupported", message="no schemas here"))
    model = Scripted([unsupported, "correct"])
    assert judge(classifier(model, use_structured_outputs=True)).values == {"is_correct": True}
    assert model.requests[1].response_format is None


def test_a_judge_that_cannot_be_reached_or_refuses_is_a_failure_of_the_scorer() -> None:
    limited = FailureError(Failure(stage="model", part="x", kind="rate_limit", message="slow down", retryable=True))
    failure = refused(classifier(Scripted([limited])))
    assert (failure.stage, failure.part, failure.kind, failure.retryable) == ("scorer", "c", "rate_limit", True)
    failure = refused(classifier(Scripted([Completion(text="", refusal="I will not")])))
    assert failure.kind == "refused"


@pytest.mark.parametrize(
    ("prompt", "rendered"),
    [
        ("{{ sample.gt }}", "Paris"),
        ("{{ model_output }}", "Rome"),
        ("{{ model_output.choices[0].message.content }}", "Rome"),
        ("{{ messages[0]['content'] }}", "Capital?"),
        ("{{ messages | length }}", "2"),
        ("{{ input_prompt }}", "Rome"),
        ("{{ solver_output.output }}", "Rome"),
        ("{{ solver_output.messages[1].role }}", "assistant"),
        ("{{ trace.user_messages[0].content }}", "Capital?"),
        ("{{ model_outputs[0] }}", "Rome"),
        ("{{ model_output | tojson }}", None),
    ],
)
def test_the_prompts_see_the_answer_in_every_promised_way(prompt: str, rendered: str | None) -> None:
    model = Scripted(["correct"])
    judge(classifier(model, user_prompt=prompt))
    content = (model.requests[0].messages or ())[1].content
    if rendered is None:
        assert json.loads(content)["choices"][0]["message"]["content"] == "Rome"
    else:
        assert content == rendered


def test_a_prompt_without_a_solver_sees_only_the_sample() -> None:
    scorer = labeler(Scripted(["x"]), user_prompt="{{ model_output }}", has_solver=False)
    assert "unknown variable `model_output`" in refused(scorer).message


@pytest.mark.parametrize(
    ("said", "value", "raw"),
    [
        ("1", 0.0, 1),
        ("5", 1.0, 5),
        (" 3.0 ", 0.5, 3),
        ('{"score": 4, "reasoning": "good"}', 0.75, 4),
        ('```json\n{"score": "2"}\n```', 0.25, 2),
        ('Well: {"score": 2} fine', 0.25, 2),
    ],
)
def test_scores_are_brought_to_the_unit_interval(said: str, value: float, raw: float) -> None:
    score = judge(rating(Scripted([said])))
    assert score.values == {"score": value}
    assert (score.metadata or {})["raw_score"] == raw


@pytest.mark.parametrize(
    "said",
    ["", "0", "6", "5.01", "-1", "nan", "inf", "1e1", "four", "4/5", "3 out of 5", "true",
     '{"score": true}', '{"score": null}',
     '{"score": 9}', '{"score": NaN}', '{"points": 3}', '{"score": 2} {"score": 3}', "9" * 400],
)  # fmt: skip
def test_a_number_outside_the_range_or_none_at_all_is_a_failure(said: str) -> None:
    failure = refused(rating(Scripted([said] * 3)))
    assert (failure.stage, failure.kind) == ("scorer", "bad_output")


def test_where_nothing_is_run_a_judge_can_be_built_but_not_asked() -> None:
    scorer = Rating("s", **PROMPTS)
    assert refused(scorer).kind == "not_called"


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    for read in (lambda: read_label(text, ("a", "b"), ("label",)), lambda: read_score(text, 0, 1)):
        try:
            value, _ = read()
            assert value in ("a", "b") or 0 <= float(value) <= 1
        except UnusableError:
            pass


def test_requests_of_a_judge_are_plain_chat_requests() -> None:
    model = Scripted(lambda request: "correct" if isinstance(request, Request) else "")
    assert judge(classifier(model)).values["is_correct"] is True


def test_an_unusable_verdict_is_asked_for_again_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = iter(["hmm", "correct"])

    def answer(asked: Any) -> Answer:
        text = next(verdicts) if asked["messages"][0]["role"] == "system" else "Rome"
        return Answer(json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode())

    monkeypatch.chdir(tmp_path)
    with serving(answer) as server:
        address = server.url.removesuffix("/")
        for name, text in {
            "models/j.yaml": f"key: j\ndisplay_name: J\nconfig: {{url: '{address}', model_key: j}}\n",
            "datasets/d.jsonl": '{"q": "Capital?"}\n',
            "t.yaml": JUDGED,
        }.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text)
        model = ["--model", "openai:m", "--model-arg", f"base_url={address}"]
        run = ["run", "t.yaml", *model, "--run-dir", "r", "--quiet", "--judge-retries", "0"]
        assert [main(run), main(run), main(run)] == [3, 0, 0]
    assert next(verdicts, None) is None
    [judge] = read_leaderboard_file("r/leaderboard.json").tasks[0].judges
    assert (judge.answers, judge.cached) == (2, 0)


JUDGED = """
key: t
display_name: T
description: T
definition:
  dataset: {key: d}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers:
    - type: model_as_a_judge_classifier
      key: verdict
      model_key: j
      system_prompt: Judge.
      user_prompt: "{{ solver_output.output }}"
      correct_labels: [correct]
      incorrect_labels: [incorrect]
"""
