"""What a server said about the tokens of a prompt it echoed: which of them make up a continuation, how likely they are.

Servers count places in the text differently: some begin with a token that is not in it, some cut a character into
several tokens. So places are checked against the text, and an answer that does not fit is refused and not added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple


class EchoError(Exception):
    """The answer cannot be used; `missing` when the server did not echo at all."""

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


class Token(NamedTuple):
    """One token of an answer: its text, its log-probability, where it begins in the text."""

    text: str
    logprob: float | None
    begin: int

    @property
    def end(self) -> int:
        return self.begin + (1 if _is_piece(self.text) else len(self.text))

    def fits(self, text: str, shift: int) -> bool:
        return _is_piece(self.text) or text[self.begin - shift : self.end - shift] == self.text


def tokens_of(logprobs: dict[str, Any] | None) -> list[Token]:
    """The protocol's parallel lists; empty when there are none, or when they do not match each other."""
    texts, values, begins = ((logprobs or {}).get(name) for name in ("tokens", "token_logprobs", "text_offset"))
    if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values):
        return []
    if not isinstance(begins, list) or not begins:
        begins = list(accumulate((len(str(text)) for text in texts[:-1]), initial=0)) if texts else []
    if len(begins) != len(texts) or not all(isinstance(begin, int) for begin in begins):
        return []
    return [Token(str(text), value, begin) for text, value, begin in zip(texts, values, begins, strict=True)]


def continuation_score(
    logprobs: dict[str, Any] | None, prompt: str, continuation: str, *, written: int = 1
) -> tuple[float, int]:
    """(log-likelihood, tokens) of the continuation: every token that reaches into it, none that begins behind it.

    `written` is how many tokens behind the prompt the server added of its own.
    """
    tokens = tokens_of(logprobs)
    text = prompt + continuation
    told = tokens[: len(tokens) - written] if written else tokens
    shifts = dict.fromkeys([told[-1].end - len(text) if told else 0, 0])
    for shift in shifts:
        inside = [each for each in tokens if each.end - shift > len(prompt) and each.begin - shift < len(text)]
        whole = inside and inside[0].begin - shift <= len(prompt) and inside[-1].end - shift >= len(text)
        if whole and all(each.fits(text, shift) for each in inside):
            return _sum([each.logprob for each in inside])
    if len(tokens) <= written:
        message = "the server did not send the log-probabilities of the prompt (`echo` with `logprobs`)"
        raise EchoError(message, missing=True)
    raise EchoError("the server's tokens are not those of the text it was sent, so they cannot be told apart")


def window_score(logprobs: dict[str, Any] | None, before: int, scored: int) -> float:
    """The log-likelihood of `scored` tokens behind the first `before` of a prompt that was sent as numbers."""
    values = (logprobs or {}).get("token_logprobs")
    if not isinstance(values, list) or len(values) < before + scored:
        message = "the server did not send the log-probabilities of the prompt (`echo` with `logprobs`)"
        raise EchoError(message, missing=True)
    return _sum(values[before : before + scored])[0]


def _sum(values: Sequence[Any]) -> tuple[float, int]:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise EchoError(
            "the server gave no log-probability for the first token of the text, because nothing stands before it; "
            "name what the model puts between documents: --model-arg document_mark='<|endoftext|>'"
        )
    try:
        return float(sum(values)), len(values)
    except OverflowError as error:
        raise EchoError("the server's log-probabilities are no numbers that can be added up") from error


def _is_piece(token: str) -> bool:
    """Whether a token is a part of a character, in either of the ways servers write that."""
    return token.startswith("bytes:") or "\ufffd" in token
