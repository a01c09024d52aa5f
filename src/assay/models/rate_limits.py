"""The rate limits that a model's server reports, for the limit on requests in flight."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable


class RateLimits(NamedTuple):
    """How many more requests a server accepts, as last reported."""

    remaining: int
    """Requests it accepts until the reset."""
    reset_seconds: float


@runtime_checkable
class HasRateLimits(Protocol):
    """A model whose server reports its rate limits."""

    @property
    def limits(self) -> RateLimits | None: ...
