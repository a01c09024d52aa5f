"""Sandboxed Jinja: templates of strangers, compiled once, strict about names, bounded in output and in work.

`Template` gives text, `Expression` gives a value (for filters). A template made only of text and `{{ name.field }}`
is recognised from Jinja's own syntax tree and becomes a join of strings, at about a tenth of the cost.

Two choices that differ from plain Jinja, because rows have columns of any name: a key of a mapping wins over a method
of the same name (`sample.items` is the column), and an unknown name is always an error.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from time import monotonic
from typing import Any, NoReturn

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError, nodes, pass_context, pass_environment
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.patterns.matching import BadPatternError, PatternTimeoutError, substitute

MAX_OUTPUT = 4_000_000
"""Characters one rendering may produce."""
MAX_STEPS = 1_000_000
"""Loop iterations and calls one rendering may take."""
MAX_SECONDS = 5.0
MAX_TAGS = 20_000
MAX_PATTERN = 2_000
_MAX_LITERAL = 20_000
_PLAIN_EXPRESSION = re.compile(r"\{\{|\{%|\{#")


class RenderError(Exception):
    """A template could not be rendered; the text says which name, and why."""


class UnknownNameError(RenderError):
    """A name is not defined: the one failure that `exists` is about."""


class Template:
    """A text template, compiled once; `render` takes the variables and gives the text."""

    def __init__(self, source: str, *, where: str = "template") -> None:
        self.source = source
        self.where = where
        self._render = _compiled(source, where)

    def render(self, variables: Mapping[str, Any]) -> str:
        return self._render(variables)


class Expression:
    """A template that gives a value: a lone `{{ … }}` is the value itself, and text is read as a Python literal."""

    def __init__(self, source: str, *, where: str = "expression") -> None:
        self.source = source
        self.where = where
        # some files write `scores.judge.label` bare; as a constant text it could never mean anything
        braced = source if _PLAIN_EXPRESSION.search(source) else "{{ " + source + " }}"
        self._evaluate = _compiled_expression(braced, where)

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        return self._evaluate(variables)


@lru_cache(maxsize=4096)
def _compiled(source: str, where: str) -> Callable[[Mapping[str, Any]], str]:
    tree = _parsed(_TEXT, source, where)
    pieces = _plain_pieces(tree)
    if pieces is not None:
        return _joined(pieces)
    template = _guarded(lambda: _TEXT.from_string(tree), where)

    def render(variables: Mapping[str, Any]) -> str:
        parts: list[str] = []
        size = 0
        try:
            for part in template.root_render_func(template.new_context(dict(variables))):
                size += len(part)
                if size > MAX_OUTPUT:
                    raise RenderError(f"the text grew beyond {MAX_OUTPUT:,} characters")
                parts.append(part)
        except RenderError:
            raise
        except Exception as error:
            _explain(error)
        return "".join(parts)

    return render


@lru_cache(maxsize=4096)
def _compiled_expression(source: str, where: str) -> Callable[[Mapping[str, Any]], Any]:
    tree = _parsed(_NATIVE, source, where)
    pieces = _plain_pieces(tree)
    if pieces is not None and len(pieces) == 1 and not isinstance(pieces[0], str):
        path = pieces[0]
        return lambda variables: _literal(_follow(path, variables))
    template = _guarded(lambda: _NATIVE.from_string(tree), where)

    def evaluate(variables: Mapping[str, Any]) -> Any:
        try:
            found = list(template.root_render_func(template.new_context(dict(variables))))
            if len(found) == 1:
                return _literal(_defined(found[0]))
            return _literal("".join(str(part) for part in found))
        except RenderError:
            raise
        except Exception as error:
            _explain(error)

    return evaluate


class _Undefined(StrictUndefined):
    """Says which name is missing, and what is there instead."""

    __slots__ = ()

    @property
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


class _Rules(ImmutableSandboxedEnvironment):
    """The sandbox, with bounds on what an expression may build and how often a loop may turn."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    @staticmethod
    def concat(parts: Iterable[str]) -> str:
        return _bounded_join(parts)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        if isinstance(obj, str) and attribute in ("format", "format_map"):
            _check_format(obj)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, str) and argument in ("format", "format_map"):
            _check_format(obj)
        return super().getitem(obj, argument)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return attr not in _GROWING_METHODS and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        _charge(context)
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, str) and name == "replace" and len(args) >= 2:
            _check_replace(owner, str(args[0]), str(args[1]))
        if isinstance(owner, str) and name == "join" and args:
            return _bounded_join(args[0], owner)
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*" and _too_long(left, right):
            raise SecurityError("the product would be too large")
        if operator == "+" and hasattr(left, "__len__") and len(left) + len(right) > MAX_OUTPUT:
            raise SecurityError("the sum would be too large")
        if operator == "**" and (abs(right) > 64 or (isinstance(left, int) and abs(left) > 10**9)):
            raise SecurityError("the power would be too large")
        if operator == "%" and isinstance(left, str):
            _check_format(left)
        return super().call_binop(context, operator, left, right)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
            raise TemplateSyntaxError("a template cannot read other files", node.lineno)
        return _Counted().visit(tree)  # type: ignore[no-any-return]


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


