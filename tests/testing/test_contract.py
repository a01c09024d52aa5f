"""How clauses are run and reported."""

from __future__ import annotations

import pytest
from tests.testing.broken import broken_by

from assay.testing import contract
from assay.testing.contract import bounded_work, expect, given, hold_to, plain_data


def test_what_a_clause_raises_is_reported_with_what_was_given_and_its_cause() -> None:
    def divides(number: int) -> None:
        with given(f"number={number}"):
            expect(1 / number > 0, "it is not above 0")

    error = broken_by(lambda: hold_to("part", object, [divides], 0))
    assert str(error).splitlines() == [
        "the part `object` breaks its contract: it divides",
        "  given: number=0",
        "  but: raised ZeroDivisionError: division by zero",
    ]
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_the_first_clause_that_breaks_is_the_one_reported() -> None:
    tried: list[str] = []

    def holds(subject: None) -> None:
        tried.append("holds")

    async def breaks(subject: None) -> None:
        tried.append("breaks")
        expect(False, "as it must")

    def comes_later(subject: None) -> None:
        tried.append("later")

    assert broken_by(lambda: hold_to("part", object, [holds, breaks, comes_later], None)).clause == "breaks"
    assert tried == ["holds", "breaks"]


def test_code_that_computes_forever_is_ended_whatever_it_catches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "CPU_SECONDS", 0.2)

    def ends(subject: None) -> None:
        with given("nothing"), bounded_work():
            try:
                while True:
                    pass
            except Exception:
                return

    assert "still computing after 0.2 s of CPU time" in str(broken_by(lambda: hold_to("part", object, [ends], None)))


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": {1}}, {"a": (1,)}, {"a": "\ud83d"}])
def test_what_does_not_come_back_from_json_is_no_plain_data(value: object) -> None:
    assert broken_by(lambda: hold_to("part", object, [lambda subject: plain_data(subject, dict)], value))
