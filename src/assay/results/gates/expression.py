"""The language of gates: `overall >= 0.8`, `arithmetic >= baseline - 0.02`. Parsed strictly; errors name the position.

    gate  := sum comparison sum | "no-significant-drop" | "no-drop-beyond" number [name]
    sum   := term (("+" | "-") term)*
    term  := number | number "%" | name | "baseline" | "baseline." name

A name is a task, a task and one of its numbers (`sums.low`, `sums.pass@4`), or a number of the whole run (`overall`,
`failed`, `cost`). Names with spaces go in backticks; a name in backticks is always a task's, one that begins with
`run.` always the whole run's. A minus between terms stands between spaces, so that task names may have hyphens.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec import Struct

from assay.core.errors import UsageError

NO_DROP = "no-significant-drop"
NO_DROP_BEYOND = "no-drop-beyond"

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:\s*%)?(?![\w.@^/]))
      | `(?P<quoted>[^`]+)`
      | (?P<name>[^\W\d][\w.@^/:]*(?:-[\w.@^/:]+)*)
      | (?P<comparison>>=|<=|==|>|<)
      | (?P<sign>[+\-])
    )""",
    re.VERBOSE,
)


class Term(Struct, frozen=True, kw_only=True):
    """A number, or a name to look up in this result or in the baseline."""

    sign: int
    position: int
    number: float | None = None
    name: str | None = None
    """None with `baseline`: the name on the other side of the comparison."""
    baseline: bool = False
    quoted: bool = False
    """In backticks: always the name of a task."""


class Gate(Struct, frozen=True, kw_only=True):
    """A parsed gate."""

    text: str
    left: tuple[Term, ...]
    comparison: str
    right: tuple[Term, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        return (*self.left, *self.right)


class DropGate(Struct, frozen=True, kw_only=True):
    """A gate on a drop since the baseline, over pairs of samples."""

    text: str
    margin: float | None = None
    """The largest drop allowed; None allows no significant drop, however small."""
    name: str | None = None
    """A task, or `overall`; None stands for every task and the overall difference."""
    quoted: bool = False
    position: int = 0
    """Of the name."""

    @property
    def overall_only(self) -> bool:
        return self.name in ("overall", "run.overall") and not self.quoted

    def looks_at(self, task: str) -> bool:
        return self.name in (None, task) or self.overall_only


def parse_gates(texts: Iterable[str]) -> list[Gate | DropGate]:
    """Every gate, parsed before anything runs."""
    return [
        _drop_gate(text) if text.split()[:1] in ([NO_DROP], [NO_DROP_BEYOND]) else parse_gate(text) for text in texts
    ]


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse_gate(text: str) -> Gate:
    """The gate, or `UsageError` with the position of what is wrong."""
    tokens = _tokens(text)
    places = [index for index, token in enumerate(tokens) if token.kind == "comparison"]
    if not places:
        raise wrong(text, len(text), "there is no comparison; expected one of >=, >, <=, <, ==")
    if len(places) > 1:
        raise wrong(text, tokens[places[1]].position, "a gate has one comparison; write two gates instead")
    middle = places[0]
    left = _sum(text, tokens[:middle], tokens[middle].position)
    right = _sum(text, tokens[middle + 1 :], len(text))
    gate = Gate(text=text, left=left, comparison=tokens[middle].text, right=right)
    _check_baseline(gate)
    return gate


def _drop_gate(text: str) -> DropGate:
    kind, *words = text.split(maxsplit=2)
    if kind == NO_DROP:
        if words:
            raise wrong(text, text.index(words[0]), f"{NO_DROP} takes no argument; it checks every task")
        return DropGate(text=text)
    tokens = _tokens(words[0]) if words else []
    if [token.kind for token in tokens] != ["number"]:
        at = text.index(words[0]) if words else len(text)
        raise wrong(text, at, f"expected the largest drop allowed, such as `{NO_DROP_BEYOND} 0.02`")
    margin = _term(text, tokens[0], 1).number
    if len(words) == 1:
        return DropGate(text=text, margin=margin)
    name = words[1].strip()
    unquoted = name.removeprefix("`").removesuffix("`")
    return DropGate(text=text, margin=margin, name=unquoted, quoted=unquoted != name, position=text.rindex(name))


def wrong(text: str, position: int, detail: str) -> UsageError:
    return UsageError(f"--gate {text!r}, position {position + 1}: {detail}")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        start = len(text) - len(text[place:].lstrip())
        if match is None:
            raise wrong(
                text,
                start,
                f"cannot read `{text[start : start + 12]}`; expected a name, a number or one of >=, >, <=, <, ==",
            )
        kind = match.lastgroup or ""
        tokens.append(_Token(kind, match.group(kind), start))
        place = match.end()
    return tokens


def _sum(text: str, tokens: list[_Token], end: int) -> tuple[Term, ...]:
    terms: list[Term] = []
    sign: int | None = 1
    signed = False
    for token in tokens:
        if token.kind == "sign":
            if signed:
                raise wrong(text, token.position, f"`{token.text}` follows another sign")
            sign, signed = 1 if token.text == "+" else -1, True
        elif sign is None:
            raise wrong(text, token.position, f"expected `+`, `-` or the end before `{token.text}`")
        else:
            terms.append(_term(text, token, sign))
            sign, signed = None, False
    if sign is not None:
        at = tokens[-1].position if tokens else end
        raise wrong(text, at, "expected a name or a number here")
    return tuple(terms)


def _term(text: str, token: _Token, sign: int) -> Term:
    if token.kind == "number":
        digits = token.text.rstrip("%").strip()
        value = float(digits) / 100 if token.text.endswith("%") else float(digits)
        if math.isinf(value):
            raise wrong(text, token.position, f"`{token.text}` is too large a number")
        return Term(sign=sign, position=token.position, number=value)
    if token.kind == "name" and token.text == "baseline":
        return Term(sign=sign, position=token.position, baseline=True)
    if token.kind == "name" and token.text.startswith("baseline."):
        return Term(sign=sign, position=token.position, baseline=True, name=token.text.removeprefix("baseline."))
    return Term(sign=sign, position=token.position, name=token.text, quoted=token.kind == "quoted")


def _check_baseline(gate: Gate) -> None:
    """A bare `baseline` must have exactly one name opposite, which it stands for."""
    for side, opposite in ((gate.left, gate.right), (gate.right, gate.left)):
        bare = next((term for term in side if term.baseline and term.name is None), None)
        if bare is not None and len([term for term in opposite if term.name is not None and not term.baseline]) != 1:
            raise wrong(
                gate.text, bare.position, "`baseline` needs one name on the other side; write baseline.NAME instead"
            )
    if all(term.number is not None for term in gate.terms):
        raise wrong(gate.text, 0, "compares only numbers; name a task, or `overall`")
