"""The log-probabilities of a prompt that a server echoed: which tokens make up a continuation, and how likely they are.

Servers count offsets in the text differently: some begin with a token that is not in it, some split a character into
several tokens. So offsets are checked against the text, and an answer that does not fit is refused.
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
    """One token of an answer: its text, its log-probability, and its offset in the text."""

    text: str
    logprob: float | None
    begin: int

    @property
    def end(self) -> int:
        return self.begin + (1 if _is_piece(self.text) else len(self.text))

    def fits(self, text: str, shift: int) -> bool:
        return _is_piece(self.text) or text[self.begin - shift : self.end - shift] == self.text


def tokens_of(logprobs: dict[str, Any] | None) -> list[EchoedToken]:
    """The tokens in the protocol's parallel lists; none where the lists are missing or do not match each other."""
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
    """Whether each is the likeliest at its position; None when the server listed no alternatives."""


def continuation_score(
    logprobs: dict[str, Any] | None, prompt: str, continuation: str, *, written: int = 1
) -> EchoScore:
    """The score of the continuation: of every token that reaches into it, and none that begins after it.

    `written` is how many tokens the server generated after the prompt.
    """
    tokens = tokens_of(logprobs)
    text = prompt + continuation
    prompt_tokens = tokens[: len(tokens) - written] if written else tokens
    shifts = dict.fromkeys([prompt_tokens[-1].end - len(text) if prompt_tokens else 0, 0])
    for shift in shifts:
        places = [
            place
            for place, token in enumerate(tokens)
            if token.end - shift > len(prompt) and token.begin - shift < len(text)
        ]
        inside = [tokens[place] for place in places]
        whole = inside and inside[0].begin - shift <= len(prompt) and inside[-1].end - shift >= len(text)
        if whole and all(token.fits(text, shift) for token in inside):
            return _score([token.logprob for token in inside], logprobs, places)
    if len(tokens) <= written:
        message = "the server did not send the log-probabilities of the prompt (`echo` with `logprobs`)"
        raise EchoError(message, missing=True)
    raise EchoError(
        "the server's tokens are not those of the text it was sent, so prompt and answer cannot be separated"
    )


def window_score(logprobs: dict[str, Any] | None, before: int, scored: int) -> EchoScore:
    """The score of the `scored` tokens after the first `before` of a prompt that was sent as token numbers."""
    values = (logprobs or {}).get("token_logprobs")
    if not isinstance(values, list) or len(values) < before + scored:
        message = "the server did not send the log-probabilities of the prompt (`echo` with `logprobs`)"
        raise EchoError(message, missing=True)
    return _score(values[before : before + scored], logprobs, range(before, before + scored))


def _score(values: Sequence[Any], logprobs: dict[str, Any] | None, places: Sequence[int]) -> EchoScore:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise EchoError(
            "the server gave no log-probability for the first token of the text, because nothing comes before it; "
            "name the token that the model puts between documents: --model-arg document_mark='<|endoftext|>'"
        )
    try:
        total = float(sum(values))
    except OverflowError as error:
        raise EchoError("the server's log-probabilities are not finite numbers") from error
    return EchoScore(total, len(values), _is_greedy(values, logprobs, places))


def _is_greedy(values: Sequence[float], logprobs: dict[str, Any] | None, places: Sequence[int]) -> bool | None:
    """Whether no alternative that the server lists at any position is likelier than the token there."""
    tops = (logprobs or {}).get("top_logprobs")
    if not isinstance(tops, list) or len(tops) <= max(places, default=-1):
        return None
    for value, place in zip(values, places, strict=True):
        alternatives = tops[place].values() if isinstance(tops[place], dict) else ()
        if not alternatives or not all(isinstance(logprob, int | float) for logprob in alternatives):
            return None
        if max(alternatives) > value:
            return False
    return True


def _is_piece(token: str) -> bool:
    """Whether a token is part of a character, in either of the notations that servers use."""
    return token.startswith("bytes:") or "\ufffd" in token
