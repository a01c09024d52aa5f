"""Filters over samples, and the action rules that use them."""

from __future__ import annotations

from assay.formats.declarative.code_shapes import ExpressionText
from assay.formats.declarative.from_annotations import USER_KEY
from assay.formats.declarative.schema.fields import mapping
from assay.formats.declarative.shape import Field, ListOf, Scalar, Tagged, Text

_READ_BY_RULES = ("sample", "solver_output", "scores")
_OPERATORS: tuple[tuple[tuple[str, ...], str, str, dict[str, Field]], ...] = (
    (
        ("equals", "not_equals", "greater_than", "less_than", "greater_or_equal", "less_or_equal"),
        "Compares an expression with a value.",
        "How they are compared.",
        {"value": Field(Scalar(), doc="What it is compared with.")},
    ),
    (
        ("in", "not_in"),
        "Asks whether an expression is among values.",
        "Whether it must be among them.",
        {"values": Field(ListOf(Scalar()), doc="The values.")},
    ),
    (
        ("exists", "not_exists", "is_true", "is_false"),
        "Asks about an expression by itself.",
        "What must hold of it.",
        {},
    ),
)
"""Operators with the same fields: what they do, what `op` decides, and the fields other than the expression."""


def _filter(names: tuple[str, ...] | None) -> Tagged:
    """A filter whose expression may read these names."""
    expression = Field(ExpressionText(names), doc="A Jinja expression, such as `{{ sample.category }}`.")
    choices = {
        op: mapping(f"a {op} filter", doc, op=Field(Text(words=ops), doc=decides), expression=expression, **own)
        for ops, doc, decides, own in _OPERATORS
        for op in ops
    }
    return Tagged("filter operator", choices, tag="op")


FILTER = _filter(None)
"""Of a dataset's rows."""
ACTION = mapping(
    "an action rule",
    "What happens to samples that match a filter.",
    key=Field(USER_KEY, doc="The rule's name, as shown in reports."),
    action=Field(Text(words=("exclude_from_metrics",)), doc="What happens to the samples that match."),
    filter=Field(_filter(_READ_BY_RULES), doc="Which samples; may read `sample`, `solver_output`, `scores.KEY.VALUE`."),
)
