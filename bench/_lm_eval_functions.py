"""What Python functions of a task do with a document: their syntax trees, read with the values they are bound to."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from bench._lm_eval_shapes import SAME, Shape

DOCUMENTS = (
    "doc", "x", "example", "line", "examples", "sample", "row", "item", "document", "e", "d", "ex", "entry", "data",
    "instance", "input", "record", "eg", "docs", "element",
)  # fmt: skip
"""What authors call a document."""


def shapes_of_function(function: Any, root: Shape) -> None:
    """Note which fields of a document a Python function and what it calls in its module reach for."""
    bound: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        bound |= function.keywords
        root.hints += [each for each in (*function.keywords.values(), *function.args) if isinstance(each, str)]
        function = function.func
    for tree, around in _trees(function, bound, set()):
        _Reading(root, around).read(tree)


def _trees(function: Any, bound: Mapping[str, Any], seen: set[str]) -> Iterator[tuple[ast.AST, Mapping[str, Any]]]:
    name = getattr(function, "__qualname__", repr(function))
    if name in seen or not (inspect.isfunction(function) or inspect.isclass(function)):
        return
    seen.add(name)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return
    around = getattr(function, "__globals__", {})
    held = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    yield tree, {**around, **held, **bound}
    given = {
        each.func.id: each for each in ast.walk(tree) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in around:
            called = around[node.id]
            if getattr(called, "__module__", None) == function.__module__:
                yield from _trees(called, _constants_given(called, given.get(node.id)), seen)


def _constants_given(called: Any, call: ast.Call | None) -> dict[str, Any]:
    """The constants that a function is called with, by the names of its parameters."""
    if call is None or not inspect.isfunction(called):
        return {}
    pairs = [*zip(inspect.signature(called).parameters, call.args, strict=False)]
    pairs += [(each.arg, each.value) for each in call.keywords if each.arg]
    return {name: value.value for name, value in pairs if isinstance(value, ast.Constant)}


class _Reading:
    """One function: the names in it that stand for parts of a document, and those that stand for known values."""

    def __init__(self, root: Shape, known: Mapping[str, Any]) -> None:
        self._root = root
        self._known = dict(known)
        self._parts: dict[str, Shape] = {}
        self._turns: dict[str, list[Any]] = {}
        """Names that stand for one known value after the other."""

    def read(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                self._assigned(node)
            elif isinstance(node, ast.For | ast.comprehension):
                self._loop(node)
        for node in ast.walk(tree):
            self._note(node)

    def _assigned(self, node: ast.Assign) -> None:
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            return
        name = node.targets[0].id
        if name not in DOCUMENTS and (part := self._part(node.value)) is not None:
            self._parts[name] = part
        elif (value := self._value(node.value)) is not None:
            self._known.setdefault(name, value)

    def _loop(self, node: ast.For | ast.comprehension) -> None:
        over, target = node.iter, node.target
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.args:
            if over.func.id == "zip" and isinstance(target, ast.Tuple):
                for each, name in zip(over.args, target.elts, strict=False):
                    self._walked(each, name)
                return
            if over.func.id == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                over, target = over.args[0], target.elts[1]
        self._walked(over, target)

    def _walked(self, over: ast.expr, target: ast.expr) -> None:
        inner = self._part(over)
        values = self._value(over) if inner is None else None
        if isinstance(values, list | tuple) and isinstance(target, ast.Name):
            self._turns[target.id] = list(values)
        if inner is not None and inner is not self._root:
            item = inner.each()
            if isinstance(target, ast.Name):
                self._parts[target.id] = item

    def _value(self, node: ast.AST) -> Any:
        """What an expression comes to, where that needs no document."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        is_plain = isinstance(node, ast.Constant | ast.Name | ast.JoinedStr | ast.List | ast.Tuple | ast.Set | ast.Dict)
        if (
            not is_plain
            or not names <= self._known.keys()
            or any(isinstance(each, ast.Call) for each in ast.walk(node))
        ):
            return None
        try:
            return eval(compile(ast.Expression(node), "<task>", "eval"), {**self._known})
        except Exception:
            return None

    def _part(self, node: ast.AST) -> Shape | None:
        """The shape behind `doc["a"]["b"][0]` or `doc.get("a")`."""
        if isinstance(node, ast.Name):
            return self._parts.get(node.id, self._root if node.id in DOCUMENTS else None)
        if isinstance(node, ast.Subscript):
            return self._subscripted(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = self._part(node.func.value)
            name = self._value(node.args[0]) if node.args else None
            if inner is not None and node.func.attr == "get" and isinstance(name, str):
                return inner.at(name)
            if inner is not None and inner is not self._root and node.func.attr in SAME:
                return inner
        return None

    def _subscripted(self, node: ast.Subscript) -> Shape | None:
        inner = self._part(node.value)
        if inner is None:
            return None
        key = self._value(node.slice)
        if isinstance(node.slice, ast.Name):
            for each in self._turns.get(node.slice.id, ()):
                if isinstance(each, str):
                    key = each
                    inner.at(each)
        if isinstance(key, str):
            return inner.at(key)
        if inner is self._root:
            return None
        if isinstance(key, int):
            return inner.each(key + 1) if inner.kind != "str" else inner
        return inner

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Subscript):
            self._note_index(node)
        elif isinstance(node, ast.Call):
            self._note_call(node)
        elif isinstance(node, ast.Compare):
            self._note_comparison(node)

    def _inside(self, node: ast.AST) -> Shape | None:
        found = self._part(node)
        return None if found is self._root else found

    def _note_index(self, node: ast.Subscript) -> None:
        if (index := self._inside(node.slice)) is not None:
            container = self._value(node.value)
            if isinstance(container, dict):
                index.among(container)
            else:
                index.be("int")
        self._part(node)

    def _note_call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            inner, method = self._inside(node.func.value), node.func.attr
            if inner is not None and method in ("items", "keys", "values"):
                inner.at("A")
            elif inner is not None and method in dir(str) and method not in dir(list):
                inner.be("str")
                if method in ("startswith", "endswith") and node.args:
                    inner.among([self._value(node.args[0])])
            if method in ("literal_eval", "loads") and node.args and (written := self._inside(node.args[0])):
                written.be("written list")
            held = self._value(node.func.value)
            argument = self._inside(node.args[0]) if node.args else None
            if argument is not None and inner is not None and method == "index" and not argument.values:
                inner.each().values = argument.values = ["A", "B", "C", "D"]
            if argument is not None and isinstance(held, list | tuple | dict) and method in ("index", "get"):
                argument.among(held)
        elif isinstance(node.func, ast.Name):
            for argument in map(self._inside, node.args):
                if argument is not None and node.func.id in ("int", "float"):
                    argument.be("number")
                elif argument is not None and node.func.id == "eval":
                    argument.be("written list")
                elif argument is not None and node.func.id in ("enumerate", "zip"):
                    argument.each()

    def _note_comparison(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for one, other in zip([*sides, *sides[:1]], [*sides[1:], *sides], strict=False):
            if (inner := self._inside(one)) is not None:
                value = self._value(other)
                inner.among(value if isinstance(value, list | tuple | set | dict) else [value])
