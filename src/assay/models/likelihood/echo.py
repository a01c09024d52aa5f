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


class EchoedToken(NamedTuple):
    """One token of an answer: its text, its log-probability, where it begins in the text."""

    text: str
    logprob: float | None
    begin: int

    @property
    def end(self) -> int:
        return self.begin + (1 if _is_piece(self.text) else len(self.text))

    def fits(self, text: str, shift: int) -> bool:
        return _is_piece(self.text) or text[self.begin - shift : self.end - shift] == self.text


def tokens_of(logprobs: dict[str, Any] | None) -> list[EchoedToken]:
    """The protocol's parallel lists; empty when there are none, or when they do not match each other."""
    texts, values, begins = ((logprobs or {}).get(name) for name in ("tokens", "token_logprobs", "text_offset"))
    if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values):
        return []
    if not isinstance(begins, list) or not begins:
        begins = list(accumulate((len(str(text)) for text in texts[:-1]), initial=0)) if texts else []
    if len(begins) != len(texts) or not all(isinstance(begin, int) for begin in begins):
        return []
    return [EchoedToken(str(text), value, begin) for text, value, begin in zip(texts, values, begins, strict=True)]


class EchoScore(NamedTuple):
    """How likely some echoed tokens are together."""

    logprob: float
    tokens: int
    is_greedy: bool | None
    """Whether each is the likeliest in its place; None when the server named no others."""


def continuation_score(
    logprobs: dict[str, Any] | None, prompt: str, continuation: str, *, written: int = 1
) -> EchoScore:
    """Of the continuation: every token that reaches into it, none that begins behind it.

    `written` is how many tokens behind the prompt the server added of its own.
    """
    tokens = tokens_of(logprobs)
    text = prompt + continuation
    prompt_tokens = tokens[: len(tokens) - written] if written else tokens
    shifts = dict.fromkeys([prompt_tokens[-1].end - len(text) if prompt_tokens else 0, 0])
    for shift in shifts:
        places = [
            place
            for place, each in enumerate(tokens)
            if each.end - shift > len(prompt) and each.begin - shift < len(text)
        ]
        inside = [tokens[place] for place in places]
        whole = inside and inside[0].begin - shift <= len(prompt) and inside[-1].end - shift >= len(text)
        if whole and all(each.fits(text, shift) for each in inside):
            return _score([each.logprob for each in inside], logprobs, places)
    if len(tokens) <= written:
        message = "the server did not send the log-probabilities of the prompt (`echo` with `logprobs`)"
        raise EchoError(message, missing=True)
    raise EchoError(
        "the server's tokens are not those of the text it was sent, so prompt and answer cannot be separated"
    )


def window_score(logprobs: dict[str, Any] | None, before: int, scored: int) -> EchoScore:
    """Of `scored` tokens behind the first `before` of a prompt that was sent as numbers."""
    values = (logprobs or {}).get("token_logprobs")
    if not isinstance(values, list) or len(values) < before + scored:
        message = "the server did not send the log-probabilities of the prompt (`echo` with `logprobs`)"
        raise EchoError(message, missing=True)
    return _score(values[before : before + scored], logprobs, range(before, before + scored))


def _score(values: Sequence[Any], logprobs: dict[str, Any] | None, places: Sequence[int]) -> EchoScore:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise EchoError(
            "the server gave no log-probability for the first token of the text, because nothing stands before it; "
            "name what the model puts between documents: --model-arg document_mark='<|endoftext|>'"
        )
    try:
        total = float(sum(values))
    except OverflowError as error:
        raise EchoError("the server's log-probabilities are not finite numbers") from error
    return EchoScore(total, len(values), _is_greedy(values, logprobs, places))


def _is_greedy(values: Sequence[float], logprobs: dict[str, Any] | None, places: Sequence[int]) -> bool | None:
    """Whether no token that the server names in any place is likelier than the one that stands there."""
    tops = (logprobs or {}).get("top_logprobs")
    if not isinstance(tops, list) or len(tops) <= max(places, default=-1):
        return None
    for value, place in zip(values, places, strict=True):
        others = tops[place].values() if isinstance(tops[place], dict) else ()
        if not others or not all(isinstance(other, int | float) for other in others):
            return None
        if max(others) > value:
            return False
    return True


def _is_piece(token: str) -> bool:
    """Whether a token is a part of a character, in either of the ways servers write that."""
    return token.startswith("bytes:") or "\ufffd" in token
