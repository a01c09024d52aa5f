"""The exceptions: what a user can fix, and what broke while running.

    AssayError
    ├── UsageError        the user can fix it: a bad file, flag or name. One sentence, exit code 2.
    │   ├── UnwritableError   a file or folder could not be written
    │   └── SearchFolderError a folder that holds a search, where a run is wanted
    └── FailureError      something broke during an attempt. Carries a `Failure`, is recorded, and is never a score.

Parts (models, solvers, scorers) raise `FailureError` when they can name what went wrong. Any other exception they
raise is caught in exactly one place, `core/attempt.py`, and becomes a `Failure` of kind `exception`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from assay.core.types import Failure


class AssayError(Exception):
    """Base class of the exceptions that assay raises on purpose."""


class UsageError(AssayError):
    """Bad input, with a message that says what is wrong, where, and how to fix it."""


class UnwritableError(UsageError):
    """A file or folder cannot be written; a caller that only displays a result can continue without it."""


class SearchFolderError(UsageError):
    """A folder of `assay optimize`; a caller that was given many folders can skip it."""


class FailureError(AssayError):
    """A `Failure` on its way to the journal."""

    def __init__(
        self,
        failure: Failure,
        retry_after_seconds: float | None = None,
        away: Literal["unreachable", "refusing", "closed"] | None = None,
    ) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.retry_after_seconds = retry_after_seconds
        self.away = away
        """Set when a server cannot be reached, or rejects requests for reasons unrelated to the request: temporarily
        (`refusing`), or until the user changes something (`closed`: the key, the model's name, the account)."""
