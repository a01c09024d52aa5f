"""What documents of a task look like, as its templates and its Python use them: shapes, and documents made of them.

Types are read off the syntax trees of Jinja templates here, off those of Python functions in `_lm_eval_functions`; what
that leaves wrong is repaired from the errors that lm_eval raises (`_lm_eval_repair`), whose texts name the field,
because every made-up text begins with its field's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment, meta, nodes

_jinja = Environment(autoescape=False)
LISTS = re.compile(
    r"(choices|options|endings|candidates|alternatives|tokens|aliases|answers|distractors|references)$", re.I
)
"""What authors call a list of texts."""
SAME = ("strip", "lstrip", "rstrip", "lower", "upper", "capitalize", "copy")
"""Methods that give much the same again."""


@dataclass
class Shape:
    """A value: its kind, what is in it, and the values that the task compares it with."""

    kind: str = ""
    fields: dict[str, Shape] = field(default_factory=dict)
    item: Shape | None = None
    length: int = 4
    values: list[Any] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    """What a repair has given it already."""
    hints: list[str] = field(default_factory=list)
    """Texts that the task's functions are bound to: what they keep of all documents."""

    def at(self, name: str) -> Shape:
        if self.kind == "list" and self.item is not None and self.item.kind in ("", "dict"):
            return self.item.at(name)
        self.kind = "dict"
        return self.fields.setdefault(name, Shape())

    def each(self, length: int = 4) -> Shape:
        if self.kind == "dict":  # a mapping of texts, walked over
            return Shape()
        self.kind = "list"
        self.length = max(self.length, length)
        self.item = self.item or Shape()
        return self.item

    def be(self, kind: str) -> None:
        self.kind = "number" if {self.kind, kind} in ({"number", "str"}, {"int", "str"}) else self.kind or kind

    def among(self, values: Any) -> None:
        """Only these values make sense, as far as the code shows."""
        known = [each for each in values if isinstance(each, str | int | float) and each is not None]
        if known and self.kind not in ("dict", "list"):
            self.values += [each for each in known[:6] if each not in self.values]

    def walk(self, name: str = "") -> Iterator[tuple[str, Shape]]:
        yield name, self
        for key, each in self.fields.items():
            yield from each.walk(key)
        if self.item is not None:
            yield from self.item.walk(name)

    def make(self, name: str, number: int) -> Any:
        if self.kind == "dict":
            return {key: each.make(key, number) for key, each in self.fields.items()}
        if self.kind == "list":
            item = self.item or Shape()
            return [
                item.make(f"{name}{place}", number + place if item.values else number) for place in range(self.length)
            ]
        if self.values:
            same = [each for each in self.values if type(each) is type(self.values[0])]  # a column has one type
            return same[number % len(same)]
        if self.kind == "int":
            return number % 2
        if self.kind == "written list":
            return json.dumps([f"{name}{place}~ made up {number}." for place in range(4)])
        if self.kind == "number":
            return str(number % 2 + 1)
        if self.kind == "" and LISTS.search(name):
            return [f"{name}{place}~ made up {number}." for place in range(4)]
        return f"{name}~ made up {number}."


def shapes_of_template(template: str, root: Shape) -> None:
    """Note what a template does with the fields of a document."""
    if re.fullmatch(r"\w+", template):
        root.at(template)
        return
    try:
        tree = _jinja.parse(template)
    except Exception:  # lm_eval itself will say so
        return
    free = meta.find_undeclared_variables(_jinja.parse(template))  # which folds constants in the tree it is given
    scopes: dict[str, Shape] = {}
    for assigned in tree.find_all(nodes.Assign):
        inside = _of_node(assigned.node, root, free, scopes)
        if inside is not None and isinstance(assigned.target, nodes.Name):
            scopes[assigned.target.name] = inside
    for loop in tree.find_all(nodes.For):
        inside = _of_node(loop.iter, root, free, scopes)
        if inside is not None and isinstance(loop.target, nodes.Name):
            scopes[loop.target.name] = inside.each()
    for node in tree.find_all(nodes.Node):
        _note(node, root, free, scopes)
    for name in free:
        root.at(name)


