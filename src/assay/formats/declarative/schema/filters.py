"""Filters over samples, and the action rules that use them."""

from __future__ import annotations

from assay.formats.declarative.code_shapes import ExpressionText
from assay.formats.declarative.from_annotations import object_of
from assay.formats.declarative.records import ActionEntry
from assay.formats.declarative.shape import Field, ListOf, ObjectOf, Scalar, Tagged, Text

_READ_BY_RULES = ("sample", "solver_output", "scores")
_LAW = 'expression: "{{ sample.category }}", value: law'
_YEAR = 'expression: "{{ sample.year }}", value: 2000'
_CATEGORIES = 'expression: "{{ sample.category }}", values: [law, tax]'
_ANSWER = 'expression: "{{ sample.answer }}"'
_REVIEWED = 'expression: "{{ sample.reviewed }}"'
_OPERATORS: tuple[tuple[dict[str, str], str, str, dict[str, Field]], ...] = (
    (
        {
            **dict.fromkeys(("equals", "not_equals"), _LAW),
            **dict.fromkeys(("greater_than", "less_than", "greater_or_equal", "less_or_equal"), _YEAR),
        },
        "Compares an expression with a value.",
        "How they are compared.",
        {"value": Field(Scalar(), doc="What it is compared with.")},
    ),
    (
        dict.fromkeys(("in", "not_in"), _CATEGORIES),
        "Asks whether an expression is among values.",
        "Whether it must be among them.",
        {"values": Field(ListOf(Scalar()), doc="The values.")},
    ),
    (
        {
            **dict.fromkeys(("exists", "not_exists"), _ANSWER),
            **dict.fromkeys(("is_true", "is_false"), _REVIEWED),
        },
        "Asks about an expression by itself.",
        "What must hold of it.",
        {},
    ),
)
"""Operators with the same fields, each with an example: what they do, what `op` decides, the other fields."""


def _filter(names: tuple[str, ...] | None) -> Tagged:
    """A filter whose expression may read these names."""
    expression = Field(ExpressionText(names), doc="A Jinja expression, such as `{{ sample.category }}`.")
    choices = {
        op: ObjectOf(
            f"{'an' if op[0] in 'aei' else 'a'} {op} filter",
            doc,
            {"op": Field(Text(words=tuple(ops)), doc=decides), "expression": expression, **own},
            example=example,
        )
        for ops, doc, decides, own in _OPERATORS
        for op, example in ops.items()
    }
    return Tagged("filter operator", choices, tag="op")


FILTER = _filter(None)
"""Of a dataset's rows."""
ACTION = object_of(ActionEntry, shapes={"filter": _filter(_READ_BY_RULES)})
