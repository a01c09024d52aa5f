"""A time limit for a task's Python, which is interrupted where possible."""

from __future__ import annotations

import contextlib
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class OutOfTimeError(BaseException):
    """Ends a task's own code whatever it catches: `except Exception: return 0.0` must not become a score."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` in a block that takes longer. The process's own alarm is restored afterwards."""

    def too_long(*_: Any) -> None:
        raise OutOfTimeError(f"took longer than {seconds:g} s")

    usual = signal.signal(signal.SIGALRM, too_long)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, usual)


def scores_in_time(
    samples: Sequence[dict[str, Any]], seconds: float, score: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """The score of each of these samples, or how the task's code failed on it.

    Stops after `seconds`, which is also the limit of one sample, so that other tasks do not wait longer.
    """
    scores = []
    end = time.monotonic() + seconds
    for sample in samples:
        scores.append(_tried(score, sample, seconds))
        if time.monotonic() >= end:
            break
    return {"scores": scores}


def _tried(score: Callable[[dict[str, Any]], dict[str, Any]], sample: dict[str, Any], seconds: float) -> dict[str, Any]:
    try:
        with time_limit(seconds):
            return score(sample)
    except OutOfTimeError:
        return {"timeout": True}
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
