"""What documents of a task look like, as its templates and its Python use them: shapes, and documents made of them.

Types are read off the syntax trees of Jinja templates and of Python functions; what that leaves wrong is repaired from
the errors that lm_eval raises, whose texts name the field, because every made-up text begins with its field's name.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment, meta, nodes

_jinja = Environment(autoescape=False)
DOCUMENTS = ("doc", "x", "example", "line", "examples", "sample", "row", "item", "document", "e", "d", "ex", "entry")
"""What authors call a document."""


@dataclass
class Shape:
    """A value: its kind, what is in it, and the values that the task compares it with."""

    kind: str = ""
    fields: dict[str, Shape] = field(default_factory=dict)
    item: Shape | None = None
    length: int = 4
    values: list[Any] = field(default_factory=list)
    guessing: str = ""
    """The field whose values are being tried in turn."""
    hints: list[str] = field(default_factory=list)
    """Texts that the task's functions are bound to: what they keep of all documents."""

    def at(self, name: str) -> Shape:
        self.kind = "dict"
        return self.fields.setdefault(name, Shape())

    def each(self, length: int = 4) -> Shape:
        self.kind = "list"
        self.length = max(self.length, length)
        self.item = self.item or Shape()
        return self.item

    def be(self, kind: str) -> None:
        self.kind = self.kind or kind

    def walk(self) -> Iterator[Shape]:
        yield self
        for each in (*self.fields.values(), *([self.item] if self.item else [])):
            yield from each.walk()

    def make(self, name: str, number: int) -> Any:
        if self.kind == "dict":
            return {key: each.make(key, number) for key, each in self.fields.items()}
        if self.kind == "list":
            item = self.item or Shape()
            return [item.make(f"{name}{place}", number) for place in range(self.length)]
        if self.values:
            return self.values[number % len(self.values)]
        if self.kind == "int":
            return number % 2
        if self.kind == "number":
            return str(number % 2 + 1)
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
        if (index := shape(node.arg)) is not None:
            index.be("int")
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
        inner.values += [op.expr.value for op in node.ops if isinstance(op.expr, nodes.Const)]
    else:
        shape(node)


def _note_call(node: Any, shape: Any) -> None:
    method, inner = node.node.attr, shape(node.node.node)
    if method == "index" and isinstance(node.node.node, nodes.List):
        options = [each.value for each in node.node.node.items if isinstance(each, nodes.Const)]
        if node.args and (argument := shape(node.args[0])) is not None:
            argument.values += options[:2]
    elif inner is not None and method in ("index", "append"):
        item = inner.each()
        if node.args and (argument := shape(node.args[0])) is not None:
            item.values = argument.values = ["A", "B", "C", "D"]
    elif inner is not None and method in dir(str):
        inner.be("str")


def shapes_of_function(function: Any, root: Shape) -> None:
    """Note which fields of a document a Python function and what it calls in its module reach for."""
    bound: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        bound |= function.keywords
        root.hints += [each for each in function.keywords.values() if isinstance(each, str)]
        function = function.func
    for tree in _trees(function, set()):
        for node in ast.walk(tree):
            _note_python(node, root, bound)


def _trees(function: Any, seen: set[str]) -> Iterator[ast.AST]:
    name = getattr(function, "__qualname__", repr(function))
    if name in seen or not (inspect.isfunction(function) or inspect.isclass(function)):
        return
    seen.add(name)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return
    yield tree
    around = getattr(function, "__globals__", {})
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in around:
            called = around[node.id]
            if getattr(called, "__module__", None) == function.__module__:
                yield from _trees(called, seen)


def _chain(node: ast.AST, root: Shape) -> Shape | None:
    """The shape behind `doc["a"]["b"][0]` or `doc.get("a")`."""
    if isinstance(node, ast.Name) and node.id in DOCUMENTS:
        return root
    if isinstance(node, ast.Subscript):
        inner = _chain(node.value, root)
        if inner is None:
            return None
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return inner.at(node.slice.value)
        if inner is root:
            return None
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return inner.each(node.slice.value + 1) if inner.kind != "str" else inner
        return inner
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        inner = _chain(node.func.value, root)
        if inner is not None and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            return inner.at(node.args[0].value)
    return None


def _note_python(node: ast.AST, root: Shape, bound: dict[str, Any]) -> None:
    if isinstance(node, ast.Subscript):
        index = _chain(node.slice, root)
        if index is not None and index is not root:
            index.be("int")
        _chain(node, root)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and (inner := _chain(node.func.value, root)) not in (None, root):
            assert inner is not None
            if node.func.attr in dir(str) and node.func.attr not in dir(list):
                inner.be("str")
        for argument in node.args:
            inner = _chain(argument, root)
            if inner not in (None, root) and isinstance(node.func, ast.Name):
                assert inner is not None
                if node.func.id == "int":
                    inner.be("number")
                elif node.func.id == "enumerate":
                    inner.each()
    elif isinstance(node, ast.For | ast.comprehension):
        inner = _chain(node.iter, root)
        if inner not in (None, root):
            assert inner is not None
            inner.each()
    elif isinstance(node, ast.Compare) and (inner := _chain(node.left, root)) not in (None, root):
        assert inner is not None
        for other in node.comparators:
            if isinstance(other, ast.Constant) and isinstance(other.value, str | int):
                inner.values.append(other.value)
            elif isinstance(other, ast.Name) and isinstance(bound.get(other.id), str):
                inner.values.append(bound[other.id])
