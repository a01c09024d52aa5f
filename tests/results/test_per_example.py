"""One attempt as readers see it: its number, the headline's answer, and only what the model was sent."""

from __future__ import annotations

import pytest

from assay.core.types import DatasetSpec, Failure, Message, PartSpec, Record, Score, TaskDefinition, Trace
from assay.results.measure import Measure, measure_of
from assay.results.per_example import per_example, question
from assay.tasks.descriptions import with_descriptions

RECORD = Record(
    key="1f",
    task="t",
    sample_id="a",
    index=0,
    attempt=2,
    trace=Trace(prediction="so 4", prompt="2 + 2?"),
    scores=(
        Score(name="style", values={"score": 0.2}, answer="so"),
        Score(name="main", values={"score": 1.0, "label": "x"}, answer="4"),
    ),
    seconds=0.0123456,
)


def test_number_and_answer_are_those_of_the_scorer_that_the_task_averages() -> None:
    seen = per_example(RECORD, Measure(scorer="main", field="score"))
    assert (seen.score, seen.answer, seen.prompt, seen.prediction) == (1.0, "4", "2 + 2?", "so 4")
    assert (seen.latency_ms, seen.attempt) == (12.346, 2)
    assert seen.values == {"style": {"score": 0.2}, "main": {"score": 1.0, "label": "x"}}


def test_an_attempt_that_broke_has_a_failure_and_no_number() -> None:
    import msgspec

    failure = Failure(stage="scorer", kind="timeout", message="600 s")
    seen = per_example(msgspec.structs.replace(RECORD, failures=(failure,)), Measure(scorer="main", field="score"))
    assert (seen.score, seen.failure) == (None, "timeout: 600 s")
    nothing = Record(key="1f", task="t", sample_id="a", index=0, failures=(failure,))
    assert (per_example(nothing, Measure()).prediction, per_example(nothing, Measure()).prompt) == (None, None)


def test_a_model_that_failed_leaves_what_the_judge_would_have_been_shown() -> None:
    failure = Failure(stage="solver", kind="timeout", message="600 s")
    row = {"country": "France", "capital": "Paris", "continent": "Europe"}
    record = Record(
        key="1f",
        task="t",
        sample_id="a",
        index=0,
        metadata={"sample": row},
        last_request="The capital of France?",
        failures=(failure,),
    )
    prompt = "Expected: {{ sample.capital }}, of {{ sample['country'] }}"
    judge = PartSpec(key="judge", use="model_as_a_judge_scorer", options={"user_prompt": prompt})
    mean = PartSpec(key="mean", use="mean")
    dataset, solver = DatasetSpec(use="jsonl"), PartSpec(key="solver", use="single_turn")
    definition = TaskDefinition(
        name="t",
        format="declarative",
        dataset=dataset,
        solver=solver,
        scorers=(judge,),
        aggregates=(mean,),
        metric="mean",
    )
    assert per_example(record, measure_of(with_descriptions(definition))).expected == "Paris"


@pytest.mark.parametrize(
    ("trace", "asked"),
    [
        (Trace(prediction="x", prompt=""), ""),
        (Trace(prediction="x"), None),
        (
            Trace(
                prediction="x",
                messages=(
                    Message(role="system", content="brief"),
                    Message(role="user", content="1?"),
                    Message(role="assistant", content="hm"),
                    Message(role="tool", content="42"),
                    Message(role="user", content="2?"),
                ),
            ),
            "system: brief\n\nuser: 1?\n\nuser: 2?",
        ),
        (
            Trace(
                prediction="x",
                messages=(
                    Message(
                        role="user",
                        content=[
                            {"type": "text", "text": "What colour is this?"},
                            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'iVBO' * 500}"}},
                            {"image_url": {"url": "data:image/png;base64,iVBO"}, "file": "cats/1.png"},
                            {"input_audio": {"data": "UklG", "format": "wav"}, "file": "meow.wav"},
                            {"image_url": "data:image/svg+xml,<svg/>"},
                            {"image_url": "https://example.org/far.png"},
                        ],
                    ),
                ),
            ),
            "user: What colour is this?\n(image, image/png, 1,500 bytes, sha256 758727fd)\n"
            "(image cats/1.png, image/png, 3 bytes, sha256 449ba17f)\n"
            "(audio meow.wav, audio/wav, 3 bytes, sha256 cd2ba0a7)\n"
            "(image, image/svg+xml, 6 bytes, sha256 d4dc5666)\n"
            "(image, not loaded: https://example.org/far.png)",
        ),
    ],
)
def test_the_question_holds_no_turn_of_the_models_own(trace: Trace, asked: str | None) -> None:
    assert question(trace) == asked
