"""What the source of a Python object says about it, read without importing it: looking at code does not run it."""

from __future__ import annotations

import ast
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular

MAX_SOURCE_BYTES = 4 * 1024 * 1024


def docstring_of(target: str) -> str:
    """The docstring of `package.module:object`, empty when it has none."""
    module, _, path = target.partition(":")
    if not module or not path:
        raise UsageError(f"`{target}` is not of the form `package.module:object`")
    node: ast.AST = _parsed(target, _source_file(target, module))
    for name in path.split("."):
        node = _named(target, node, name)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return ast.get_docstring(node) or ""
    return ""


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
    found: dict[str, ast.AST] = {}
    for each in getattr(node, "body", ()):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[each.name] = each
        for assigned in each.targets if isinstance(each, ast.Assign) else ():
            if isinstance(assigned, ast.Name):
                found[assigned.id] = each
    if name not in found:
        raise UsageError(f"`{target}`: {unknown_name('name in its source', name, found)}")
    return found[name]
