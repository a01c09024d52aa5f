"""What a scorer may tell whoever tries it without a model: the answer that is right, and what its judge may say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from assay.core.types import Completion, Request, Sample


@runtime_checkable
class KnowsGold(Protocol):
    """A scorer that can tell which answer to a sample gets full marks."""

    def gold(self, sample: Sample) -> Completion | None: ...


class Verdict(NamedTuple):
    """What a judge may say, and the score values that it comes to."""

    says: Callable[[Request], str]
    gives: Mapping[str, Any] | None
    """None for what is no verdict, and must fail."""


@runtime_checkable
class Judged(Protocol):
    """A scorer that asks another model."""

    def verdicts(self) -> Sequence[Verdict]:
        """What that may say: one verdict of each kind."""
        ...
