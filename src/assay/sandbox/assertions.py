"""Classifies tests: a call and an expected value, a test that needs a verifier, or one that cannot be split at all.

Only the dataset's own text is parsed here, never a candidate's.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import symtable
import sys
import warnings
from collections.abc import Container, Iterator, Sequence
from itertools import compress
from typing import Any

from msgspec import Struct

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.sandbox import needs, splitting
from assay.sandbox.inside.imports import PURE
from assay.sandbox.needs import Needs
from assay.sandbox.programs import BROKEN_TEST
from assay.sandbox.splitting import TraitsOfTest, looks_inside

_BUILTINS = frozenset(dir(builtins))
_BINDS_ALL = (ast.alias, ast.NamedExpr)
"""What defines a name for all checks, in tests that are nothing but imports and assertions."""


class Call(Struct, frozen=True, kw_only=True):
    """A check that needs no verifier: call a function with these values, compare with that one."""

    function: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    expected: Any


class Plan(Struct, frozen=True, kw_only=True):
    """How a set of checks is to be run."""

    labels: tuple[str, ...]
    """One per check."""
    calls: tuple[Call, ...] | None
    """The checks as plain calls, where all of them are plain calls: no verifier is needed then."""
    names: tuple[str, ...]
    """The candidate's names that the checks use."""
    undefined: tuple[str, ...] = ()
    """Those of them that no candidate has to define: a misspelt name looks like this."""
    whole: bool = False
    """All calls together are one check."""
    setup: str = ""
    """What the verifier runs before the checks."""
    sources: tuple[str, ...] = ()
    mode: str = "statements"
    """`expression` or `statements`."""
    may_run_together: bool = False
    """Checks that cannot be split may be run in the candidate's process and graded weak."""
    looks_inside: tuple[str, ...] = ()
    """Names used by the checks that need the candidate's code in the same process."""
    prelude_imports: tuple[str, ...] = ()
    """Modules that the prelude imports."""
    reading: TraitsOfTest = TraitsOfTest()
    """What else the text of the tests says about how they can be judged."""
    needs: Needs = Needs()
    """What the tests need whatever the candidate answers."""
    lines: tuple[int, ...] = ()
    """The line of the tests where each check begins; empty where that is the first."""
    hands_over: bool = False
    """The tests pass the candidate's function to their own `check`."""
    guards: tuple[str, ...] = ()
    """Checks that name nothing of the candidate: part of the test, but of no candidate's marks."""
    lines_of_guards: tuple[int, ...] = ()
    uncalled: tuple[str, ...] = ()
    """What the tests define for a test runner, which nothing here calls."""

    def unsplittable(self) -> str:
        """Why the checks cannot be separated from the candidate's code, by their text alone; empty when they can."""
        if self.looks_inside:
            return f"the tests use {', '.join(self.looks_inside)}"
        if self.reading.passes_code:
            return "the tests pass a function or an object of their own to the candidate"
        return self.reading.out_of_reach

    def run_together(self) -> bool:
        """Whether to run the checks in the candidate's process. Nothing that the candidate sends changes this."""
        return self.may_run_together and bool(self.unsplittable() or self.reading.own_objects)

    def mentions(self, check: int, names: Container[str], *, called: bool) -> bool:
        """Whether this check uses one of these names of the candidate; with `called` false, calls do not count."""
        nodes = list(ast.walk(_parse(self.sources[check], "check")))
        functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        uses = (node for node in nodes if isinstance(node, ast.Name) and node.id in names)
        return any(called or id(node) not in functions for node in uses)


