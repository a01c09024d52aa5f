"""The texts that contracts are tried with."""

from __future__ import annotations

from assay.testing.hostile_texts import LONG, long_texts


def test_the_python_that_is_reported_makes_the_text() -> None:
    for python, text in long_texts():
        assert eval(python) == text
        assert LONG * 0.9 < len(text) < LONG * 1.1
        assert len(python) < 200