def _bounded_join(parts: Iterable[Any], between: str = "") -> str:
    texts: list[str] = []
    size = 0
    for part in parts:
        text = str(part)
        size += len(text) + len(between)
        if size > MAX_OUTPUT:
            raise RenderError(f"the text grew beyond {MAX_OUTPUT:,} characters")
        texts.append(text)
    return between.join(texts)


def _check_format(text: str) -> None:
    if _WIDE_FORMAT.search(text):
        raise SecurityError("the format is too wide")


def _check_replace(text: str, old: str, new: str) -> None:
    if len(text) + (text.count(old) if old else len(text) + 1) * len(new) > MAX_OUTPUT:
        raise SecurityError("the replacement would be too large")


_WIDE_FORMAT = re.compile(r"%[^%a-zA-Z]*(?:\d{4,}|\*)|\{[^{}]*:[^{}]*(?:\d{4,}|\{)")
# what these make can be far larger than what they are given
_GROWING_METHODS = frozenset({"ljust", "rjust", "center", "zfill", "expandtabs", "translate", "maketrans"})


class _NativeRules(_Rules):
    code_generator_class = NativeCodeGenerator


def _too_long(left: Any, right: Any) -> bool:
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, (str, bytes, list, tuple)) and isinstance(times, int):
            return len(sequence) * max(times, 0) > MAX_OUTPUT
    return isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > 4096


@pass_context
def _steps(context: Context, values: Iterable[Any]) -> Iterator[Any]:
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


def _fromjson(value: str) -> Any:
    return json.loads(value)


def _tojson(value: Any, indent: int | None = None) -> str:
    """JSON as it is, without escapes for HTML: prompts are not web pages."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent)


def _plain(value: Any) -> Any:
    """Views give their plain form; everything else is JSON already or an error."""
    as_json = getattr(value, "to_json", None)
    if callable(as_json):
        return as_json()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _json_escape(value: Any) -> str:
    """Text for use between the quotes of a JSON string."""
    return json.dumps(str(value), ensure_ascii=False)[1:-1]


def _merge(first: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(first)
    for other in others:
        merged.update(other)
    return merged


def _zip(*sequences: Iterable[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*sequences, strict=False))


def _regex_replace(
    value: Any, pattern: str, repl: str = "", multiline: bool = False, ignorecase: bool = False, count: int = 0
) -> str:
    flags = (re.MULTILINE if multiline else 0) | (re.IGNORECASE if ignorecase else 0)
    if len(pattern) > MAX_PATTERN:
        raise BadPatternError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN} are allowed")
    return substitute(pattern, repl, str(value), flags, count)


def _replace(value: Any, old: str, new: str, count: int | None = None) -> str:
    _check_replace(str(value), old, new)
    return str(value).replace(old, new, -1 if count is None else count)


@pass_environment
def _join(environment: _Rules, values: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        values = (_defined(environment.getitem(value, attribute)) for value in values)
    return _bounded_join(values, str(d))


def _format(value: Any, *args: Any, **kwargs: Any) -> str:
    _check_format(str(value))
    return str(value) % (kwargs or args)


def _bounded_width(name: str) -> Callable[..., Any]:
    original = SandboxedEnvironment().filters[name]

    def bounded(value: Any, *args: Any, **kwargs: Any) -> Any:
        for number in (*args, *kwargs.values()):
            if isinstance(number, int) and number > 10_000:
                raise SecurityError(f"the filter `{name}` may not make more than 10,000 characters")
        return original(value, *args, **kwargs)

    return bounded


def _environment(kind: type[_Rules]) -> _Rules:
    environment = kind(undefined=_Undefined, autoescape=False, extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
    environment.filters |= {
        "__steps": _steps,
        "__joined": _bounded_join,
        "replace": _replace,
        "join": _join,
        "format": _format,
        "fromjson": _fromjson,
        "tojson": _tojson,
        "json_escape": _json_escape,
        "zip": _zip,
        "merge": _merge,
        "regex_replace": _regex_replace,
        **{name: _bounded_width(name) for name in ("center", "indent", "batch", "slice", "wordwrap")},
    }
    del environment.globals["lipsum"]  # makes text of any length
    return environment


_TEXT = _environment(_Rules)
_NATIVE = _environment(_NativeRules)


def _parsed(environment: _Rules, source: str, where: str) -> nodes.Template:
    if len(source) > MAX_OUTPUT or source.count("{{") + source.count("{%") > MAX_TAGS:
        raise UsageError(f"{where}: the template is too large ({len(source):,} characters)")
    tree: nodes.Template = _guarded(lambda: environment.parse(source), where)
    return tree


def _guarded(make: Callable[[], Any], where: str) -> Any:
    """Compile, turning what Jinja says into one sentence with the template's place."""
    try:
        return make()
    except TemplateSyntaxError as error:
        message = error.message or "syntax error"
        if "No filter named" in message or "No test named" in message:
            return _FailsOnUse(message)
        raise UsageError(f"{where}: line {error.lineno} of the template: {message}") from error
    except (RecursionError, MemoryError) as error:
        raise UsageError(f"{where}: the template is nested too deep") from error