def plan_expressions(targets: Sequence[str], prelude: str) -> Plan:
    """Each target is one Python expression, true or not."""
    trees = [_parse_expression(target) for target in targets]
    prelude = completed(prelude)
    helpers = list(ast.walk(_parse(prelude, "prelude")))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names, modules = _names_of_candidate(nodes, helpers)
    asking = [not _is_guard(tree, nodes, helpers, names, modules) for tree in trees]
    sources = [target.strip() for target in targets]
    calls = _all_or_none([_as_call(tree.body, names) for tree in compress(trees, asking)])
    undefined = _only_compared(nodes, names)
    return Plan(
        labels=tuple(_label(source) for source in compress(sources, asking)),
        calls=calls,
        setup=_with_imports(prelude, modules),
        sources=tuple(compress(sources, asking)),
        guards=tuple(
            ast.unparse(ast.Assert(test=tree.body)) for tree, asks in zip(trees, asking, strict=True) if not asks
        ),
        mode="expression",
        names=names,
        looks_inside=looks_inside(nodes),
        reading=_reading(calls, nodes, helpers, names),
        prelude_imports=_imported(helpers),
        undefined=tuple(undefined),
        needs=_needs_of_expressions(trees, {*_defined(nodes, helpers), *names, *modules} - undefined)
        if calls is None
        else Needs(),
    )


def _needs_of_expressions(trees: Sequence[ast.Expression], bound: Container[str]) -> Needs:
    """Their lines are the numbers of the expressions."""
    for number, tree in enumerate(trees, 1):
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                node.lineno = number
    return needs.read(ast.Module(body=[ast.Expr(tree.body) for tree in trees], type_ignores=[]), bound)


def plan_tests(tests: str, prelude: str, entry_points: Sequence[str]) -> Plan:
    """Separable assertions become one check each; anything else is one check, all or nothing."""
    tree = _parse(tests, "tests")
    prelude = completed(prelude)
    helpers = list(ast.walk(_parse(prelude, "prelude")))
    added = _call_check(tree, entry_points)
    nodes = list(ast.walk(tree))
    names, modules = _names_of_candidate(nodes, helpers)
    undefined = _only_compared(nodes, names)
    if entry_points:
        names, undefined = tuple(entry_points) if _mention(nodes, entry_points) else (), frozenset()
    setup = _with_imports(prelude, modules)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    asserts = [node for node in tree.body if isinstance(node, ast.Assert)]
    whole = not asserts or len(imports) + len(asserts) < len(tree.body)
    guards: list[ast.Assert] = []
    if not whole:
        guards = [node for node in asserts if _is_guard(node, nodes, helpers, names, modules)]
        asserts = [node for node in asserts if node not in guards]
        calls = _all_or_none([_as_call(node.test, names) for node in asserts])
        sources = tuple(ast.unparse(node) for node in asserts)
        labels = tuple(_label(source) for source in sources)
        setup = "\n".join([setup, *map(ast.unparse, imports)])
    else:
        calls = _calls_of_check(tree, names)
        labels, sources = ("tests",), ("\n".join([tests, *map(ast.unparse, added)]),)
    bound = {*_defined(nodes, helpers), *names, *modules} - undefined
    return Plan(
        labels=labels,
        calls=calls,
        whole=whole,
        setup=setup,
        sources=sources,
        names=names,
        undefined=tuple(undefined),
        looks_inside=looks_inside(nodes),
        reading=_reading(calls, nodes, helpers, names),
        prelude_imports=_imported(helpers),
        needs=needs.read(tree, bound),
        lines=() if whole else tuple(node.lineno for node in asserts),
        hands_over=any(map(_is_call_of_check, tree.body)),
        guards=tuple(map(ast.unparse, guards)),
        lines_of_guards=tuple(node.lineno for node in guards),
        uncalled=_uncalled(tree),
    )


