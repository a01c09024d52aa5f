"""What a test needs wherever it runs, known from its text: modules, files, and names that nothing in the text defines.

Only what the test reaches whatever the candidate does is listed: not what stands in a branch, behind `try` or `with`,
in a message of an assertion, or in a function that is never called. The exceptions that a `try` catches are listed too:
a name that does not exist catches nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence

from msgspec import Struct


class Needs(Struct, frozen=True, kw_only=True):
    """Each with the line of the test, or the number of the expression."""

    imports: tuple[tuple[int, str], ...] = ()
    """Import statements, as source."""
    names: tuple[tuple[int, str], ...] = ()
    """Names that neither the test nor the candidate defines; the prelude may."""
    files: tuple[tuple[int, str], ...] = ()
    """Files that the test opens for reading."""


def read(tree: ast.Module, bound: Container[str]) -> Needs:
    """The needs of a test; `bound` are the names that it, its prelude, Python or the candidate define."""
    nodes = list(_always(tree.body, _called_functions(tree)))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    # what `import *` defines is not known from the text
    stars = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree))
    names = {
        node.id: node.lineno
        for node in reversed(nodes)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound
    }
    opened = ((node.lineno, _opened(node)) for node in nodes if isinstance(node, ast.Call))
    return Needs(
        imports=tuple((node.lineno, ast.unparse(node)) for node in imports),
        names=() if stars else tuple(sorted((line, name) for name, line in names.items())),
        files=tuple((line, path) for line, path in opened if path is not None),
    )


def _called_functions(tree: ast.Module) -> frozenset[str]:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return frozenset(function.id for function in calls if isinstance(function, ast.Name))


def _always(nodes: Sequence[ast.AST], called: Container[str]) -> Iterator[ast.AST]:
    """The nodes that are evaluated whatever the candidate answers, unless a statement before them ends the test."""
    for node in nodes:
        yield node
        yield from _always(_inner(node, called), called)


def _inner(node: ast.AST, called: Container[str]) -> Sequence[ast.AST]:  # noqa: PLR0911 -- a list of kinds of nodes
    if isinstance(node, ast.FunctionDef):
        return [*node.decorator_list, *node.args.defaults, *(node.body if node.name in called else ())]
    if isinstance(node, ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.GeneratorExp):
        return ()
    if isinstance(node, ast.Try):
        return [handler.type for handler in node.handlers if handler.type is not None]
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.context_expr for item in node.items]
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    if isinstance(node, ast.Assert):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return node.values[:1]
    if isinstance(node, ast.Compare):
        return [node.left, node.comparators[0]]  # a chain may end earlier
    if isinstance(node, ast.For):
        runs = isinstance(node.iter, ast.List | ast.Tuple) and bool(node.iter.elts)
        return [node.iter, *(node.body if runs else ())]
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):
        return [node.generators[0].iter]
    if isinstance(node, ast.AnnAssign):
        return [] if node.value is None else [node.value]
    if type(node).__name__ in ("Match", "TryStar"):
        return ()
    return list(ast.iter_child_nodes(node))


def _opened(node: ast.Call) -> str | None:
    """The path that a call of `open` reads from, where the text says it."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "open" and node.args):
        return None
    path = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    given = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
    mode = given[0].value if given and isinstance(given[0], ast.Constant) else "r" if not given else None
    reads = isinstance(mode, str) and not set(mode) & set("wax+")
    return path if isinstance(path, str) and reads else None
