"""What a template prints of a row: the text that stands in the file, where printing the value would say another.

`{{ sample.price }}` over the cell `2.50` prints `2.50`; `{{ sample.price * 2 }}` and filters count with the number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer

from assay.core.types import Sample
from assay.prompts.jinja_filters import TEXT
from assay.prompts.jinja_rules import RenderError

Path = tuple[str, ...]
_WRITTEN = "the row as written"
"""Where rendering finds the texts; no template can name it."""
NO_NULLS = "the rule for nulls"
"""Where rendering finds what a null means in an expected text: nothing, or where it is allowed the empty text."""
ALLOWED, REFUSED, NEVER = "allowed", "refused", "never"
"""Whether an expected text may be empty: the task's words for it, and where no task may say so."""
_OF_TEXTS = {"capitalize", "center", "d", "default", "indent", "lower", "replace", "string", "title", "trim", "upper"}
"""Filters of texts: their input is the text that would be printed."""


class NullGoldError(RenderError):
    """An expected text would be the word `None`."""


def row_variables(sample: Sample) -> dict[str, Any]:
    """The row for a template: `sample`, and what its cells say in the file."""
    return {"sample": sample.row or {}, _WRITTEN: sample.written}


def as_written(sample: Sample) -> dict[str, Any]:
    """The row for whoever only prints it: what the file says, in place of each value that would print differently."""
    return with_texts(sample.row or {}, sample.written or {})


def with_texts(values: dict[str, Any], texts: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the texts of its values in their places."""
    put: dict[str, Any] = {}
    for name, value in values.items():
        text = texts.get(name, value)
        put[name] = with_texts(value, text) if isinstance(value, dict) and isinstance(text, dict) else text
    return put


def printed(path: Path, value: Any, variables: Mapping[str, Any] | Context, *, whole: bool = True) -> Any:
    """What stands for a value of the row where it is printed; other values stay.

    A list or mapping is JSON where it is printed as a `whole`, and itself where more is done with it.
    """
    row, texts = variables.get("sample"), variables.get(_WRITTEN)
    for name in path[1:]:
        row = row.get(name) if isinstance(row, dict) else None
        texts = texts.get(name) if isinstance(texts, dict) else None
    if row is not value:  # a loop of the template has a `sample` of its own
        return value
    if isinstance(texts, str):
        return texts
    if value is None and (rule := variables.get(NO_NULLS)):
        if rule != ALLOWED:
            raise NullGoldError(f"there is no expected text: `{'.'.join(path)}` is null")
        return ""
    return _as_json(value, texts) if whole and isinstance(value, dict | list) else as_data(value)


def _as_json(value: Any, texts: Any) -> str:
    """A value as JSON, with the texts of its numbers as the file has them."""
    if isinstance(texts, str) and not isinstance(value, str):
        return texts
    inner = texts if isinstance(texts, Mapping) else {}
    if isinstance(value, dict):
        pairs = (f"{_as_json(str(key), None)}: {_as_json(each, inner.get(key))}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(_as_json(each, inner.get(at)) for at, each in enumerate(value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def as_data(value: Any) -> Any:
    """A truth value as files of data write it: `true`, not Python's `True`."""
    return ("true" if value else "false") if isinstance(value, bool) else value


def dotted_name(node: nodes.Node) -> Path | None:
    """`a.b["c"]` as ("a", "b", "c"); None for anything else."""
    if isinstance(node, nodes.Name):
        return (node.name,) if node.name not in TEXT.globals else None
    if isinstance(node, nodes.Getattr):
        attribute = node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
        attribute = node.arg.value
    else:
        return None
    inner = dotted_name(node.node)
    return (*inner, attribute) if inner is not None and not attribute.startswith("_") else None


def is_of_row(path: Path | None) -> bool:
    return path is not None and len(path) > 1 and path[0] == "sample"


class PrintsTexts(NodeTransformer):
    """Marks where a template prints a column: alone, joined by `~`, in a branch, or through a filter of texts."""

    def visit_Output(self, node: nodes.Output) -> nodes.Node:  # noqa: N802 - the visitor's naming
        self.generic_visit(node)
        node.nodes = [_printing(part) for part in node.nodes]
        return node

    def visit_Filter(self, node: nodes.Filter) -> nodes.Node:  # noqa: N802 - the visitor's naming
        self.generic_visit(node)
        if node.name == "__joined" and isinstance(node.node, nodes.List):
            node.node.items = [_printing(part) for part in node.node.items]
        elif node.name in _OF_TEXTS and node.node is not None:
            node.node = _printing(node.node, whole=node.name != "default")  # what a loop may go through stays a list
        return node


def _printing(node: nodes.Expr, *, whole: bool = True) -> nodes.Expr:
    if isinstance(node, nodes.CondExpr):
        node.expr1 = _printing(node.expr1)
        node.expr2 = _printing(node.expr2) if node.expr2 is not None else None
        return node
    path = dotted_name(node)
    if path is None or not is_of_row(path):
        return node
    arguments: list[nodes.Expr] = [nodes.Const(path, lineno=node.lineno), nodes.Const(whole, lineno=node.lineno)]
    return nodes.Filter(node, "__printed", arguments, [], None, None, lineno=node.lineno)


@pass_context
def _printed(context: Context, value: Any, path: Path, whole: bool) -> Any:
    return printed(path, value, context, whole=whole)


TEXT.filters["__printed"] = _printed