def _imported(nodes: Sequence[ast.AST]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names[node.module] = None
    return tuple(names)


def _reading(
    calls: tuple[Call, ...] | None, nodes: Sequence[ast.AST], helpers: Sequence[ast.AST], names: Sequence[str]
) -> TraitsOfTest:
    """Plain calls have no traits: they pass literals and get data back."""
    return splitting.read(nodes, helpers, names) if calls is None else TraitsOfTest()


def _is_guard(
    check: ast.AST, nodes: Sequence[ast.AST], helpers: Sequence[ast.AST], names: Sequence[str], modules: Sequence[str]
) -> bool:
    """Whether a check can be made without the candidate: it reads only what Python, imports and the prelude define."""
    reaching = [*names, *_bound(helpers)] if _mention(helpers, names) else names
    if _mention(list(ast.walk(check)), reaching):
        return False
    here = [node.target if isinstance(node, ast.NamedExpr) else node for node in nodes if isinstance(node, _BINDS_ALL)]
    known = {*_defined(here, helpers), *modules}
    # the names of the check itself, without those of functions inside it, which may hide one of the candidate's
    symbols = symtable.symtable(ast.unparse(check), "check", "exec").get_symbols()
    return all(symbol.get_name() in known for symbol in symbols)


def _uncalled(tree: ast.Module) -> tuple[str, ...]:
    """What stands at the top of the tests and waits for a test runner."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name not in read:
            found.append(node.name)
        elif isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            found.append(f"if {ast.unparse(node.test)}:")
    return tuple(found)


def _mention(nodes: Sequence[ast.AST], names: Sequence[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in nodes)


def _parse_expression(target: str) -> ast.Expression:
    try:
        return _quietly(target.strip(), "eval")  # type: ignore[return-value]  # mode eval makes an Expression
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable("target", target, error) from None


def _parse(source: str, kind: str) -> ast.Module:
    try:
        return _quietly(source, "exec")  # type: ignore[return-value]  # mode exec makes a Module
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(kind, source, error) from None


def _quietly(source: str, mode: str) -> ast.AST:
    with warnings.catch_warnings():  # a deprecated escape in a dataset is not worth a warning
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source, mode=mode)
        except (
            SystemError
        ):  # CPython's own, when several threads parse at once (gh-106905): nothing is wrong with the text
            return ast.parse(source, mode=mode)


def completed(prelude: str) -> str:
    """A prelude that ends with a bare `def f(x):` is a prompt to be continued; for the verifier it gets a body."""
    try:
        _parse(prelude, "prelude")
    except FailureError:
        with_body = f"{prelude.rstrip()}\n    pass\n"
        _parse(with_body, "prelude")
        return with_body
    return prelude


def _unreadable(kind: str, source: str, error: Exception) -> FailureError:
    are = "are" if kind == "tests" else "is"
    message = f"the {kind} {are} not Python: {_label(source)}: {error}"
    return FailureError(Failure(stage="sandbox", kind=BROKEN_TEST, part="code_exec", message=message))


def _label(source: str) -> str:
    text = " ".join(source.split())
    return text if len(text) <= 120 else text[:119] + "…"


def _all_or_none(calls: Sequence[Call | None]) -> tuple[Call, ...] | None:
    plain = tuple(call for call in calls if call is not None)
    return plain if len(plain) == len(calls) else None


def _as_call(node: ast.expr, names: Sequence[str]) -> Call | None:
    """`f(literals) == literal`, as data, where `f` is one of these names."""
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)):
        return None
    call, expected = node.left, node.comparators[0]
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        return None
    if call.func.id not in names or any(keyword.arg is None for keyword in call.keywords):
        return None
    try:
        return Call(
            function=call.func.id,
            arguments=tuple(ast.literal_eval(argument) for argument in call.args),
            named={str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords},
            expected=ast.literal_eval(expected),
        )
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _call_check(tree: ast.Module, entry_points: Sequence[str]) -> list[ast.stmt]:
    """HumanEval's tests define `check(candidate)` and leave the call to the harness: append it, and return it."""
    defines = any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body)
    called = any(_is_call_of_check(node) for node in tree.body)
    if called or not defines or not entry_points:
        return []
    call: list[ast.stmt] = _quietly(f"check({entry_points[0]})", "exec").body  # type: ignore[attr-defined]
    tree.body += call
    return call


