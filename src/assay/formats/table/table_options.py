"""What is said of a table, in flags and keywords."""

from __future__ import annotations

from msgspec import Struct


class TableOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said of a table; the rest follows from its columns where only one can be meant."""

    prompt: tuple[str, ...] = ()
    """Files with templates, or templates: each is tried with each model."""
    target: str | None = None
    """The column of right answers."""
    answers: str | None = None
    """The column of recorded answers: no model is called."""
    contexts: str | None = None
    """The column of retrieved passages."""
    labels: str | None = None
    """The column of what people said of the answers, for agreement with a scorer."""
    scorer: tuple[str, ...] = ()
    separator: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    by_keywords: bool = False
    """Whether a Python program says this, and not flags."""

    def word(self, option: str, value: object = None) -> str:
        """What the user calls an option, or wrote of it."""
        if value is None:
            return f"{option}=" if self.by_keywords else f"--{option}"
        return f"{option}={value!r}" if self.by_keywords else f"--{option} {value}"
