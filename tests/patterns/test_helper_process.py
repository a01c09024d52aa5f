"""The helper that searches in bounded time: replaced when killed, without secrets, one for each process."""

from __future__ import annotations

import os
import threading

import pytest
from tests.forked import forked

from assay.patterns.helper_process import helper
from assay.patterns.matching import (
    pattern_found,
)

SLOW = "(a+)+b"
"""A pattern that is asked of the helper, and is quick on the texts below."""


FITS, DOES_NOT = "a" * 20 + "b", "c" * 20


def test_a_helper_that_was_killed_is_replaced() -> None:
    assert pattern_found(SLOW, FITS) is True
    process = helper._process
    assert process is not None
    process.kill()
    process.wait()
    assert pattern_found(SLOW, FITS) is True


def test_the_helper_inherits_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    helper.stop()
    pattern_found(SLOW, FITS)
    process = helper._process
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
            if pattern_found(f"((x)+)+{number}y", "x1y x3y" + " " * 30) is not (number in (1, 3)):
                wrong.append(number)

    threads = [threading.Thread(target=search, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_process_asks_a_helper_of_its_own() -> None:
    assert pattern_found(SLOW, FITS) is True
    before = helper._process

    def asks_another() -> None:
        assert helper._process is None
        assert pattern_found(SLOW, FITS)
        assert not pattern_found(SLOW, DOES_NOT)
        helper.stop()

    assert forked(asks_another) == 0
    assert pattern_found(SLOW, FITS) is True
    assert helper._process is before
