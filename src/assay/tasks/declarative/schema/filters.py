"""Filters over samples, and the action rules that use them."""

from __future__ import annotations

from assay.tasks.declarative.schema.fields import USER_KEY
from assay.tasks.declarative.shape import Field, ListOf, Scalar, Shaped, Tagged, Text

_COMPARISONS = ("equals", "not_equals", "greater_than", "less_than", "greater_or_equal", "less_or_equal")
_MEMBERSHIPS = ("in", "not_in")
_UNARIES = ("exists", "not_exists", "is_true", "is_false")
_EXPRESSION = Field(Text(min_length=1), doc="A Jinja expression, such as `{{ sample.category }}`.")
FILTER = Tagged(
    "filter operator",
    {
        **{
            op: Shaped(
                f"a {op} filter",
                "Compares an expression with a value.",
                {"op": Field(Text(words=_COMPARISONS)), "expression": _EXPRESSION, "value": Field(Scalar())},
            )
            for op in _COMPARISONS
        },
        **{
            op: Shaped(
                f"a {op} filter",
                "Asks whether an expression is among values.",
                {"op": Field(Text(words=_MEMBERSHIPS)), "expression": _EXPRESSION, "values": Field(ListOf(Scalar()))},
            )
            for op in _MEMBERSHIPS
        },
        **{
            op: Shaped(
                f"a {op} filter",
                "Asks about an expression by itself.",
                {"op": Field(Text(words=_UNARIES)), "expression": _EXPRESSION},
            )
            for op in _UNARIES
        },
    },
    tag="op",
)
ACTION = Shaped(
    "an action rule",
    "What happens to samples that match a filter.",
    {
        "key": Field(USER_KEY),
        "action": Field(Text(words=("exclude_from_metrics",))),
        "filter": Field(FILTER),
    },
)