def _of_node(node: Any, root: Shape, free: set[str], scopes: dict[str, Shape]) -> Shape | None:
    """The shape behind `a`, `a.b`, `a["b"]`, `a[0]`."""
    if isinstance(node, nodes.Name):
        if node.name in scopes:
            return scopes[node.name]
        return root.at(node.name) if node.name in free else None
    if isinstance(node, nodes.Filter) and node.name in ("int", "trim", "lower", "upper", "string") and node.node:
        return _of_node(node.node, root, free, scopes)
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in SAME:
        return _of_node(node.node.node, root, free, scopes)
    if isinstance(node, nodes.Getattr) and node.attr not in dir(str) + dir(list) + dir(dict):
        inner = _of_node(node.node, root, free, scopes)
        return inner.at(node.attr) if inner is not None else None
    if isinstance(node, nodes.Getitem):
        inner = _of_node(node.node, root, free, scopes)
        if inner is None:
            return None
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return inner.at(node.arg.value)
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, int):
            return inner.each(node.arg.value + 1) if inner.kind != "str" else inner
        if isinstance(node.arg, nodes.Slice):
            return inner
        return inner.each()
    return None


def _note(node: Any, root: Shape, free: set[str], scopes: dict[str, Shape]) -> None:
    def shape(part: Any) -> Shape | None:
        return _of_node(part, root, free, scopes)

    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        _note_call(node, shape)
    elif isinstance(node, nodes.Getitem):
        ends = (node.arg.start, node.arg.stop) if isinstance(node.arg, nodes.Slice) else ()
        for end in ends:
            if (place := shape(end)) is not None:
                place.be("int")
        if (index := shape(node.arg)) is not None:
            _note_index(node.node, index)
        shape(node)
    elif isinstance(node, nodes.Filter) and node.node is not None and (inner := shape(node.node)) is not None:
        if node.name == "int":
            inner.be("number")
        elif node.name in ("join", "list", "map", "length", "first", "last", "random"):
            inner.each()
        elif node.name in ("upper", "lower", "trim", "capitalize", "replace", "regex_replace"):
            inner.be("str")
    elif isinstance(node, nodes.Sub | nodes.Mul | nodes.Div) and (inner := shape(node.left)) is not None:
        inner.be("int")
        inner.values = inner.values or [1, 2]
    elif isinstance(node, nodes.Compare) and (inner := shape(node.expr)) is not None:
        for op in node.ops:
            inner.among(_constants(op.expr))
    else:
        shape(node)


def _note_index(container: Any, index: Shape) -> None:
    """A field that says where: a place in a list, or one of the keys that a mapping written there has."""
    if isinstance(container, nodes.Dict):
        index.among(pair.key.value for pair in container.items if isinstance(pair.key, nodes.Const))
    else:
        index.be("int")


def _constants(node: Any) -> list[Any]:
    found = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    return [each.value for each in found if isinstance(each, nodes.Const)]


def _note_call(node: Any, shape: Any) -> None:
    method, inner = node.node.attr, shape(node.node.node)
    argument = shape(node.args[0]) if node.args else None
    if argument is not None and method in ("index", "get") and isinstance(node.node.node, nodes.List | nodes.Dict):
        written = node.node.node
        keys = written.items if isinstance(written, nodes.List) else [pair.key for pair in written.items]
        argument.among(each.value for each in keys if isinstance(each, nodes.Const))
    elif inner is not None and method in ("index", "append"):
        item = inner.each()
        if argument is not None:
            item.values = argument.values = ["A", "B", "C", "D"]
    elif inner is not None and method in ("items", "keys", "values"):
        inner.at("A")
        inner.at("B")
    elif inner is not None and method in dir(str):
        inner.be("str")
