"""A step that takes too long is interrupted, and the process's own alarm goes on."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from assay.bridges.process.time_limit import OutOfTimeError, scores_in_time, time_limit


def test_it_interrupts_what_takes_longer_and_restores_the_alarm() -> None:
    before = signal.getsignal(signal.SIGALRM)
    left = signal.getitimer(signal.ITIMER_REAL)[0]  # the test itself may have a limit

    def forever() -> float:
        with time_limit(0.05):
            try:
                while True:
                    pass
            except Exception:
                return 0.0  # a score that it does not have

    with pytest.raises(OutOfTimeError, match=r"longer than 0.05 s"):
        forever()
    assert signal.getsignal(signal.SIGALRM) is before
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == (left > 0)


def test_a_sample_that_breaks_or_hangs_costs_no_other_its_score() -> None:
    def score(sample: dict[str, Any]) -> dict[str, Any]:
        if sample["text"] == "hangs":
            while True:
                pass
        return {"length": len(sample["text"].strip())}

    broken, whole = scores_in_time([{"text": 3}, {"text": "yes "}], 60.0, score)["scores"]
    assert broken["problem"].startswith("AttributeError: ")
    assert "in score" in broken["traceback"]
    assert whole == {"length": 3}
    # what is left when the time is over is not begun
    assert scores_in_time([{"text": "hangs"}, {"text": "yes"}], 0.05, score) == {"scores": [{"timeout": True}]}
