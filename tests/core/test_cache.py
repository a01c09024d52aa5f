"""The cache answers the same request, and only the same request."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from assay.core.cache import CompletionCache
from assay.core.errors import UsageError
from assay.core.types import Completion, Message, Request

REQUEST = Request(prompt="2 + 2", temperature=0.0, max_tokens=5)
ANSWER = Completion(text="4", finish_reason="stop", tokens_in=3, tokens_out=1)


def test_an_answer_is_found_again_after_reopening(tmp_path: Path) -> None:
    first = CompletionCache(tmp_path / "deep" / "cache.sqlite")
    first.put(first.key({"name": "a"}, REQUEST), ANSWER)
    first.close()
    second = CompletionCache(tmp_path / "deep" / "cache.sqlite")
    assert second.get(second.key({"name": "a"}, REQUEST)) == ANSWER
    second.close()


CHANGES = [
    {"prompt": "2 + 3"},
    {"temperature": 0.1},
    {"max_tokens": 6},
    {"attempt": 2},
    {"seed": 1},
    {"stop": ("x",)},
    {"extra": {"min_p": 0.1}},
    {"prompt": None, "messages": (Message(role="user", content="2 + 2"),)},
]


@pytest.mark.parametrize("change", CHANGES, ids=[next(iter(change)) + str(i) for i, change in enumerate(CHANGES)])
def test_any_change_of_the_request_is_another_request(tmp_path: Path, change: dict[str, object]) -> None:
    cache = CompletionCache(tmp_path / "cache.sqlite")
    cache.put(cache.key("m", REQUEST), ANSWER)
    assert cache.get(cache.key("m", msgspec.structs.replace(REQUEST, **change))) is None
    assert cache.get(cache.key("other model", REQUEST)) is None
    cache.close()


def test_a_file_that_is_no_database_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"not a database, but long enough to be one" * 50)
    with pytest.raises(UsageError, match="cannot be used as the completion cache"):
        CompletionCache(path)


def test_a_cache_that_breaks_during_a_run_is_given_up_and_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cache.sqlite"
    cache = CompletionCache(path)
    cache.put(b"1", Completion(text="one"))
    cache.commit()
    for damaged in tmp_path.iterdir():
        damaged.write_bytes(b"\xff" * damaged.stat().st_size)
    assert CompletionCache.get(cache, b"2") is None
    cache.put(b"3", Completion(text="three"))
    assert cache.get(b"3") is None
    cache.close()
    assert "the completion cache is not used any more" in caplog.text


def test_a_damaged_answer_is_not_an_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = CompletionCache(tmp_path / "cache.sqlite")
    cache.put(b"1", Completion(text="one"))
    cache.commit()
    with sqlite3.connect(tmp_path / "cache.sqlite") as database:
        database.execute("UPDATE completions SET completion = ?", (b'{"text":"\xff"}',))
    database.close()
    assert cache.get(b"1") is None
    cache.close()
    assert "the completion cache is not used any more" in caplog.text
