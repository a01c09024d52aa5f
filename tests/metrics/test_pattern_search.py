"""Searching for patterns: the same answer as `re.search`, or an error in bounded time."""

from __future__ import annotations

import os
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics import pattern_search
from assay.metrics.pattern_search import PatternTimeoutError, pattern_found

CATASTROPHE = r"(a+)+$"
UNLUCKY = "a" * 60 + "!"


@given(
    pattern=st.lists(st.sampled_from([*"abA1 .|^$()*+?[]{}-,", "\\b", "\\w", "\\d", "(?i)", "é"]), max_size=6).map(
        "".join
    ),
    text=st.text(alphabet="abA1 é\n.-", max_size=8),
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_answer_is_that_of_re_search(pattern: str, text: str) -> None:
    try:
        expected = re.search(pattern, text) is not None
    except re.error:
        with pytest.raises(ValueError, match="bad regular expression"):
            pattern_found(pattern, text)
    else:
        assert pattern_found(pattern, text) is expected


def test_a_catastrophic_pattern_is_an_error_that_names_it_and_the_next_search_works() -> None:
    with pytest.raises(PatternTimeoutError, match=re.escape(repr(CATASTROPHE))):
        pattern_found(CATASTROPHE, UNLUCKY)
    assert pattern_found(CATASTROPHE, "aaa") is True
    assert pattern_found("(b+)+$", "aaa") is False


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{99999999999999999999}", "(" * 4000 + ")" * 4000, "*"])
def test_what_is_no_pattern_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"bad regular expression {pattern!r}"[:100])):
        pattern_found(pattern, "text")


def test_something_else_than_a_string_is_no_pattern() -> None:
    with pytest.raises(ValueError, match="a pattern must be a string, not NoneType"):
        pattern_found(None, "text")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["\ud800x", "\ud83d\ude00", "x\x00y\nz", "", "é" * 100_000])
def test_any_text_reaches_the_helper_whole(text: str) -> None:
    assert pattern_found(f"(?s)^.{{{min(len(text), 5)}}}", text) is True
    assert pattern_found(r"(\A)" + re.escape(text[:50]), text) is True


def test_a_helper_that_was_killed_is_replaced() -> None:
    assert pattern_found("(a)", "a") is True
    process = pattern_search._helper._process
    assert process is not None
    process.kill()
    process.wait()
    assert pattern_found("(a)", "a") is True


def test_the_helper_inherits_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    pattern_search._helper.stop()
    pattern_found("(a)", "a")
    process = pattern_search._helper._process
    assert process is not None
    environment = f"/proc/{process.pid}/environ"
    if not os.path.exists(environment):
        pytest.skip("needs /proc")
    with open(environment, "rb") as file:
        assert b"s3cret" not in file.read()


def test_threads_get_their_own_answers() -> None:
    wrong: list[int] = []

    def search(number: int) -> None:
        for _ in range(50):
            if pattern_found(f"(x{number}y)", "x1y x3y") is not (number in (1, 3)):
                wrong.append(number)

    threads = [threading.Thread(target=search, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_process_asks_a_helper_of_its_own() -> None:
    assert pattern_found("(a)", "a") is True
    before = pattern_search._helper._process
    child = os.fork()
    if child == 0:
        fine = pattern_search._helper._process is None and pattern_found("(b)", "b") and not pattern_found("(b)", "a")
        pattern_search._helper.stop()
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert pattern_found("(a)", "a") is True
    assert pattern_search._helper._process is before
