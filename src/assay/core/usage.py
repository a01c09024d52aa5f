"""The account of an attempt or other work: every answer that models gave during it, so that all spending is counted.

Judges are called deep inside scorers, and a failed attempt leaves no trace of its requests; a context variable
reaches the account from there. Accounts nest: the outer one has the entries of the inner one too.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from assay.core.types import Completion, Request, Trace, Usage

CHARACTERS_PER_TOKEN = 4
"""A rough estimate for texts without a token count."""


class AccountEntry(Struct, frozen=True):
    """One answer in an account."""

    model: str
    judge: bool
    request: Request
    completion: Completion


class Account(list[AccountEntry]):
    """The answers to all requests made inside `with Account() as account:`."""

    __slots__ = ("_outer", "answered", "repeats", "waited")

    def __enter__(self) -> Account:
        self.repeats = 0  # how often a model was called again because its answer could not be used
        self.answered = self.waited = 0.0  # when the last answer came, and how long requests waited to be sent
        self._outer = open_accounts.set((*open_accounts.get(), self))
        return self

    def __exit__(self, *error: object) -> None:
        open_accounts.reset(self._outer)


open_accounts: ContextVar[tuple[Account, ...]] = ContextVar("accounts", default=())


def note(model: str, request: Request, completion: Completion, *, judge: bool) -> None:
    """Record an answer, if any account is open."""
    for account in open_accounts.get():
        account.append(AccountEntry(model, judge, request, completion))


def note_repeat() -> None:
    """Record that a model is called again because its answer cannot be used, if any account is open."""
    for account in open_accounts.get():
        account.repeats += 1


def repeats() -> int:
    """How often a model was called again during the current work."""
    return accounts[-1].repeats if (accounts := open_accounts.get()) else 0


def anything_answered() -> bool:
    """Whether a model has answered during the current work: abandoning it would then waste that answer."""
    return any(open_accounts.get()[-1:])


def strike(completion: Completion) -> None:
    """Remove an answer: one from the cache that cannot be used."""
    for account in open_accounts.get():
        account[:] = [entry for entry in account if entry.completion is not completion]


def usage_of(account: Account, trace: Trace | None = None) -> tuple[Usage, ...]:
    """The account summed up by model, without the answers that the trace keeps."""
    kept = trace is not None and bool(trace.completions)
    entries = [entry for entry in account if entry.judge or not kept]
    if not entries:  # the usual case
        return ()
    return tuple(
        _sum_up(model, judge, [entry for entry in entries if (entry.model, entry.judge) == (model, judge)])
        for model, judge in dict.fromkeys((entry.model, entry.judge) for entry in entries)
    )


def _sum_up(model: str, judge: bool, entries: Iterable[AccountEntry]) -> Usage:
    sums: dict[str, Any] = dict.fromkeys(Usage.__struct_fields__[3:], 0)
    for entry in entries:
        completion = entry.completion
        amounts = {"answers": 1, "cached": int(completion.cached)}
        amounts["from_earlier_runs"] = int(completion.from_earlier_run)
        if not completion.cached and (completion.tokens_in is not None or completion.tokens_out is not None):
            amounts |= {"tokens_in": completion.tokens_in or 0, "tokens_out": completion.tokens_out or 0}
            amounts["from_server_cache"] = completion.tokens_cached or 0
        elif not completion.cached:
            amounts |= {"unknown": 1, "guessed_in": about_tokens(entry.request.text())}
            amounts["guessed_out"] = about_tokens(completion.text)
        for name, amount in amounts.items():
            sums[name] += amount
    return Usage(model=model, judge=judge, **sums)


def token_count(value: object) -> int | None:
    """The token count that a server or a program reported; None for anything that is not one and would spoil sums."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def about_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its characters, at least one."""
    return max(1, -(-len(text) // CHARACTERS_PER_TOKEN))
