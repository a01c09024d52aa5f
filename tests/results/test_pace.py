"""A run over its time: every attempt in one bucket, pauses left out."""

from __future__ import annotations

import numpy as np

from assay.results.pace import timeline_of


def test_every_attempt_is_counted_once_and_failures_among_them() -> None:
    times = np.linspace(1000.0, 1480.0, 481)
    failed = np.zeros(481, dtype=bool)
    failed[:50] = True
    found = timeline_of(times, failed)
    assert found is not None
    assert (sum(found.made), sum(found.failed), found.pauses) == (481, 50, 0)
    assert found.bucket_seconds == 10.0
    assert found.made[0] == 10
    assert found.failed[:5] == [10] * 5
    assert found.failed[6:] == [0] * 42


def test_the_night_between_two_sessions_is_left_out() -> None:
    times = np.concatenate([np.arange(0.0, 100.0), np.arange(50_000.0, 50_100.0)])
    found = timeline_of(times, np.zeros(200, dtype=bool))
    assert found is not None
    assert found.pauses == 1
    assert found.bucket_seconds * len(found.made) < 200.0


def test_journals_of_older_versions_have_no_times() -> None:
    assert timeline_of(np.zeros(0), np.zeros(0, dtype=bool)) is None
