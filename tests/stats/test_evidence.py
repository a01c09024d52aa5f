"""Evidence: every value under its own name, without an interval; nothing is said to be nothing."""

from __future__ import annotations

from assay.stats.evidence import evidence
from assay.stats.score_table import ScoreTable


def test_every_number_keeps_its_name_and_a_single_reading_has_no_interval() -> None:
    table = ScoreTable()
    table.add({"gpus": 4.0, "uptime": 0.5}, sample=0)
    assert [(each.name, each.value, each.low, each.signature) for each in evidence(table)] == [
        ("gpus", 4.0, None, "evidence"),
        ("uptime", 0.5, None, "evidence"),
    ]


def test_a_value_that_is_not_a_number_says_why_next_to_those_that_are() -> None:
    table = ScoreTable()
    table.add({"name": "h100", "gpus": 4.0}, sample=0)
    found = {each.name: each for each in evidence(table)}
    assert found["gpus"].value == 4.0
    assert found["name"].value is None
    assert found["name"].reason


def test_evidence_that_could_not_be_had_is_a_failure_and_no_number() -> None:
    table = ScoreTable()
    table.add_failure(timeout=True)
    [found] = evidence(table)
    assert (found.name, found.value, found.timeouts, found.reason) == ("evidence", None, 1, "no evidence")
