"""Shapes of fields that hold code: Jinja text and expressions are compiled, the author's Python is parsed.

Nothing is executed; what is wrong with a piece of code has the place of its field.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from assay.core.errors import UsageError
from assay.formats.declarative.shape import Report, Shape, Text
from assay.formats.declarative.yaml_reader import FieldPath, Plain, hint_here, inside
from assay.overriding import override
from assay.patterns.matching import pattern_problem
from assay.prompts.template import Reads, expression_reads, no_filter, template_reads
from assay.text.wording import count_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class TemplateText(Shape):
    """Jinja text, compiled here so that what is wrong with it has a place."""

    may_be_placeholder = False
    names: tuple[str, ...] | None
    """What it may read; None where that is not known."""
    min_length: int = 0

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if is_code(value, where, report, self.min_length):
            check_template(template_reads, value, self.names, where, report)
        return value


@dataclass(frozen=True, slots=True)
class ExpressionText(Shape):
    """A Jinja expression, such as `{{ sample.category }}`."""

    may_be_placeholder = False
    names: tuple[str, ...] | None
    """What it may read; None where every column of a dataset is a name too."""

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if is_code(value, where, report):
            check_template(expression_reads, value, self.names, where, report)
        return value


def is_code(value: Plain, where: FieldPath, report: Report, min_length: int = 1) -> TypeGuard[str]:
    """Whether the value is a text whose code can be checked now; what is not a text is reported."""
    Text(min_length=min_length).check(value, where, report)
    return isinstance(value, str) and bool(value) and not report.awaits(where, value)


def check_template(
    reads: Callable[[str], Reads], source: str, names: tuple[str, ...] | None, where: FieldPath, report: Report
) -> None:
    """Check that a template can be compiled and reads only names that it will be given."""
    try:
        read = reads(source)
    except UsageError as error:
        report.wrong_content(where, str(error))
        return
    for name in read.unknown_filters:
        if read.always_fails:
            report.wrong_content(where, no_filter(name))
        else:
            report.warn(where, f"the template fails where it uses `{name}`: {no_filter(name)}")
    for name in dict.fromkeys(path[0] for path in read.paths):
        if names is not None and name not in (*names, *read.guarded):
            report.wrong_content(where, f"the template reads `{name}`, which it is not given. {hint_here(name, names)}")


@dataclass(frozen=True, slots=True)
class PatternText(Shape):
    """A regular expression; one with a template in it has to wait for its rows."""

    may_be_placeholder = False
    min_length: int = 0

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if is_code(value, where, report, self.min_length) and (problem := pattern_problem(value)):
            report.wrong_content(where, problem)
        return value


@dataclass(frozen=True, slots=True)
class TemplatedValue(Shape):
    """Any data; its texts are Jinja."""

    may_be_placeholder = False
    names: tuple[str, ...]

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if isinstance(value, str) and not report.awaits(where, value):
            check_template(template_reads, value, self.names, where, report)
        for at, item in inside(value, where):
            self.check(item, at, report)
        return value


@dataclass(frozen=True, slots=True)
class PythonText(Shape):
    """The author's Python: parsed here, never executed. It defines the function that the field is named after."""

    may_be_placeholder = False
    function: str
    arguments: tuple[str, ...]
    """What the function is called with, in this order."""
    fewest: int | None
    """How many of them, from the left, it has to take; None: all."""

    @override
    def check(self, value: Plain, where: FieldPath, report: Report) -> Plain:
        if is_code(value, where, report) and (problem := self._problem(value)):
            report.wrong_content(where, problem)
        return value

    def _problem(self, source: str) -> str | None:
        if (problem := snippet_problem(source, self.function)) is not None:
            return problem
        if (defined := _defined(source, self.function)) is None:
            return None
        fewest = len(self.arguments) if self.fewest is None else self.fewest
        return arity_problem(defined, self.arguments, fewest)


def arity_problem(defined: _Function, arguments: Sequence[str], fewest: int) -> str | None:
    """Why a function cannot be called with these arguments, or with fewer of them where it takes fewer."""
    own = defined.args
    positional = [*own.posonlyargs, *own.args]
    demanded = len(positional) - len(own.defaults)
    by_name = [each.arg for each, default in zip(own.kwonlyargs, own.kw_defaults, strict=True) if default is None]
    shown = f"`{defined.name}({ast.unparse(own)})`"
    called = f"it is called with ({', '.join(arguments)})" if arguments else "it is called without arguments"
    if by_name:
        why = f"demands `{by_name[0]}` by name"
    elif demanded > len(arguments):
        why = f"demands {count_of(demanded, 'argument')}"
    elif own.vararg is None and len(positional) < fewest:
        why = f"takes {count_of(len(positional), 'argument')}" if positional else "takes no argument"
    else:
        return None
    return f"line {defined.lineno} of the snippet: {shown} {why}; {called}"


def snippet_problem(source: str, function: str) -> str | None:
    """Why a snippet cannot be called."""
    try:
        names = set(_names_given(ast.parse(source)))
    except SyntaxError as error:
        return f"line {error.lineno} of the snippet: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"the snippet cannot be parsed: {error}"
    if function in names or "*" in names:
        return None
    given = ", ".join(f"`{name}`" for name in sorted(names)[:10]) or "nothing"
    return f"the snippet must define a function `{function}`; it defines {given}"


def parameters(source: str, function: str, *, demanded: bool = False) -> list[str]:
    """The positional parameters of a snippet's function, or those that it cannot be called without; none where that
    cannot be seen.
    """
    if (defined := _defined(source, function)) is None:
        return []
    positional = [parameter.arg for parameter in (*defined.args.posonlyargs, *defined.args.args)]
    return positional[: len(positional) - len(defined.args.defaults)] if demanded else positional


def _defined(source: str, function: str) -> _Function | None:
    """The function as it is written; None where what is called in the end cannot be seen."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    giving = [each for each in statements if {function, "*"} & set(_names_given(ast.Module([each], [])))]
    last = giving[-1] if giving else None
    return last if isinstance(last, _Function) and not last.decorator_list else None


def _names_given(tree: ast.AST) -> Iterator[str]:
    """Every name that code assigns outside of its functions and classes; `*` for names that cannot be determined."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.alias):
            yield node.asname or node.name
        yield from _names_given(node)