def _is_call_of_check(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "check"


def _calls_of_check(tree: ast.Module, names: Sequence[str]) -> tuple[Call, ...] | None:
    """`def check(candidate)` whose body is nothing but `assert candidate(literals) == literal`: no verifier needed."""
    meaningful = [node for node in tree.body if not _is_inert(node)]
    if len(meaningful) != 2 or not isinstance(meaningful[0], ast.FunctionDef) or not names:
        return None
    function, call = meaningful[0], meaningful[1]
    if function.name != "check" or len(function.args.args) != 1 or not _is_call_of_check(call):
        return None
    parameter = function.args.args[0].arg
    calls = []
    for node in function.body:
        if _is_inert(node):
            continue
        made = _as_call(node.test, [parameter]) if isinstance(node, ast.Assert) else None
        if made is None:
            return None
        calls.append(Call(function=names[0], arguments=made.arguments, named=made.named, expected=made.expected))
    return tuple(calls) or None


def _is_inert(node: ast.stmt) -> bool:
    """Whether a statement tests nothing: METADATA, docstrings, `assert True`, `pass`."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id == "METADATA" for target in node.targets)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    return isinstance(node, ast.Pass)


def _with_imports(prelude: str, modules: Sequence[str]) -> str:
    """A test that uses `math.isclose` without importing math means Python's, not a candidate's object of that name."""
    return "\n".join([prelude, *(f"import {module}" for module in modules)])


def _names_of_candidate(
    everything: Sequence[ast.AST], helpers: Sequence[ast.AST]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names in the checks that only the candidate can have defined, and those that are stdlib modules."""
    bound = _defined(everything, helpers)
    read = [node.id for node in everything if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    free = tuple(dict.fromkeys(name for name in read if name not in bound)) or _called_builtins(everything)
    dotted = {
        node.value.id for node in everything if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    modules = tuple(name for name in free if name in sys.stdlib_module_names and name in dotted)
    return tuple(name for name in free if name not in modules), modules


def _defined(nodes: Sequence[ast.AST], helpers: Sequence[ast.AST]) -> set[str]:
    """The names that Python, the checks or their prelude define."""
    return {*_BUILTINS, *_bound(nodes), *_bound(helpers)}


def _only_compared(nodes: Sequence[ast.AST], names: Container[str]) -> frozenset[str]:
    """The names that only stand next to the answer of a function: `f(1) == expected`, `f(1) == 3 and expected`.

    No program has to have those.
    A constant that a program has to define is asked for by itself, or written in capitals.
    """
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id in names]
    joined = (node for node in nodes if isinstance(node, ast.Compare | ast.BoolOp))
    beside = {id(name) for node in joined for name in _beside_answers(node, names)}
    elsewhere = {node.id for node in uses if id(node) not in beside}
    return frozenset(node.id for node in uses if node.id.islower()) - elsewhere


def _beside_answers(node: ast.Compare | ast.BoolOp, names: Container[str]) -> list[ast.expr]:
    operands = node.values if isinstance(node, ast.BoolOp) else [node.left, *node.comparators]
    calls = [inner.func for operand in operands for inner in ast.walk(operand) if isinstance(inner, ast.Call)]
    answers = any(isinstance(function, ast.Name) and function.id in names for function in calls)
    return [operand for operand in operands if isinstance(operand, ast.Name)] if answers else []


def _called_builtins(nodes: Sequence[ast.AST]) -> tuple[str, ...]:
    """Where no other name can be the candidate's, one named like a builtin is: MBPP asks for a `sum`."""
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    return tuple(dict.fromkeys(name.id for name in called if isinstance(name, ast.Name) and name.id in _BUILTINS))


def _bound(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            yield from _defined_by_star(node)
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name


def _defined_by_star(node: ast.ImportFrom) -> Sequence[str]:
    """The names that `from math import *` defines; of other than pure modules they are not known from here."""
    if node.module not in PURE:
        return ()
    names: dict[str, Any] = vars(importlib.import_module(node.module))
    return [*(names.get("__all__") or (name for name in names if not name.startswith("_")))]
