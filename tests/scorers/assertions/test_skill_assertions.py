"""Skills are read from the metadata of a provider; the verdicts are in `test_trajectory_assertions.py`."""

from __future__ import annotations

from assay.scorers.assertions.skill_assertions import skill_used


def test_a_skill_that_failed_was_not_used() -> None:
    metadata = {"skillCalls": [{"name": "lint", "is_error": True}, {"name": "review"}]}
    assert skill_used(metadata, "review", negated=False).passed
    assert not skill_used(metadata, ["review", "lint"], negated=False).passed
    assert skill_used(metadata, "lint", negated=False).reason == "review"
