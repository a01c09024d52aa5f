"""What every proposed text must hold to: placeholders that stay, and a length that is not exceeded."""

from __future__ import annotations

import re

from msgspec import Struct

from assay.core.errors import UsageError
from assay.optimize.journal import ONE, Texts

_PLACEHOLDER = re.compile(
    r"\{\{-?\s*[\w.]+(?:\s*\|[^{}]*)?\s*-?\}\}"  # {{ name }}, {{ name | filter }}
    r"|<<\s*[\w.]+\s*>>"
    r"|\$\{\w+\}"
    r"|(?<![{$])\{\w*\}(?!\})"  # {name} and {}
    r"|%\(\w+\)[sd]"
)


class Constraints(Struct, frozen=True, kw_only=True):
    """The rules; a text that breaks one is never evaluated."""

    placeholders: dict[str, tuple[str, ...]] = {}
    """Of each component."""
    max_characters: int | None = None

    def broken_by(self, text: str, component: str = ONE) -> str | None:
        """Which rule a text breaks, in a sentence; None when it keeps them all."""
        if not text.strip():
            return "the text is empty"
        lost = [placeholder for placeholder in self.placeholders.get(component, ()) if placeholder not in text]
        if lost:
            return f"the text lost {', '.join(lost)}"
        if self.max_characters is not None and len(text) > self.max_characters:
            return f"the text has {len(text)} characters, and {self.max_characters} are allowed"
        return None

    def in_words(self, component: str = ONE) -> str:
        """The rules as written in the proposer's prompt; empty when there are none."""
        rules = []
        if placeholders := self.placeholders.get(component):
            rules.append(f"Keep these placeholders exactly as they are: {', '.join(placeholders)}.")
        if self.max_characters is not None:
            rules.append(f"The whole text must have at most {self.max_characters} characters.")
        return " ".join(rules)


def constraints_for(seed: Texts | None, *, keep_placeholders: bool, max_characters: int | None) -> Constraints:
    """The rules of a search; the seed itself must keep them."""
    if max_characters is not None and max_characters < 1:
        raise UsageError(f"--max-chars must be at least 1, got {max_characters}")
    texts = seed or {}
    placeholders = {name: placeholders_in(text) for name, text in texts.items()} if keep_placeholders else {}
    if keep_placeholders and not any(placeholders.values()):
        raise UsageError("--keep-placeholders: the seed has none, such as {question} or {{ question }}")
    constraints = Constraints(placeholders=placeholders, max_characters=max_characters)
    for name, text in texts.items():
        if broken := constraints.broken_by(text, name):
            raise UsageError(f"the seed breaks its own rules: {broken}")
    return constraints


def placeholders_in(text: str) -> tuple[str, ...]:
    """Every placeholder of a text once, in order: {a}, {{ a }}, << a >>, ${a}, %(a)s."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))
