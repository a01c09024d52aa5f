"""The parser of queries, in time proportional to their length; errors name the column."""

from __future__ import annotations

import re

from assay.results.query.syntax import (
    KEYWORDS,
    ORDERING,
    PLAIN_VALUE,
    PLAIN_WORD,
    SIGNS,
    And,
    Compare,
    Constant,
    Not,
    Or,
    Query,
    QueryError,
    SearchText,
)

LONGEST = 8000
DEEPEST = 40
MOST_PARTS = 1000
_BLANKS = re.compile(r"[\s,]*")
_SPACES = re.compile(r"\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SIGN = re.compile("|".join(map(re.escape, SIGNS)))


def parse(text: str) -> Query | None:
    """The query, or None where the text is blank."""
    if len(text) > LONGEST:
        raise QueryError(f"a query holds at most {LONGEST:,} characters, this one has {len(text):,}", LONGEST)
    reader = _Reader(text)
    if reader.ended():
        return None
    query = reader.any_of(0)
    if not reader.ended():
        raise QueryError("this `)` closes nothing; remove it, or open it with `(`", reader.at)
    return query


class _Reader:
    """The position in the text; each method reads one thing and moves past it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts = 0
        self.at = 0

    def ended(self) -> bool:
        self._skip_blanks()
        return self.at == len(self._text)

    def any_of(self, depth: int) -> Query:
        parts = [self._all_of(depth)]
        while self._keyword("or"):
            parts.append(self._all_of(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all_of(self, depth: int) -> Query:
        parts = [self._one(depth)]
        while self._keyword("and") or not self._at_end_of_all():
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _at_end_of_all(self) -> bool:
        return self.ended() or self._text[self.at] == ")" or self._sees_keyword("or") is not None

    def _one(self, depth: int) -> Query:
        if depth > DEEPEST:
            raise QueryError(f"more than {DEEPEST} brackets or `not` inside each other", self.at)
        if self._keyword("not"):
            return Not(self._one(depth + 1))
        if self.ended():
            raise QueryError(f"expected {_WANTED} at the end of the query", self.at)
        if self._text[self.at] == "(":
            return self._bracket(depth)
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise QueryError(f"more than {MOST_PARTS:,} parts", self.at)
        return self._compared_or_searched()

    def _bracket(self, depth: int) -> Query:
        opened = self.at
        self.at += 1
        inside = self.any_of(depth + 1)
        if self.ended():
            raise QueryError("this `(` is never closed; add a `)`", opened)
        self.at += 1  # only a `)` ends what is inside
        return inside

    def _compared_or_searched(self) -> Query:
        begins = self.at
        if (word := self._sees_keyword(*KEYWORDS)) is not None:
            raise QueryError(f"expected {_WANTED} before `{word}`; to look for the word, put it in quotes", begins)
        name, quoted = self._name()
        ends = self.at
        if not quoted:
            self._skip(_SPACES)
        sign = _SIGN.match(self._text, self.at)
        if sign is None:
            self.at = ends
            return SearchText(name, quoted=quoted, unfinished=not quoted and ends == len(self._text), at=begins)
        self.at = sign.end()
        return Compare(name, sign[0], self._values(sign[0]), at=begins)

    def _name(self) -> tuple[str, bool]:
        """A word or a text in quotes; `metadata."odd key"` is one name."""
        begins, parts, quoted = self.at, [self._part()], self._text[self.at - 1] == '"'
        while self._continues(quoted):
            quoted = self._text[self.at] == '"'
            parts.append(self._part())
        if not any(parts):
            raise QueryError("there is nothing between these quotes", begins)
        return "".join(parts), quoted and len(parts) == 1

    def _continues(self, quoted: bool) -> bool:
        """Whether a name has another part: a dot joins quoted and unquoted parts."""
        if quoted:
            return self._text.startswith(".", self.at)
        return self._text[self.at - 1] == "." and self._text.startswith('"', self.at)

    def _part(self) -> str:
        if self._text.startswith('"', self.at):
            return self._quoted()
        word = PLAIN_WORD.match(self._text, self.at)
        if word is None:
            rest = self._text[self.at]
            if rest == ")":
                raise QueryError(f"expected {_WANTED} before this `)`", self.at)
            raise QueryError(f"expected a field before `{rest}`, as in score<1; texts go in quotes", self.at)
        self.at = word.end()
        return word[0]

    def _values(self, sign: str) -> tuple[Constant, ...]:
        values = [self._value(sign)]
        while sign not in ORDERING and self._text.startswith(",", self.at):
            self.at += 1
            values.append(self._value(sign))
            if len(values) > MOST_PARTS:
                raise QueryError(f"more than {MOST_PARTS:,} values", self.at)
        return tuple(values)

    def _value(self, sign: str) -> Constant:
        self._skip(_SPACES)
        begins = self.at
        if self._text.startswith('"', begins):
            return Constant(self._quoted(), quoted=True, at=begins)
        word = PLAIN_VALUE.match(self._text, begins)
        if word is None:
            raise QueryError(f"expected a value after `{sign}`", begins)
        self.at = word.end()
        return Constant(word[0], at=begins)

    def _quoted(self) -> str:
        match = _QUOTED.match(self._text, self.at)
        if match is None:
            raise QueryError('this quote is never closed; add a `"`', self.at)
        self.at = match.end()
        return re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL)

    def _keyword(self, word: str) -> bool:
        seen = self._sees_keyword(word)
        self.at += len(seen or "")
        return seen is not None

    def _sees_keyword(self, *words: str) -> str | None:
        self._skip_blanks()
        match = PLAIN_WORD.match(self._text, self.at)
        seen = match[0] if match is not None else ""
        return seen if seen.lower() in words else None

    def _skip_blanks(self) -> None:
        self._skip(_BLANKS)

    def _skip(self, blanks: re.Pattern[str]) -> None:
        match = blanks.match(self._text, self.at)
        self.at = match.end() if match is not None else self.at


_WANTED = "a comparison such as score<1, or a word"
