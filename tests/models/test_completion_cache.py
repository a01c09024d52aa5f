"""The cache answers the same request, and only the same request."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.core.types import Completion, Message, Request
from assay.models.completion_cache import CompletionCache
from assay.user.folder import secret_for_cache

REQUEST = Request(prompt="2 + 2", temperature=0.0, max_tokens=5)
ANSWER = Completion(text="4", finish_reason="stop", tokens_in=3, tokens_out=1)
OURS = msgspec.structs.replace(ANSWER, cached=True)
EARLIER = msgspec.structs.replace(OURS, from_earlier_run=True)


def opened(path: Path) -> CompletionCache:
    return CompletionCache(path, secret_for_cache(path))


def test_an_answer_is_found_again_after_reopening(tmp_path: Path) -> None:
    first = opened(tmp_path / "deep" / "cache.sqlite")
    first.put(first.key({"name": "a"}, REQUEST), ANSWER)
    first.close()
    second = opened(tmp_path / "deep" / "cache.sqlite")
    assert second.get(second.key({"name": "a"}, REQUEST)) == EARLIER
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
    cache = opened(tmp_path / "cache.sqlite")
    cache.put(cache.key("m", REQUEST), ANSWER)
    assert cache.get(cache.key("m", msgspec.structs.replace(REQUEST, **change))) is None
    assert cache.get(cache.key("other model", REQUEST)) is None
    cache.close()


def test_a_file_that_is_no_database_is_reported_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"not a database, but long enough to be one" * 50)
    with pytest.raises(UsageError, match="cannot be used as the completion cache"):
        opened(path)


def test_a_cache_that_breaks_during_a_run_is_given_up_and_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cache.sqlite"
    cache = opened(path)
    cache.put(b"1", Completion(text="one"))
    cache.commit()
    for damaged in tmp_path.iterdir():
        damaged.write_bytes(b"\xff" * damaged.stat().st_size)
    assert CompletionCache.get(cache, b"2") is None
    cache.put(b"3", Completion(text="three"))
    assert cache.get(b"3") is None
    cache.close()
    assert "the completion cache is no longer used" in caplog.text


@pytest.mark.parametrize(
    "there", [b'{"text":"\xff"}', b'{"text":"two"}', b"", None, "text", 7, b"0" * 16 + b'{"text":"two"}']
)
def test_an_answer_that_this_user_did_not_put_there_is_none(tmp_path: Path, there: object) -> None:
    path = tmp_path / "cache.sqlite"
    cache = opened(path)
    key = cache.key("m", REQUEST)
    cache.put(key, ANSWER)
    cache.commit()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE other AS SELECT key, ? AS answer, at FROM answers", (there,))
        database.executescript("DROP TABLE answers; ALTER TABLE other RENAME TO answers")
    reopened = opened(path)
    assert reopened.get(key) is None
    reopened.close()
    cache.close()


def test_an_answer_moved_to_another_request_is_none(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    cache = opened(path)
    right, other = cache.key("m", REQUEST), cache.key("m", msgspec.structs.replace(REQUEST, prompt="3 + 3"))
    cache.put(right, ANSWER)
    cache.commit()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE answers SET key = ?", (other,))
    assert cache.get(other) is None
    cache.close()


def test_a_cache_that_came_with_a_cloned_folder_answers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strangers = opened(tmp_path / "cache.sqlite")
    strangers.put(strangers.key("m", REQUEST), Completion(text="5"))
    strangers.close()
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "mine"))
    ours = opened(tmp_path / "cache.sqlite")
    assert ours.get(ours.key("m", REQUEST)) is None
    assert ours.get(strangers.key("m", REQUEST)) is None
    ours.put(ours.key("m", REQUEST), ANSWER)
    ours.close()
    monkeypatch.undo()
    again = opened(tmp_path / "cache.sqlite")
    found = again.get(again.key("m", REQUEST))
    assert found is not None
    assert found.text == "5", "users who share a project keep their own answers"
    again.close()


def test_without_a_secret_answers_are_cached_for_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "file"))
    first = opened(tmp_path / "cache.sqlite")
    first.put(first.key("m", REQUEST), ANSWER)
    first.commit()
    assert first.get(first.key("m", REQUEST)) == OURS
    first.close()
    assert "answers are cached for this run only" in caplog.text
    second = opened(tmp_path / "cache.sqlite")
    assert second.get(second.key("m", REQUEST)) is None
    second.close()


@pytest.mark.parametrize("kind", ["a link", "a pipe", "a folder"])
def test_what_is_not_a_file_is_no_cache(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "cache.sqlite"
    if kind == "a link":
        (tmp_path / "elsewhere").write_bytes(b"")
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(UsageError, match=f"is {kind}, not a completion cache"):
        opened(path)


def test_a_resumed_run_knows_its_own_answers(tmp_path: Path) -> None:
    for run, expected in (("a", None), ("a", OURS), ("b", EARLIER)):
        with closing(opened(tmp_path / "cache.sqlite")) as cache:
            cache.name_run(run)
            key = cache.key("m", REQUEST)
            assert cache.get(key) == expected
            if expected is None:
                cache.put(key, ANSWER)
