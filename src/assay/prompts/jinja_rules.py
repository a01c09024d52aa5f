"""Jinja for templates of strangers: nothing of Python can be reached, and output, loops and time are bounded.

Two choices differ from plain Jinja, because rows have columns of any name: a key of a mapping wins over a method of the
same name (`sample.items` is the column), and an unknown name is always an error.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Iterator, Mapping
from time import monotonic
from typing import Any

import jinja2
from jinja2 import StrictUndefined, TemplateSyntaxError, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.overriding import override

MAX_OUTPUT = 4_000_000
"""Characters one rendering may produce."""
MAX_STEPS = 1_000_000
"""Loop iterations and calls one rendering may take."""
MAX_SECONDS = 5.0


SAFE_JINJA = (3, 1, 6)
"""Below this release a template can leave Jinja's sandbox through the filter `attr`."""


def refuse_unsafe_jinja(version: str | None) -> None:
    """Refuse to render a stranger's template with a release whose sandbox is known to be open."""
    if version is not None and tuple(map(int, re.findall(r"\d+", version)[:3])) < SAFE_JINJA:
        wanted = ".".join(map(str, SAFE_JINJA))
        raise UsageError(f"Jinja2 {version} lets a template out of its sandbox: pip install 'Jinja2>={wanted}'")


# later releases have no such attribute, or warn when it is read
refuse_unsafe_jinja(vars(jinja2).get("__version__"))


class RenderError(Exception):
    """A template could not be rendered; the text says which name, and why."""


class UnknownNameError(RenderError):
    """A name is not defined: the one failure that `exists` is about."""


class Undefined(StrictUndefined):
    """Says which name is missing, and what is there instead."""

    __slots__ = ()

    @property
    @override
    def _undefined_message(self) -> str:
        holder: Any = self._undefined_obj
        name: Any = self._undefined_name
        if self._undefined_hint:
            return self._undefined_hint
        if isinstance(holder, Mapping) and isinstance(name, str):
            return unknown_name("field", name, [str(key) for key in holder])
        if name is not None and not isinstance(name, str):
            return f"there is no item {name}"
        if type(holder).__name__ in ("MissingType", "_MissingType"):
            return f"unknown variable `{name}`"
        return f"`{type(holder).__name__}` has no `{name}`"


class Rules(ImmutableSandboxedEnvironment):
    """The sandbox, with bounds on what an expression may build and how often a loop may turn."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    @staticmethod
    @override
    def concat(parts: Iterable[str]) -> str:
        return bounded_join(parts)

    @override
    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        if isinstance(obj, str) and attribute in ("format", "format_map"):
            check_format(obj)
        return super().getattr(obj, attribute)

    @override
    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, str) and argument in ("format", "format_map"):
            check_format(obj)
        return super().getitem(obj, argument)

    @override
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return attr not in _GROWING_METHODS and super().is_safe_attribute(obj, attr, value)

    @override
    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        _charge(context)
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, str) and name == "replace" and len(args) >= 2:
            check_replace(owner, str(args[0]), str(args[1]))
        if isinstance(owner, str) and name == "join" and args:
            return bounded_join(args[0], owner)
        return super().call(context, obj, *args, **kwargs)

    @override
    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*" and _too_long(left, right):
            raise SecurityError("the product would be too large")
        if operator == "+" and hasattr(left, "__len__") and len(left) + len(right) > MAX_OUTPUT:
            raise SecurityError("the sum would be too large")
        if operator == "**" and (abs(right) > 64 or (isinstance(left, int) and abs(left) > 10**9)):
            raise SecurityError("the power would be too large")
        if operator == "%" and isinstance(left, str):
            check_format(left)
        return super().call_binop(context, operator, left, right)

    @override
    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
            raise TemplateSyntaxError("a template cannot read other files", node.lineno)
        return _Counted().visit(tree)  # type: ignore[no-any-return]


def without_ways_out(environment: SandboxedEnvironment) -> None:
    """Remove the globals that make text of any length, or whose methods lead into Python."""
    for name in ("lipsum", "cycler", "joiner"):
        del environment.globals[name]


def chat_template_environment() -> ImmutableSandboxedEnvironment:
    """For the chat template that a model's author wrote: white space as the field's tokenizers treat it."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    without_ways_out(environment)
    return environment


class _Counted(NodeTransformer):
    """Puts the bounds into the tree: loops count their turns, `~` checks what it makes."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the visitor's naming
        self.generic_visit(node)
        node.iter = nodes.Filter(node.iter, "__steps", [], [], None, None, lineno=node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - the visitor's naming
        self.generic_visit(node)
        together = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(together, "__joined", [], [], None, None, lineno=node.lineno)


def bounded_join(parts: Iterable[Any], between: str = "") -> str:
    texts: list[str] = []
    size = 0
    for part in parts:
        text = str(part)
        size += len(text) + len(between)
        if size > MAX_OUTPUT:
            raise RenderError(f"the text grew beyond {MAX_OUTPUT:,} characters")
        texts.append(text)
    return between.join(texts)


def check_format(text: str) -> None:
    if _WIDE_FORMAT.search(text):
        raise SecurityError("the format is too wide")


def check_replace(text: str, old: str, new: str) -> None:
    if len(text) + (text.count(old) if old else len(text) + 1) * len(new) > MAX_OUTPUT:
        raise SecurityError("the replacement would be too large")


_WIDE_FORMAT = re.compile(r"%[^%a-zA-Z]*(?:\d{4,}|\*)|\{[^{}:]*+:[^{}]*(?:\d{4,}|\{)")
# what these make can be far larger than what they are given
_GROWING_METHODS = frozenset({"ljust", "rjust", "center", "zfill", "expandtabs", "translate", "maketrans"})


class NativeRules(Rules):
    code_generator_class = NativeCodeGenerator


def _too_long(left: Any, right: Any) -> bool:
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, (str, bytes, list, tuple)) and isinstance(times, int):
            return len(sequence) * max(times, 0) > MAX_OUTPUT
    return isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > 4096


@pass_context
def steps(context: Context, values: Iterable[Any]) -> Iterator[Any]:
    """Walk over a loop's values, counting against what this rendering may do."""
    for value in values:
        _charge(context)
        yield value


def _charge(context: Context) -> None:
    """One more turn of a loop or call: against how many there may be, and how long they may take."""
    budget = context.vars.get("__budget")
    if budget is None:
        budget = context.vars["__budget"] = [MAX_STEPS, monotonic() + MAX_SECONDS]
    budget[0] -= 1
    if budget[0] < 0:
        raise RenderError(f"more than {MAX_STEPS:,} loop iterations and calls")
    if monotonic() > budget[1]:
        raise RenderError(f"took longer than {MAX_SECONDS:g} s")


def is_method(value: Any) -> bool:
    """Whether this is a method that was not called: a missing column with the name of a method."""
    return isinstance(value, types.BuiltinMethodType | types.MethodType)


def printable_value(value: Any) -> Any:
    """What a template prints; no method, which says nothing but where it lies in memory."""
    if is_method(value):
        raise UnknownNameError(f"`{value.__name__}` is a method here and not a field; call it, or name a field")
    return value


def defined(value: Any) -> Any:
    if isinstance(value, StrictUndefined):
        value._fail_with_undefined_error()
    return value
