"""Sandboxed Jinja: templates of strangers, compiled once, strict about names, bounded in output and in work.

`Template` gives text, `Expression` gives a value (for filters). A template made only of text and `{{ name.field }}`
is recognised from Jinja's own syntax tree and becomes a join of strings, at about a tenth of the cost.
What a template may do is defined in `jinja_rules.py`, its filters in `jinja_filters.py`.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError, meta, nodes
from jinja2.exceptions import SecurityError, TemplateError

from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.patterns.matching import BadPatternError, PatternTimeoutError
from assay.prompts.jinja_filters import FORGIVING, NATIVE, TEXT
from assay.prompts.jinja_rules import MAX_OUTPUT, RenderError, Rules, UnknownNameError, defined, is_method
from assay.prompts.written_text import Path, PrintsTexts, dotted_name, is_of_row, printed
from assay.text.wording import nearest

MAX_TAGS = 20_000
_MAX_LITERAL = 20_000
_PLAIN_EXPRESSION = re.compile(r"\{\{|\{%|\{#")
_UNKNOWN_FILTER = re.compile(r"No (?:filter|test) named '(.*)'")


class Template:
    """A text template, compiled once; `render` takes the variables and gives the text."""

    def __init__(self, source: str, *, where: str = "template") -> None:
        self.source = source
        self.render = _compiled(source, where)


class ForgivingTemplate:
    """A text template of another program: within the same bounds, but an unknown name is an empty text."""

    def __init__(self, source: str, *, where: str = "template") -> None:
        tree = _parsed(FORGIVING, source, where)
        self.render = _bounded(_guarded(lambda: FORGIVING.from_string(tree), where))


class Expression:
    """A template that gives a value: a lone `{{ … }}` is the value itself, and text is read as a Python literal."""

    def __init__(self, source: str, *, where: str = "expression") -> None:
        self.source = source
        self.evaluate = _compiled_expression(_braced(source), where)


class Reads(NamedTuple):
    """What a template would read, known without rendering it."""

    paths: tuple[tuple[str, ...], ...]
    """Names with the fields that follow them: `sample.q` is ("sample", "q")."""
    guarded: frozenset[str]
    """Names whose absence it has an answer to: `x is defined`, `x | default("")`."""
    unknown_filters: tuple[str, ...]
    """Filters and tests that do not exist; the template fails where it uses them."""
    always_fails: bool = False
    """Whether it uses one of them whatever the sample."""
    columns: tuple[str, ...] = ()
    """Columns that a sample must have: read whatever the sample, and nowhere guarded."""


def template_reads(source: str) -> Reads:
    """What a template of text reads; `UsageError` where it is no template."""
    Template(source, where="")
    return _reads(_parsed(TEXT, source, ""))


def expression_reads(source: str) -> Reads:
    """What an expression reads; `UsageError` where it is none."""
    Expression(source, where="")
    return _reads(_parsed(NATIVE, _braced(source), ""))


def _braced(source: str) -> str:
    """Some files write `scores.judge.label` bare; as a constant text it could never mean anything."""
    return source if _PLAIN_EXPRESSION.search(source) else "{{ " + source + " }}"


def _reads(tree: nodes.Template) -> Reads:
    always_fails = False
    try:
        free = meta.find_undeclared_variables(tree) - TEXT.globals.keys()
    except TemplateSyntaxError:  # an unknown filter outside of conditions: the free names cannot be determined
        free, always_fails = set(), True
    guarded = frozenset(name for guard in _guards(tree) for path in _paths(guard) for name in path[:1])
    paths = dict.fromkeys(path for path in _paths(tree) if path[0] in free)
    named = [(node.name, TEXT.filters) for node in tree.find_all(nodes.Filter)]
    tested = [(node.name, TEXT.tests) for node in tree.find_all(nodes.Test)]
    unknown = dict.fromkeys(name for name, known in (*named, *tested) if name not in known)
    always_fails = always_fails or any(
        each.name not in (TEXT.filters if isinstance(each, nodes.Filter) else TEXT.tests)
        for each in _always_run(tree)
        if isinstance(each, nodes.Filter | nodes.Test)
    )
    needed = dict.fromkeys(path[1] for path in _always_read(tree) if path[0] == "sample" and path[1:])
    columns = tuple(needed) if "sample" in free and "sample" not in guarded else ()
    return Reads(tuple(paths), guarded, tuple(unknown), always_fails, columns)


def no_filter(name: str) -> str:
    """The sentence about a filter or test that does not exist."""
    near = nearest(name, [known for known in (*TEXT.filters, *TEXT.tests) if known[0].isalpha()])
    return f"there is no filter or test `{name}`" + (f". Did you mean `{near}`?" if near else "")


def _guards(tree: nodes.Node) -> Iterator[nodes.Node]:
    """Where a template asks whether a name is there."""
    for test in tree.find_all(nodes.Test):
        if test.name in ("defined", "undefined"):
            yield test.node
    for item in tree.find_all(nodes.Filter):
        if item.name in ("default", "d") and item.node is not None:
            yield item.node


def _always_run(node: nodes.Node) -> Iterator[nodes.Node]:
    """The parts of a template that rendering comes to whatever the values: not branches, nor bodies of loops."""
    yield node
    match node:
        case nodes.If() | nodes.CondExpr():
            inner: Iterable[nodes.Node] = [node.test]
        case nodes.For():
            inner = [node.iter]
        case nodes.And() | nodes.Or():
            inner = [node.left]
        case nodes.Macro() | nodes.CallBlock():
            inner = []
        case _:
            inner = node.iter_child_nodes()
    for each in inner:
        yield from _always_run(each)


def _always_read(node: nodes.Node) -> Iterator[Path]:
    """The names that rendering reads whatever their values: not those of branches, of loops' bodies, or of tests, and
    not what is only assigned.
    """
    match node:
        case nodes.If() | nodes.CondExpr():
            read: list[nodes.Node] = [node.test]
        case nodes.For():
            read = [node.iter]
        case nodes.And() | nodes.Or():
            read = [node.left]
        case nodes.Call(node=nodes.Getattr() as method):
            read = [method.node, *node.args]
        case nodes.Test() | nodes.Assign() | nodes.AssignBlock() | nodes.Macro() | nodes.CallBlock():
            read = []
        case nodes.Expr() if (path := dotted_name(node)) is not None:
            yield path
            return
        case _:
            read = [*node.iter_child_nodes()]
    for child in read:
        yield from _always_read(child)


def _paths(node: nodes.Node) -> Iterator[Path]:
    path = dotted_name(node) if isinstance(node, nodes.Expr) else None
    if path is not None:
        yield path
        return
    for child in node.iter_child_nodes():
        yield from _paths(child)


@lru_cache(maxsize=4096)
def _compiled(source: str, where: str) -> Callable[[Mapping[str, Any]], str]:
    tree = _parsed(TEXT, source, where)
    pieces = _plain_pieces(tree)
    if pieces is not None:
        return _joined(pieces)
    return _bounded(_guarded(lambda: TEXT.from_string(PrintsTexts().visit(tree)), where))


def _bounded(template: Any) -> Callable[[Mapping[str, Any]], str]:
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
    tree = _parsed(NATIVE, source, where)
    pieces = _plain_pieces(tree)
    if pieces is not None and len(pieces) == 1 and not isinstance(pieces[0], str):
        path = pieces[0]
        return lambda variables: _literal(_follow(path, variables))
    template = _guarded(lambda: NATIVE.from_string(tree), where)

    def evaluate(variables: Mapping[str, Any]) -> Any:
        try:
            parts = list(template.root_render_func(template.new_context(dict(variables))))
            return _literal(defined(parts[0]) if len(parts) == 1 else "".join(map(str, parts)))
        except RenderError:
            raise
        except Exception as error:
            _explain(error)

    return evaluate


def _parsed(environment: Rules, source: str, where: str) -> nodes.Template:
    if len(source) > MAX_OUTPUT or source.count("{{") + source.count("{%") > MAX_TAGS:
        raise UsageError(f"{_at(where)}the template is too large ({len(source):,} characters)")
    tree: nodes.Template = _guarded(lambda: environment.parse(source), where)
    return tree


def _guarded(make: Callable[[], Any], where: str) -> Any:
    """Compile, turning what Jinja says into one sentence with the template's place."""
    try:
        return make()
    except TemplateSyntaxError as error:
        message = error.message or "syntax error"
        if unknown := _UNKNOWN_FILTER.match(message):
            return _FailsOnUse(no_filter(unknown[1]))
        raise UsageError(f"{_at(where)}line {error.lineno} of the template: {message}") from error
    except (RecursionError, MemoryError) as error:
        raise UsageError(f"{_at(where)}the template is nested too deep") from error


