"""The records: frozen, short in files, and the same after a journey through JSON."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from assay.core import types
from assay.core.types import Completion, Failure, Message, Record, Request, Score, Trace, Usage

RECORDS = [kind for _, kind in inspect.getmembers(types, inspect.isclass) if kind.__module__ == types.__name__]

RECORD = Record(
    key="1f",
    task="t",
    sample_id="a",
    index=3,
    attempt=2,
    targets=("1", "one"),
    trace=Trace(
        prediction="1",
        messages=(Message(role="user", content=[{"type": "text", "text": "é"}]),),
        completions=(Completion(text="1", logprobs=[{"token": "1", "logprob": -0.5}], cached=True),),
    ),
    scores=(Score(name="m", values={"i": 1, "f": 1.0, "b": True, "s": "1", "n": None}),),
    failures=(Failure(stage="scorer", kind="timeout", message="…"),),
    usage=(Usage(model="judge", answers=1),),
)


def test_a_record_is_the_same_after_the_journal_value_types_included() -> None:
    again = msgspec.json.decode(msgspec.json.encode(RECORD), type=Record)
    assert again == RECORD
    assert [type(value) for value in again.scores[0].values.values()] == [int, float, bool, str, type(None)]


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_every_record_is_frozen_and_takes_no_field_by_position(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen
    with pytest.raises(TypeError, match="positional"):
        kind("x")


def test_what_is_not_set_takes_no_room_in_a_line() -> None:
    line = msgspec.json.encode(Record(key="1f", task="t", sample_id="a", index=0))
    assert line == b'{"key":"1f","task":"t","sample_id":"a","index":0}'


def test_an_attempt_with_any_failure_failed_whatever_was_scored() -> None:
    assert RECORD.failed
    assert not msgspec.structs.replace(RECORD, failures=()).failed


def test_a_request_reads_as_one_text() -> None:
    messages = (Message(role="system", content="be brief"), Message(role="user", content="1 + 1?"))
    assert Request(messages=messages).text() == "be brief\n\n1 + 1?"
    assert Request(prompt="", messages=messages).text() == ""
    assert Request().text() == ""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": "text", "text": "What is it?"}, image, "A cat?"]
    assert Request(messages=(Message(role="user", content=parts),)).text() == "What is it?\n\n(image_url)\n\nA cat?"
