"""What the source of a Python object says about it, read without importing it: looking at code does not run it."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.part_options import Doc, InFiles, ModelKey, Pattern, PythonOption, TemplateOption, ValueName, Words

if TYPE_CHECKING:
    import inspect

MAX_SOURCE_BYTES = 4 * 1024 * 1024


def docstring_of(target: str) -> str:
    """The docstring of `package.module:object`, empty when it has none."""
    node = _node(target)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return ast.get_docstring(node) or ""
    return ""


def signature_of(target: str) -> Signature | None:
    """How `package.module:object` is called, with those annotations that are plain data.

    None where its source does not show it: decorators, base classes and assignments may change it.
    """
    node = _node(target)
    if isinstance(node, ast.ClassDef):
        methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
        if not _only_describe(node.decorator_list) or node.keywords or "__new__" in methods:
            return None
        if "__init__" not in methods:
            return None if node.bases else Signature()
        return _signature(methods["__init__"], skipped=1)
    return _signature(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef, skipped: int = 0) -> Signature | None:
    if not _only_describe(function.decorator_list):
        return None
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    without = [None] * (len(positional) - len(given.defaults))
    named = list(zip(positional, [*without, *given.defaults], strict=True))[skipped:]
    only = {id(argument) for argument in given.posonlyargs}
    parameters = [
        _parameter(each, Parameter.POSITIONAL_ONLY if id(each) in only else Parameter.POSITIONAL_OR_KEYWORD, default)
        for each, default in named
    ]
    if given.vararg is not None:
        parameters.append(_parameter(given.vararg, Parameter.VAR_POSITIONAL))
    by_name = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    parameters += [_parameter(each, Parameter.KEYWORD_ONLY, default) for each, default in by_name]
    if given.kwarg is not None:
        parameters.append(_parameter(given.kwarg, Parameter.VAR_KEYWORD))
    return Signature(parameters)


def _parameter(argument: ast.arg, kind: inspect._ParameterKind, default: ast.expr | None = None) -> Parameter:
    return Parameter(argument.arg, kind, default=_default(default), annotation=_plain_type(argument.annotation))


def _default(default: ast.expr | None) -> Any:
    """The default where it is a constant, else its text."""
    if default is None:
        return Parameter.empty
    try:
        return ast.literal_eval(default)
    except ValueError:
        return ast.unparse(default)


def _only_describe(decorators: list[ast.expr]) -> bool:
    """Whether these decorators leave a part as it is: they say what it is."""
    return all(
        isinstance(decorator, ast.Call) and _last_name(decorator.func) in ("part", "describes")
        for decorator in decorators
    )


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_PLAIN: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool, "list": list, "dict": dict}


def _plain_type(annotation: ast.expr | None) -> Any:  # noqa: PLR0911 - one case per form
    """What an annotation says where it says plain data, such as `int | None` or `list[str]`; else nothing."""
    match annotation:
        case ast.Name(id=name) if name in _PLAIN:
            return _PLAIN[name]
        case ast.Constant(value=None):
            return None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            either = [_plain_type(left), _plain_type(right)]
            if Parameter.empty in either:
                return Parameter.empty
            return either[0] | either[1] if any(either) else None
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, *said])):
            plain, markers = _plain_type(kind), tuple(filter(None, map(_marker, said)))
            return plain if plain is Parameter.empty or not markers else Annotated[plain, *markers]
        case ast.Subscript(value=ast.Name(id="Literal"), slice=words):
            return Literal[ast.literal_eval(words)]  # nothing but constants stands in one
        case ast.Subscript(value=ast.Name(id="list" | "dict" as name), slice=inside):
            items = [_plain_type(item) for item in (inside.elts if isinstance(inside, ast.Tuple) else [inside])]
            return Parameter.empty if Parameter.empty in items else _PLAIN[name][tuple(items)]
    return Parameter.empty


_MARKERS: dict[str, Callable[..., Any]] = {
    item.__name__: item
    for item in (Doc, TemplateOption, PythonOption, ModelKey, ValueName, Pattern, Words, InFiles, msgspec.Meta)
}


def _marker(node: ast.expr) -> Any:
    """One of our markers with constants as arguments, which the source shows in full; None for anything else."""
    if not isinstance(node, ast.Call) or (make := _MARKERS.get(_last_name(node.func))) is None:
        return None
    try:
        given = [ast.literal_eval(argument) for argument in node.args]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
        return make(*given, **named)
    except (ValueError, TypeError):
        return None


def _node(target: str) -> ast.AST:
    module, _, path = target.partition(":")
    if not module or not path:
        raise UsageError(f"`{target}` is not of the form `package.module:object`")
    node: ast.AST = _parsed(target, _source_file(target, module))
    for name in path.split("."):
        node = _named(target, node, name)
    return node


def _source_file(target: str, module: str) -> Path:
    """Where the module's source lies: in what is installed, else in the working directory."""
    spec: ModuleSpec | None = None
    places: list[str] | None = [*sys.path, os.getcwd()]
    walked = ""
    for step in module.split("."):
        walked = f"{walked}.{step}" if walked else step
        spec = PathFinder.find_spec(walked, places)
        if spec is None:
            raise UsageError(f"`{target}`: there is no module `{walked}` here or in the environment")
        places = list(spec.submodule_search_locations or ())
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise UsageError(f"`{target}`: the module `{module}` has no Python source to show")
    return Path(spec.origin)


def _parsed(target: str, path: Path) -> ast.Module:
    try:
        return ast.parse(read_regular(path, MAX_SOURCE_BYTES), filename=str(path))
    except OSError as error:
        raise UsageError(f"`{target}`: {path}: {error.strerror}") from error
    except SyntaxError as error:
        raise UsageError(f"`{target}`: {error.filename}, line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"`{target}`: {path} cannot be parsed: {error}") from error


def _named(target: str, node: ast.AST, name: str) -> ast.AST:
    names: dict[str, ast.AST] = {}
    for statement in getattr(node, "body", ()):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[statement.name] = statement
        for assigned in statement.targets if isinstance(statement, ast.Assign) else ():
            if isinstance(assigned, ast.Name):
                names[assigned.id] = statement
    if name not in names:
        raise UsageError(f"`{target}`: {unknown_name('name in its source', name, names)}")
    return names[name]
