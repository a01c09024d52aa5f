"""What of a prompt a model can read: nothing is cut unless that was asked for, and then from the left, as lm_eval does.

A text that is written needs room after the prompt; of a text that is scored the last token is predicted, never read.
The begin token is cut like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

CUT_LEFT = "cut-left"
HOW_TO_CUT = "--too-long cut-left keeps the end of it"


class TooLongError(Exception):
    """A request that does not fit into the model's context, and how long both are."""


class Fitted(NamedTuple):
    """The tokens that are read, and how many before them were cut."""

    tokens: list[int]
    cut: int


def scored_with_whitespace(prompt: str, continuation: str) -> tuple[str, str]:
    """A prompt without the whitespace at its end, and the continuation after it: how lm_eval divides them."""
    kept = prompt.rstrip()
    return (kept, prompt[len(kept) :] + continuation) if kept else (prompt, continuation)


def after_begin(begin: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """The tokens after the model's begin token, where it has one: once, also where the text has it already."""
    return list(tokens) if list(tokens[: len(begin)]) == list(begin) else [*begin, *tokens]


def fit_prompt(tokens: Sequence[int], *, context: int | None, max_tokens: int, too_long: str | None) -> Fitted:
    """A prompt after which at most `max_tokens` are written; `context` None is one without a known end.

    Cut, it leaves room for all of them; whole, for at least one.
    """
    if context is None:
        return Fitted(list(tokens), 0)
    if too_long != CUT_LEFT:
        if len(tokens) >= context:
            raise TooLongError(
                f"the prompt has {len(tokens):,} tokens, and the model's context is {context:,}; {HOW_TO_CUT}"
            )
        return Fitted(list(tokens), 0)
    most = context - max_tokens
    if most < 1:
        raise TooLongError(
            f"an answer may have {max_tokens:,} tokens, and the model's context is {context:,}: nothing of the prompt "
            "would be left; lower --max-tokens"
        )
    return _without_beginning(tokens, most)


def fit_scored(row: Sequence[int], begin: int, *, context: int | None, too_long: str | None) -> Fitted:
    """A prompt and, from `begin` on, the tokens that are scored after it."""
    if context is None or len(row) <= context + 1:
        return Fitted(list(row), 0)
    scored = len(row) - begin
    if scored > context:
        raise TooLongError(f"the text to score has {scored:,} tokens, and the model's context is {context:,}")
    if too_long != CUT_LEFT:
        raise TooLongError(
            f"the prompt has {begin:,} tokens and the text to score {scored:,}, and the model's context is "
            f"{context:,}; {HOW_TO_CUT}"
        )
    return _without_beginning(row, context + 1)


def _without_beginning(tokens: Sequence[int], most: int) -> Fitted:
    cut = max(0, len(tokens) - most)
    return Fitted(list(tokens[cut:]), cut)


def sent_text(text: str, offsets: Sequence[tuple[int, int]], *, added: str, added_tokens: int, cut: int) -> str:
    """The text that the tokens which were read stand for.

    `offsets` are those of the text's own tokens; `added` is the text of the `added_tokens` before them.
    """
    if not cut:
        return added + text
    if cut <= added_tokens:
        return text
    return text[offsets[cut - added_tokens][0] :] if cut - added_tokens < len(offsets) else ""
