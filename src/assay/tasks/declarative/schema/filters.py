"""Filters over samples, and the action rules that use them."""

from __future__ import annotations

from assay.tasks.declarative.code_shapes import ExpressionText
from assay.tasks.declarative.schema.fields import USER_KEY
from assay.tasks.declarative.shape import Field, ListOf, ObjectOf, Scalar, Tagged, Text

_COMPARISONS = ("equals", "not_equals", "greater_than", "less_than", "greater_or_equal", "less_or_equal")
_MEMBERSHIPS = ("in", "not_in")
_UNARIES = ("exists", "not_exists", "is_true", "is_false")
_READ_BY_RULES = ("sample", "solver_output", "scores")


def _filter(names: tuple[str, ...] | None) -> Tagged:
    """A filter whose expression may read these names."""
    expression = Field(ExpressionText(names), doc="A Jinja expression, such as `{{ sample.category }}`.")
    return Tagged(
        "filter operator",
        {
            **{
                op: ObjectOf(
                    f"a {op} filter",
                    "Compares an expression with a value.",
                    {
                        "op": Field(Text(words=_COMPARISONS), doc="How they are compared."),
                        "expression": expression,
                        "value": Field(Scalar(), doc="What it is compared with."),
                    },
                )
                for op in _COMPARISONS
            },
            **{
                op: ObjectOf(
                    f"a {op} filter",
                    "Asks whether an expression is among values.",
                    {
                        "op": Field(Text(words=_MEMBERSHIPS), doc="Whether it must be among them."),
                        "expression": expression,
                        "values": Field(ListOf(Scalar()), doc="The values."),
                    },
                )
                for op in _MEMBERSHIPS
            },
            **{
                op: ObjectOf(
                    f"a {op} filter",
                    "Asks about an expression by itself.",
                    {
                        "op": Field(Text(words=_UNARIES), doc="What must hold of it."),
                        "expression": expression,
                    },
                )
                for op in _UNARIES
            },
        },
        tag="op",
    )


FILTER = _filter(None)
"""Of a dataset's rows."""
ACTION = ObjectOf(
    "an action rule",
    "What happens to samples that match a filter.",
    {
        "key": Field(USER_KEY, doc="The rule's name, as shown in reports."),
        "action": Field(Text(words=("exclude_from_metrics",)), doc="What happens to the samples that match."),
        "filter": Field(
            _filter(_READ_BY_RULES), doc="Which samples; may read `sample`, `solver_output`, `scores.KEY.VALUE`."
        ),
    },
)