class _FailsOnUse:
    """A template with an unknown filter: legal to load, an error when rendered."""

    def __init__(self, message: str) -> None:
        self.message = message

    def new_context(self, variables: dict[str, Any]) -> dict[str, Any]:
        return variables

    def root_render_func(self, _: Any) -> NoReturn:
        raise RenderError(self.message)


# --- the fast path ----------------------------------------------------------------------------------------------

Path = tuple[str, ...]
Piece = str | Path


def _plain_pieces(tree: nodes.Template) -> list[Piece] | None:
    """Text and dotted names, when the template has nothing else; None when it needs Jinja."""
    pieces: list[Piece] = []
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            return None
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                pieces.append(part.data)
                continue
            path = _dotted_name(part)
            if path is None:
                return None
            pieces.append(path)
    return pieces


def _dotted_name(node: nodes.Expr) -> Path | None:
    if isinstance(node, nodes.Name):
        return (node.name,) if node.name not in _TEXT.globals else None
    if isinstance(node, nodes.Getattr):
        attribute = node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
        attribute = node.arg.value
    else:
        return None
    inner = _dotted_name(node.node)
    return (*inner, attribute) if inner is not None and not attribute.startswith("_") else None


def _joined(pieces: list[Piece]) -> Callable[[Mapping[str, Any]], str]:
    def render(variables: Mapping[str, Any]) -> str:
        text = "".join([piece if isinstance(piece, str) else _text_of(_follow(piece, variables)) for piece in pieces])
        if len(text) > MAX_OUTPUT:
            raise RenderError(f"the text grew beyond {MAX_OUTPUT:,} characters")
        return text

    return render


def _text_of(value: Any) -> str:
    return value if type(value) is str else str(value)


def _follow(path: Path, variables: Mapping[str, Any]) -> Any:
    try:
        value = variables[path[0]]
    except KeyError:
        raise UnknownNameError(unknown_name("variable", path[0], variables)) from None
    for at, name in enumerate(path[1:], 1):
        if isinstance(value, dict):
            try:
                value = value[name]
                continue
            except KeyError:
                pass
        holder, value = value, _TEXT.getattr(value, name)
        if isinstance(value, StrictUndefined):
            known = [str(key) for key in holder] if isinstance(holder, Mapping) else []
            said = ".".join(path[:at])
            if known or isinstance(holder, Mapping):
                raise UnknownNameError(f"`{said}.{name}`: " + unknown_name(f"field of `{said}`", name, known))
            raise UnknownNameError(f"`{said}.{name}`: `{said}` ({type(holder).__name__}) has no `{name}`")
    return value


def _defined(value: Any) -> Any:
    if isinstance(value, StrictUndefined):
        value._fail_with_undefined_error()
    return value


def _literal(value: Any) -> Any:
    """A text that is a Python literal becomes its value, everything else stays: `"3"` is 3, `"true"` is text."""
    if not isinstance(value, str) or not value or len(value) > _MAX_LITERAL:
        return value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(ast.parse(value, mode="eval"))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return str(value)


def _explain(error: Exception) -> NoReturn:
    """Any exception of a rendering as one sentence."""
    if isinstance(error, UndefinedError):
        raise UnknownNameError(str(error.message)) from error
    if isinstance(error, OverflowError):
        raise RenderError(f"not allowed in a template: {error}") from error
    if isinstance(error, SecurityError):
        raise RenderError(f"not allowed in a template: {error.message}") from error
    if isinstance(error, (BadPatternError, PatternTimeoutError)):
        raise RenderError(str(error)) from error
    if isinstance(error, RecursionError):
        raise RenderError("the template calls itself too deep") from error
    if isinstance(error, TemplateError):
        raise RenderError(str(error.message)) from error
    raise RenderError(f"{type(error).__name__}: {error}") from error
