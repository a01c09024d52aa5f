"""Filters: one question about a sample, answered yes or no, for dataset rows and for action rules.

The expression is a template that gives a value (`Expression`), so `{{ sample.year }}` is a number where the column is
one, and a text that looks like a literal becomes it: `"3"` is 3. Equality therefore also compares the texts of both
sides when one of them is text, so that `value: "3"` finds the row that shows 3.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from assay.core.errors import UsageError
from assay.prompts.jinja_rules import RenderError, UnknownNameError
from assay.prompts.template import Expression

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "greater_than": operator.gt,
    "less_than": operator.lt,
    "greater_or_equal": operator.ge,
    "less_or_equal": operator.le,
}
_FIELDS = {
    **dict.fromkeys(("equals", "not_equals", *_ORDER), "value"),
    **dict.fromkeys(("in", "not_in"), "values"),
    **dict.fromkeys(("exists", "not_exists", "is_true", "is_false"), None),
}


class FilterError(Exception):
    """The filter could not be applied: an unknown column, or a value of the wrong type."""


class Filter:
    """One filter, its expression compiled once."""

    def __init__(self, spec: Mapping[str, Any], *, where: str = "filter") -> None:
        self.op = str(spec.get("op"))
        if self.op not in _FIELDS:
            raise UsageError(f"{where}: unknown filter operator `{self.op}`")
        operand = _FIELDS[self.op]
        if operand is not None and operand not in spec:
            raise UsageError(f"{where}: `{self.op}` needs `{operand}`")
        self.operand = spec[operand] if operand is not None else None
        self.where = where
        self._expression = Expression(str(spec["expression"]), where=f"{where}.expression")

    def matches(self, variables: Mapping[str, Any]) -> bool:
        """Whether the filter holds for these variables; `FilterError` when it cannot be applied."""
        if self.op in ("exists", "not_exists"):
            return self._exists(variables) is (self.op == "exists")
        try:
            value = self._expression.evaluate(variables)
        except RenderError as error:
            raise FilterError(f"{self.where}: {self._expression.source}: {error}") from error
        return self._compare(value)

    def _exists(self, variables: Mapping[str, Any]) -> bool:
        """Whether the name is defined; null is a value like any other."""
        try:
            self._expression.evaluate(variables)
        except UnknownNameError:
            return False
        except RenderError as error:
            raise FilterError(f"{self.where}: {self._expression.source}: {error}") from error
        return True

    def _compare(self, value: Any) -> bool:
        if self.op == "equals":
            return same(value, self.operand)
        if self.op == "not_equals":
            return not same(value, self.operand)
        if self.op in ("in", "not_in"):
            return any(same(value, item) for item in self.operand or ()) is (self.op == "in")
        if self.op in ("is_true", "is_false"):
            if not isinstance(value, bool):
                raise FilterError(f"{self.where}: `{self.op}` needs true or false, got {value!r}")
            return value is (self.op == "is_true")
        for side in (value, self.operand):
            if not isinstance(side, (int, float)):
                raise FilterError(f"{self.where}: `{self.op}` compares numbers, got {side!r}")
        return _ORDER[self.op](value, self.operand)


def same(left: Any, right: Any) -> bool:
    """Equal as values, or as texts when exactly one side is text."""
    if left == right:
        return True
    return isinstance(left, str) is not isinstance(right, str) and str(left) == str(right)
