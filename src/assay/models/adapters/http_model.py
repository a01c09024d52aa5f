"""What every HTTP adapter shares: reading the key, naming failures, reading rate limits.

An adapter adds what is particular to its server: the body it sends, the answer it reads, the error codes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import msgspec

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.types import Failure
from assay.models.adapters.client_errors import away
from assay.models.adapters.options import checked_timeout, longer_than_usual
from assay.models.adapters.providers import NO_KEY, is_run_by_users
from assay.models.rate_limits import RateLimits
from assay.reading.env_file import check_name, key_variable, refuse_unused_address, unread_addresses
from assay.text.printable import one_line
from assay.text.redaction import Redactor, credential_in, secret_option_in
from assay.text.wording import HALF_A_CHARACTER
from assay.transport.client import HttpClient
from assay.transport.connection import HttpAnswer

Reply = TypeVar("Reply")


class UnsupportedRequestError(ValueError):
    """A request that the API cannot express."""


class HttpModel:
    """One model on one server. The key is named by its environment variable, and only sent in a header."""

    offers = ModelOffers(remote=True, cacheable=True)
    limits: RateLimits | None = None
    at_usual_address = False
    """Whether the address is the provider's, because no other was given."""

    def __init__(
        self, name: str, *, address: str, api_key_env: str, key_required: bool, timeout_seconds: float | None
    ) -> None:
        self.name = name
        if is_run_by_users(address):
            self.offers = msgspec.structs.replace(self.offers, cacheable=False)
        self._timeout_seconds = checked_timeout(timeout_seconds)
        self._key = self._key_named(api_key_env)
        adapter, instead = name.partition(":")[0], f"`{name}@URL`"
        if self.at_usual_address and self._key is not None:
            refuse_unused_address(api_key_env, adapter, address, instead)
        elif self.at_usual_address:
            notes = [
                f"{place}: {variable} is not read; `{name}` is called at {address} (or give {instead})"
                for place, variable in unread_addresses(api_key_env, adapter, address)
            ]
            self.offers = msgspec.structs.replace(self.offers, notes=tuple(notes))
        self._missing_key = api_key_env if key_required and self._key is None else None
        self._redactor = Redactor([self._key])
        self._message_redactor = Redactor([self._key], shortest=SHORTEST_SECRET)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._client = HttpClient(part=name)

    def allow_seconds(self, seconds: float) -> None:
        self._timeout_seconds = longer_than_usual(self._timeout_seconds, seconds)

    @property
    def settings(self) -> dict[str, Any]:
        """What the answers depend on, without secrets: part of every cache key and run fingerprint."""
        raise NotImplementedError

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _post(self, url: str, body: dict[str, Any], more_headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """Send one request; a status other than 200 raises a `FailureError` of its kind."""
        try:
            sent = encode(body)
        except UnicodeEncodeError as error:
            raise self._failed("bad_request", HALF_A_CHARACTER) from error
        headers = {**self._headers, **more_headers} if more_headers else self._headers
        answer = await self._client.post_json(url, sent, headers, self._timeout_seconds)
        self.limits = rate_limits_in(answer.headers)
        clean = self._redactor.body(answer.body)
        if clean is not answer.body:
            answer = answer._replace(body=clean)
        if answer.status != 200:
            raise self._status_failure(answer.status, answer)
        return answer

    async def _fact(self, url: str) -> Any:
        """The JSON that the server answers a GET with, without the key; None for any other answer.

        `FailureError` where nothing answers, or only a proxy says that nothing does: it may answer later.
        """
        answer = await self._client.get(url, self._headers, FACT_SECONDS)
        if answer.status in NOT_UP:
            raise self._failed("server_error", f"status {answer.status}", retryable=True)
        try:
            fact = msgspec.json.decode(answer.body) if answer.status == 200 else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return self._message_redactor.value(fact)

    def _decoded(self, answer: HttpAnswer, decode: Callable[[bytes], Reply]) -> Reply:
        """The decoded answer; one of another shape is a failure of kind `bad_output`."""
        content_type = answer.headers.get("content-type", "")
        if content_type and "json" not in content_type.lower():
            kind = self._clean(content_type)
            message = f"the server answered with `{kind}` instead of JSON: {self._clean(answer.body)}"
            raise self._failed("bad_output", message, retryable=True)
        try:
            return decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"the server's answer cannot be read ({error}): {self._clean(answer.body)}"
            # a well-formed answer of another shape will have that shape again; a truncated one may not
            retryable = not isinstance(error, msgspec.ValidationError)
            raise self._failed("bad_output", message, retryable=retryable) from error
        except RecursionError as error:
            raise self._failed("bad_output", "the server's answer is nested too deeply to be read") from error

    def _without_key(self, logprobs: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        """The tokens of an answer, redacted where together they spell the key."""
        return None if logprobs is None else self._redactor.spelt(logprobs, "token")

    # -- what went wrong ---------------------------------------------------------------------------------------

    def _kind_of(self, status: int, codes: set[str]) -> tuple[str, bool]:
        return kind_of(status, codes)

    def _status_failure(self, status: int, answer: HttpAnswer) -> FailureError:
        text, codes = error_text(answer.body)
        kind, retryable = self._kind_of(status, codes)
        if answer.headers.get("x-should-retry") == "false":
            retryable = False
        message = f"{self._host()} answered {status}"
        if text:
            message += f": {self._clean(text)}"
        if 300 <= status < 400:
            target = self._clean(_host_of(answer.headers.get("location", ""))) or "nowhere"
            message += f"; redirects are not followed, set base_url (it points to {target})"
        if kind == "auth" and not self._key:
            message += "; no key was sent"
        message += self._advice(status)
        wait = self._retry_after_seconds(answer) if retryable else None
        error = self._failed(kind, message, retryable=retryable, retry_after_seconds=wait)
        error.away = away(status, kind, retryable=retryable)
        return error

    def _advice(self, status: int) -> str:
        """What to try, as the end of a sentence about a status; empty where there is nothing to add."""
        return ""

    def _retry_after_seconds(self, answer: HttpAnswer) -> float | None:
        return retry_after_seconds(answer.headers)

    def _host(self) -> str:
        return urlsplit(str(self.settings["base_url"])).hostname or "the server"

    def _failed(
        self, kind: str, message: str, *, retryable: bool = False, retry_after_seconds: float | None = None
    ) -> FailureError:
        failure = Failure(stage="model", part=self.name, kind=kind, message=message, retryable=retryable)
        return FailureError(failure, retry_after_seconds)

    def _clean(self, text: str | bytes) -> str:
        """A server's text, fit for a message: one line, short, without control characters and without the key."""
        text = text[:8000].decode("utf-8", "replace") if isinstance(text, bytes) else text[:8000]
        text = self._message_redactor.text(text)[:4000]
        return one_line(text, 400)

    # -- set-up ------------------------------------------------------------------------------------------------

    @property
    def _secret(self) -> str | None:
        """The key, unless it is a placeholder: people give `x`, `EMPTY` or `none` to servers that need no key."""
        return self._key if self._key and len(self._key) >= SHORTEST_SECRET else None

    def require_key(self) -> None:
        if self._missing_key is not None:
            raise UsageError(
                f"`{self.name}` needs a key: set the environment variable {self._missing_key} (or write it into "
                ".env), or name another with api_key_env, or another server with base_url"
            )

    def _key_named(self, name: str) -> str | None:
        if name == NO_KEY:
            return None
        check_name("api_key_env", name)
        key = (key_variable(name) or "").strip()
        if not key.isascii() or not key.isprintable():
            raise UsageError(f"the key in the environment variable {name} contains characters that no key can have")
        return key or None

    def _refuse_key_in_settings(self, name: str) -> None:
        if self._secret and self._secret in msgspec.json.encode(self.settings).decode():
            raise UsageError(
                f"the options of `{self.name}` contain the key itself; options are written into run files, "
                f"so name the variable of the key instead: api_key_env={name}"
            )
        if (option := secret_option_in(self.settings)) is not None:
            raise UsageError(
                f"the options of `{self.name}` contain a secret (`{option}`); options are written into run files, so "
                "set a variable to it and give its name with api_key_env"
            )


SHORTEST_SECRET = 8
"""Redacting a word by mistake is acceptable in a message, but not in an answer (see `redaction.SHORTEST`)."""

NOT_UP = (502, 503, 504)
"""What a proxy answers for a server that is down, or a server that is still loading."""
FACT_SECONDS = 2.0
"""How long to wait for what a server says about itself: nothing depends on it but what can be said afterwards."""

encode = msgspec.json.Encoder().encode


def rate_limits_in(headers: Mapping[str, str], now: datetime | None = None) -> RateLimits | None:
    """The rate limits in the headers of OpenAI and Anthropic; None where there are none."""
    for remaining, reset in (
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ):
        left = _number(headers.get(remaining))
        if left is not None:
            until = headers.get(reset, "")
            is_moment = "T" in until
            seconds = _seconds_until_iso(until, now or datetime.now(UTC)) if is_moment else _duration_seconds(until)
            return RateLimits(int(left), seconds or 0.0)
    return None


def _seconds_until_iso(moment: str, now: datetime) -> float | None:
    try:
        return max(0.0, (datetime.fromisoformat(moment) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def error_text(body: bytes) -> tuple[str, set[str]]:
    """The error message in a server's answer, and its error codes, whatever the format."""
    try:
        decoded = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body[:4000].decode("utf-8", "replace"), set()
    if not isinstance(decoded, dict):
        return str(decoded), set()
    error = decoded.get("error", decoded)
    if not isinstance(error, dict):
        return str(error), set()
    codes = {value for value in (error.get("code"), error.get("type"), error.get("status")) if isinstance(value, str)}
    details = error.get("details")
    codes |= {
        d["reason"]
        for d in (details if isinstance(details, list) else ())
        if isinstance(d, dict) and isinstance(d.get("reason"), str)
    }
    inner = error.get("innererror")
    if isinstance(inner, dict) and isinstance(inner.get("code"), str):
        codes.add(inner["code"])
    for field in ("message", "detail", "error"):
        if error.get(field):
            return str(error[field]), codes
    return body[:4000].decode("utf-8", "replace"), codes


_OUT_OF_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_FILTERED = {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}


def kind_of(status: int, codes: set[str]) -> tuple[str, bool]:
    """(kind of failure, whether a retry may help) for a status that is not 200."""
    if codes & _FILTERED:
        return "refused", False
    if codes & {"context_length_exceeded", "exceed_context_size_error"}:
        return "too_long", False
    if status == 429:
        return "rate_limit", not codes & _OUT_OF_MONEY
    if status in (401, 403):
        return "auth", False
    if status in (408, 409, 425) or status >= 500:
        return "server_error", True
    return "bad_request", False


def retry_after_seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How long the server asks us to wait, in any of the usual headers; None when it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    retry_after = headers.get("retry-after")
    if retry_after is not None:
        seconds = _number(retry_after)
        return seconds if seconds is not None else _seconds_until(retry_after, now or datetime.now(UTC))
    resets = [
        _duration_seconds(headers.get(f"x-ratelimit-reset-{unit}", ""))
        for unit in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{unit}") == "0"
    ]
    return max((seconds for seconds in resets if seconds is not None), default=None)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _seconds_until(date: str, now: datetime) -> float | None:
    from email.utils import parsedate_to_datetime  # few servers send a date

    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


def _duration_seconds(text: str) -> float | None:
    """`6m0s`, `1.5s`, `20ms` in seconds."""
    match = _DURATION.fullmatch(text)
    if not text or not match:
        return None
    hours, minutes, seconds, milliseconds = (float(group or 0) for group in match.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


def checked_base_url(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError("base_url is not a valid address; it must be like http://localhost:8000/v1") from error
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError("base_url must begin with http:// or https:// and name a host, like http://localhost:8000/v1")
    secret = credential_in(base_url)
    if secret is not None:
        raise UsageError(
            f"base_url contains {secret}, and addresses are written into run files: set a variable to it and give its "
            "name with api_key_env (and api_key_header, if the header is not Authorization)"
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), parts.query, ""))


def endpoint(base_url: str, path: str) -> str:
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path + path, parts.query, ""))
