"""The account of a piece of work: every answer that a model gave on its behalf, so that nothing spent goes uncounted.

Judges are asked deep inside scorers, and an attempt that breaks leaves no trace of what it had asked; a context
variable finds the accounts from there. An account may be kept inside another, which then has everything too.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import NamedTuple

from assay.core.types import Completion, Request, Trace, Usage

CHARACTERS_PER_TOKEN = 4
"""A rough rule for texts whose tokens nobody counted."""


class Noted(NamedTuple):
    """One answer in an account."""

    model: str
    judge: bool
    request: Request
    completion: Completion


class Account(list[Noted]):
    """Records every request made inside `with Account() as account:`."""

    __slots__ = ("_outer",)

    def __enter__(self) -> Account:
        self._outer = _open.set((*_open.get(), self))
        return self

    def __exit__(self, *error: object) -> None:
        _open.reset(self._outer)


_open: ContextVar[tuple[Account, ...]] = ContextVar("accounts", default=())


def note(model: str, request: Request, completion: Completion, *, judge: bool) -> None:
    """Record an answer, if any account is open."""
    for account in _open.get():
        account.append(Noted(model, judge, request, completion))


def anything_answered() -> bool:
    """Whether a model has answered on behalf of the current work: then abandoning it would waste that answer."""
    accounts = _open.get()
    return bool(accounts and accounts[-1])


def strike(completion: Completion) -> None:
    """Remove an answer: one from the cache that cannot be used cost nothing and answered nothing."""
    for account in _open.get():
        account[:] = [row for row in account if row.completion is not completion]


def usage_of(account: Account, trace: Trace | None = None) -> tuple[Usage, ...]:
    """The account summed up, without the answers that the trace keeps anyway."""
    if not account:  # as nearly always
        return ()
    kept = trace is not None and bool(trace.completions)
    rows = [row for row in account if row.judge or not kept]
    return tuple(
        _summed(model, judge, [row for row in rows if (row.model, row.judge) == (model, judge)])
        for model, judge in dict.fromkeys((row.model, row.judge) for row in rows)
    )


def _summed(model: str, judge: bool, rows: Iterable[Noted]) -> Usage:
    sums = dict.fromkeys(Usage.__struct_fields__[2:], 0)
    for _, _, request, completion in rows:
        known = completion.tokens_in is not None or completion.tokens_out is not None
        tokens_in, tokens_out = completion.tokens_in or 0, completion.tokens_out or 0
        found = {"answers": 1, "tokens_in": tokens_in, "tokens_out": tokens_out, "cached": int(completion.cached)}
        if not completion.cached and known:
            found |= {"paid_in": tokens_in, "paid_out": tokens_out}
            found["paid_from_server_cache"] = completion.tokens_cached or 0
        elif not completion.cached:
            found |= {"unknown": 1, "guessed_in": about_tokens(request.text())}
            found["guessed_out"] = about_tokens(completion.text)
        for name, amount in found.items():
            sums[name] += amount
    return Usage(model=model, judge=judge, **sums)


def token_count(given: object) -> int | None:
    """A count of tokens as a server or a program reported it; None for anything else, which would spoil every sum."""
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**53 else None


def about_tokens(text: str) -> int:
    """About how many tokens a text is: a quarter of its characters, at least one."""
    return max(1, -(-len(text) // CHARACTERS_PER_TOKEN))
