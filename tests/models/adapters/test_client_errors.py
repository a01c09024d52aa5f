"""What an exception of somebody's client says: its status wherever it stands, or that nobody listened."""

from __future__ import annotations

import urllib.error
from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from assay.models.adapters.client_errors import status_of, trouble_of


class ClientError(Exception):
    """As libraries raise it: with a status of its own or on its response."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__("no")
        vars(self).update(attributes)


def wrapped(cause: BaseException) -> Exception:
    try:
        raise ClientError() from cause
    except ClientError as error:
        return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ClientError(status_code=429), 429),
        (ClientError(status=503), 503),
        (ClientError(code="insufficient_quota", response=SimpleNamespace(status_code=402)), 402),
        (urllib.error.HTTPError("http://h", 404, "gone", Message(), None), 404),
        (ClientError(code=-32000), None),
        (ClientError(status=True), None),
        (ClientError(status_code="429"), None),
        (ValueError("500"), None),
    ],
)
def test_a_status_is_a_number_that_http_has(error: Exception, status: int | None) -> None:
    assert status_of(error) == status


@pytest.mark.parametrize(
    ("error", "kind", "retryable", "away"),
    [
        (ClientError(status_code=429), "rate_limit", True, "refusing"),
        (ClientError(status_code=503), "server_error", True, "refusing"),
        (ClientError(status_code=500), "server_error", True, None),
        (ClientError(status_code=404), "bad_request", False, "closed"),
        (ClientError(status_code=400), "bad_request", False, None),
        (wrapped(ConnectionRefusedError()), "connection", True, "unreachable"),
        (wrapped(TimeoutError()), "timeout", True, None),
        (ZeroDivisionError(), "exception", False, None),
    ],
)
def test_what_may_help_and_whether_it_is_an_outage(
    error: Exception, kind: str, retryable: bool, away: str | None
) -> None:
    found = trouble_of(error)
    assert (found.kind, found.retryable, found.away) == (kind, retryable, away)


@pytest.mark.parametrize("name", ["Retry-After", "retry-after", "RETRY-AFTER"])
def test_the_pause_a_server_asks_for_is_kept_however_it_is_spelt(name: str) -> None:
    error = ClientError(response=SimpleNamespace(status_code=429, headers={name: "7"}))
    assert trouble_of(error).retry_after_seconds == 7.0


def test_exceptions_that_were_raised_from_each_other_in_a_circle_end() -> None:
    first, second = ClientError(), ClientError()
    first.__cause__, second.__cause__ = second, first
    assert trouble_of(first).kind == "exception"
