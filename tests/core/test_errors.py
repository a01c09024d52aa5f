"""The error model: what the user can fix, what broke, and what no scorer may catch."""

from __future__ import annotations

import pickle

from assay.core.errors import AssayError, FailureError, UnwritableError, UsageError
from assay.core.types import Failure

FAILURE = Failure(stage="model", kind="rate_limit", message="slow down", retryable=True)


def test_what_broke_is_not_what_the_user_can_fix() -> None:
    assert issubclass(UnwritableError, UsageError)
    assert not issubclass(FailureError, UsageError)
    assert issubclass(FailureError, AssayError)


def test_a_failure_carries_its_record_and_reads_as_its_message() -> None:
    error = FailureError(FAILURE, retry_after_seconds=2.0, away="refusing")
    assert (str(error), error.failure, error.retry_after_seconds, error.away) == ("slow down", FAILURE, 2.0, "refusing")


def test_a_usage_error_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(UnwritableError("x: could not write")))
    assert (type(again), str(again)) == (UnwritableError, "x: could not write")
