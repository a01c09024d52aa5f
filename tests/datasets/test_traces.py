"""Recorded conversations are rows of the same columns, whatever wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.traces import TraceFile, numbered_id


def chats(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


CHAT = {
    "sample_id": "one",
    "customer": 7,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": [{"type": "text", "text": "See you"}]},
    ],
}


def test_a_chat_keeps_its_columns_and_gains_prompt_and_answer(tmp_path: Path) -> None:
    (sample,) = TraceFile(path=chats(tmp_path / "chats.jsonl", CHAT))
    row = sample.row
    assert row is not None
    assert (sample.id, row["customer"], row["input"], row["output"]) == ("one", 7, "Hello", "See you")
    assert [item["role"] for item in row["trace"]["items"]] == ["system", "user", "assistant", "user", "assistant"]


def test_an_unanswered_chat_has_no_output(tmp_path: Path) -> None:
    (sample,) = TraceFile(path=chats(tmp_path / "c.jsonl", {"messages": [{"role": "user", "content": "Hello"}]}))
    assert sample.row is not None
    assert "output" not in sample.row


@pytest.mark.parametrize("bad", [{}, {"messages": []}, {"messages": "hi"}, {"messages": [{"content": "x"}]}, [1]])
def test_what_is_no_chat_is_reported_with_its_line(bad: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"c\.jsonl:2: "):
        list(TraceFile(path=chats(tmp_path / "c.jsonl", CHAT, bad)))


def test_a_format_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one of inspect, opentelemetry, chat"):
        TraceFile(path=chats(tmp_path / "c.jsonl", CHAT), file_format="langsmith")


def test_an_endless_line_is_refused_without_being_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.datasets.traces.MAX_CONVERSATION_BYTES", 1 << 20)
    (tmp_path / "c.jsonl").write_bytes(b'{"messages": "' + b"x" * (2 << 20))
    with pytest.raises(UsageError, match=r"c\.jsonl:1: has more than 1 MB in one line"):
        list(TraceFile(path=str(tmp_path / "c.jsonl")))


def test_repetitions_of_a_sample_are_told_apart() -> None:
    assert [numbered_id("a", 1), numbered_id("a", 2)] == ["a", "a#2"]