def _at(where: str) -> str:
    return f"{where}: " if where else ""


class _FailsOnUse:
    """A template with an unknown filter: legal to load, an error when rendered."""

    def __init__(self, message: str) -> None:
        self.message = message

    def new_context(self, variables: dict[str, Any]) -> dict[str, Any]:
        return variables

    def root_render_func(self, _: Any) -> NoReturn:
        raise RenderError(self.message)


# --- the fast path ----------------------------------------------------------------------------------------------

TemplatePiece = str | Path


def _plain_pieces(tree: nodes.Template) -> list[TemplatePiece] | None:
    """Text and dotted names, when the template has nothing else; None when it needs Jinja."""
    pieces: list[TemplatePiece] = []
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            return None
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                pieces.append(part.data)
                continue
            path = dotted_name(part)
            if path is None:
                return None
            pieces.append(path)
    return pieces


def _joined(pieces: list[TemplatePiece]) -> Callable[[Mapping[str, Any]], str]:
    def render(variables: Mapping[str, Any]) -> str:
        text = "".join([piece if isinstance(piece, str) else str(_followed(piece, variables)) for piece in pieces])
        if len(text) > MAX_OUTPUT:
            raise RenderError(f"the text grew beyond {MAX_OUTPUT:,} characters")
        return text

    return render


def _followed(path: Path, variables: Mapping[str, Any]) -> Any:
    value = _follow(path, variables)
    return printed(path, value, variables) if is_of_row(path) else value


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
        holder, value = value, TEXT.getattr(value, name)
        # a method that is not called would print as `<built-in method …>`
        if isinstance(value, StrictUndefined) or (at == len(path) - 1 and is_method(value)):
            parent = ".".join(path[:at])
            problem = f"`{parent}` ({type(holder).__name__}) has no `{name}`"
            if isinstance(holder, Mapping):
                problem = unknown_name(f"field of `{parent}`", name, [str(key) for key in holder])
            raise UnknownNameError(f"`{parent}.{name}`: {problem}")
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
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, OverflowError | SecurityError):
        message = f"not allowed in a template: {error}"
    elif isinstance(error, RecursionError):
        message = "the template calls itself too deep"
    elif isinstance(error, TemplateError):
        unknown = _UNKNOWN_FILTER.match(str(error.message))
        message = no_filter(unknown[1]) if unknown else str(error.message)
    elif isinstance(error, BadPatternError | PatternTimeoutError):
        message = str(error)
    raise RenderError(message) from error
