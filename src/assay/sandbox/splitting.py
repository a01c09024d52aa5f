"""Whether a test can be separated from the candidate, decided from the test's text before the candidate sends anything.

A candidate that could influence this by its answers would choose how strictly it is judged, or whether at all.
"""

from __future__ import annotations

import ast
import builtins
import datetime
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct

LOOKS_INSIDE = {"eval", "exec", "compile", "inspect", "globals", "locals", "vars", "__import__", "importlib"}
"""A test that uses one of these needs the candidate's code in its own process."""

_PLAIN_TYPES = (int, float, complex, bool, str, bytes, bytearray, list, tuple, dict, set, frozenset, deque)
_OTHER_PLAIN_TYPES = (range, Decimal, Fraction, datetime.datetime, datetime.time, datetime.timedelta)
_PLAIN_METHODS = frozenset(name for kind in (*_PLAIN_TYPES, *_OTHER_PLAIN_TYPES) for name in dir(kind))
"""Methods that a test may call on data from the candidate without calling the candidate."""
_TYPES_THAT_TRAVEL = {kind.__name__ for kind in _PLAIN_TYPES} - {"deque", "bytearray"} | {"type"}
_MAKES_CODE = {"map", "filter", "zip", "iter", "enumerate", "reversed", "memoryview", "object", "slice", "open"}
"""Their results cannot be sent, even if the candidate has a function of that name, which it may choose not to have."""
_CODE_BUILTINS = {
    name for name, value in vars(builtins).items() if callable(value) and name not in _TYPES_THAT_TRAVEL
} - {"__build_class__"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.comprehension, ast.withitem)
_DECIDING = (ast.Assert, ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Expression)
_TELLING = (*_DEFINITIONS, *_BINDING, *_DECIDING, ast.Call, ast.Compare, ast.BinOp, ast.Raise, ast.ExceptHandler)
"""The kinds of nodes that are looked at."""


_ONLY_OF_ASYNCIO = {"run_until_complete", "create_task", "ensure_future"}
_TAKES_COROUTINES = _ONLY_OF_ASYNCIO | {"run", "gather", "wait", "wait_for", "as_completed", "shield"}
_CHANGES_PROCESS = {"redirect_stdout", "redirect_stderr", "patch", "setrecursionlimit"}
_STREAMS = {"redirect_stdout", "redirect_stderr", "sys.stdout = ...", "sys.stderr = ..."}
"""Replaced to be read, or only to be quiet, which does no harm."""


class TraitsOfTest(Struct, frozen=True, kw_only=True):
    """What the text of a test says about how it can be judged."""

    passes_code: bool = False
    """It passes the candidate a function, class, iterator or object of its own, which cannot leave its process."""
    own_objects: bool = False
    """It uses operators on objects of the candidate's classes, which only the candidate could evaluate."""
    exceptions: tuple[str, ...] = ()
    """Names of the candidate that may be exception classes."""
    identities: bool = False
    """It compares identities with `is`."""
    out_of_reach: str = ""
    """What it does in its own process that has no effect in the candidate's, or needs the candidate's object itself."""
    asks_objects: bool = False
    """It tests the truth of what a method of the candidate returned about an argument."""


def looks_inside(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    used = {
        node.id if isinstance(node, ast.Name) else node.name for node in nodes if isinstance(node, ast.Name | ast.alias)
    }
    return tuple(sorted(used & LOOKS_INSIDE))


def read(nodes: Iterable[ast.AST], prelude: Iterable[ast.AST], names: Sequence[str]) -> TraitsOfTest:
    """The traits of tests that use these names of the candidate, given all nodes of the tests and their prelude."""
    nodes = list(nodes)
    tests, helpers = [[node for node in item if isinstance(node, _TELLING)] for item in (nodes, prelude)]
    reader = _Reader(tests, helpers, names)
    return TraitsOfTest(
        passes_code=any(reader.hands_code(node) for node in tests if isinstance(node, ast.Call)),
        own_objects=any(map(reader.operates_on_objects, tests)),
        out_of_reach=_out_of_reach(nodes, reader),
        exceptions=_possible_exceptions(tests, names),
        identities=any(map(_asks_identity, tests)) or any(map(_asks_identity, helpers)),
        asks_objects=any(map(reader.is_method_answer, _asked_for_truth(tests))),
    )


def _out_of_reach(nodes: Sequence[ast.AST], reader: _Reader) -> str:
    """The first thing that the tests do and that cannot be done from another process than the candidate's."""
    modules = {alias.asname or alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    reads_streams = any(isinstance(node, ast.Attribute) and node.attr == "getvalue" for node in nodes)
    for node in nodes:
        if _is_awaited(node, reader):
            return "the tests await what the candidate returns"
        if isinstance(node, ast.ClassDef) and any(map(reader.is_candidates, node.bases)):
            return "the tests derive a class from one of the candidate's"
        asked = _arguments(node) if isinstance(node, ast.Call) and _is_name(node.func, {"issubclass"}) else ()
        if any(map(reader.is_candidates, asked)):
            return "the tests use issubclass on a class of the candidate"
        replaced = _replaced(node, modules)
        if replaced and (replaced not in _STREAMS or reads_streams):
            return f"the tests use {replaced}, which has no effect on the candidate's process"
    return ""


def _is_awaited(node: ast.AST, reader: _Reader) -> bool:
    """Whether a coroutine, or something else asynchronous, would have to come from the candidate."""
    if isinstance(node, ast.Await):
        return reader.is_candidates(node.value)
    if isinstance(node, ast.AsyncFor):
        return reader.is_candidates(node.iter)
    if isinstance(node, ast.AsyncWith):
        return any(reader.is_candidates(item.context_expr) for item in node.items)
    if not isinstance(node, ast.Call):
        return False
    # `asyncio.run(f())` and its like are given what the candidate made: a coroutine stays in the process of its loop
    function = ast.unparse(node.func).rpartition(".")[2]
    asynchronous = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "asyncio"
    if function not in _TAKES_COROUTINES or not (asynchronous or function in _ONLY_OF_ASYNCIO):
        return False
    inner = [part for argument in _arguments(node) for part in _parts(argument)]
    return any(reader.is_candidates(part) for part in inner)


def _parts(node: ast.AST) -> Sequence[ast.AST]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return node.elts
    return [node.elt if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp) else node]


def _replaced(node: ast.AST, modules: Container[str]) -> str:
    """What this statement changes in the process of the tests only; empty for nothing."""
    if isinstance(node, ast.ImportFrom):
        found = [alias.name for alias in node.names if alias.name in _CHANGES_PROCESS]
        return found[0] if found and (found[0] != "patch" or (node.module or "").endswith("mock")) else ""
    if isinstance(node, ast.Attribute) and node.attr in _CHANGES_PROCESS:
        of_mock = ast.unparse(node.value) in ("mock", "unittest.mock")
        return node.attr if node.attr != "patch" or of_mock else ""
    targets = node.targets if isinstance(node, ast.Assign) else ()
    for target in targets:
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in modules:
            return f"{target.value.id}.{target.attr} = ..."
    return ""


class _Reader:
    """Which names of a test refer to the candidate's functions, to their results, and to the test's own code.

    Scopes are ignored: tests are short.
    """

    def __init__(self, nodes: Sequence[ast.AST], prelude: Sequence[ast.AST], names: Sequence[str]) -> None:
        definitions = [node for node in (*nodes, *prelude) if isinstance(node, _DEFINITIONS)]
        self.pairs = list(_bindings(nodes))
        assigned = {name for name, _ in self.pairs}
        self.code = {node.name for node in definitions} - {*names, *assigned}
        self.classes = {node.name for node in definitions if isinstance(node, ast.ClassDef) and not node.bases}
        self.functions = set(names)
        """Names of the candidate, and aliases for them."""
        self.results: set[str] = set()
        """Names for what the candidate returned."""
        self.objects: set[str] = set()
        """Names for instances of the candidate's classes, which are recognised by their capital letter."""
        self.answers: set[str] = set()
        """Names for what methods of the candidate returned about an argument."""
        known = {node.name: node for node in definitions if isinstance(node, _FUNCTIONS)}
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        # until nothing is new: a helper may bind, below its first use, another name for what it was given
        while self._learn(known, calls):
            pass

    def _learn(self, known: dict[str, ast.FunctionDef | ast.AsyncFunctionDef], calls: Sequence[ast.Call]) -> bool:
        """Follow names through assignments and parameters, once; return whether that found something new."""
        before = len(self.functions) + len(self.results) + len(self.objects) + len(self.answers)
        passed = [pair for call in calls for pair in _parameters(call, known)]
        for name, value in (*self.pairs, *passed):
            if isinstance(value, ast.Name) and value.id in self.functions:
                self.functions.add(name)
            elif self.is_candidates(value):
                self.results.add(name)
            if self.is_object(value):
                self.objects.add(name)
            if self.is_method_answer(value):
                self.answers.add(name)
        return before != len(self.functions) + len(self.results) + len(self.objects) + len(self.answers)

    def is_candidates(self, node: ast.AST) -> bool:
        """Whether this comes from the candidate."""
        if isinstance(node, ast.Name):
            return node.id in self.functions or node.id in self.results
        if isinstance(node, ast.Call):
            return self.is_candidates(node.func)
        return isinstance(node, ast.Attribute | ast.Subscript) and self.is_candidates(node.value)

    def is_sent(self, call: ast.Call) -> bool:
        """Whether the arguments of this call are sent to the candidate, whatever plain data it may have returned."""
        function = call.func
        # `returned.sort(key=own)` runs where the test runs, on data that has arrived: it may be given anything
        if isinstance(function, ast.Attribute) and function.attr in _PLAIN_METHODS:
            return _is_name(function.value, self.functions) or self._is_single(function.value)
        return self.is_candidates(function)

    def hands_code(self, call: ast.Call) -> bool:
        return self.is_sent(call) and any(map(self.is_code, _arguments(call)))

    def is_code(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Lambda | ast.GeneratorExp):
            return True
        if isinstance(node, ast.Name):
            return node.id in self.code or (node.id in _CODE_BUILTINS and node.id not in self.functions)
        if isinstance(node, ast.Call):
            return _is_name(node.func, _MAKES_CODE) or _is_name(node.func, self.classes)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return any(map(self.is_code, node.elts))
        return isinstance(node, ast.Dict) and any(map(self.is_code, node.values))

    def is_object(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.objects
        if isinstance(node, ast.Call):
            function = node.func
            return isinstance(function, ast.Name) and function.id in self.functions and _is_class_name(function.id)
        if isinstance(node, ast.BinOp):
            return self.is_object(node.left) or self.is_object(node.right)
        return isinstance(node, ast.List | ast.Tuple | ast.Set) and any(map(self.is_object, node.elts))

    def operates_on_objects(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp):
            # `"%s" % thing` formats: it needs the thing's text and no operator
            return not isinstance(node.op, ast.Mod) and (self._is_single(node.left) or self._is_single(node.right))
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self._is_single(node.operand)
        if not isinstance(node, ast.Compare) or all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return False
        # with plain data on one side a handle answers for itself: it is equal to none
        operands = [node.left, *node.comparators]
        ours = [operand for operand in operands if self.is_object(operand) or self.is_candidates(operand)]
        return len(ours) == len(operands) and any(map(self.is_object, operands))

    def _is_single(self, node: ast.AST) -> bool:
        return self.is_object(node) and not isinstance(node, ast.List | ast.Tuple | ast.Set)

    def is_method_answer(self, node: ast.AST) -> bool:
        """Whether this is what a method, not the tested function itself, returned about an argument."""
        if isinstance(node, ast.Name):
            return node.id in self.answers
        if not isinstance(node, ast.Call) or not _arguments(node):
            return False
        return not isinstance(node.func, ast.Name) and self.is_candidates(node.func)


def _is_name(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_class_name(name: str) -> bool:
    return name.lstrip("_")[:1].isupper()


def _arguments(call: ast.Call) -> list[ast.AST]:
    positional = [argument.value if isinstance(argument, ast.Starred) else argument for argument in call.args]
    return [*positional, *(keyword.value for keyword in call.keywords)]


def _bindings(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Every name that is bound, and its value."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            yield from _pairs(node.target, node.value)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.List | ast.Tuple):
            for element in node.iter.elts:
                yield from _pairs(node.target, element)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield from _pairs(node.optional_vars, node.context_expr)


def _pairs(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.List | ast.Tuple) and isinstance(value, ast.List | ast.Tuple):
        for inner_target, inner_value in zip(target.elts, value.elts, strict=False):
            yield from _pairs(inner_target, inner_value)


def _parameters(
    call: ast.Call, known: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]
) -> Iterator[tuple[str, ast.AST]]:
    """The parameters of a function of the test's own, and the arguments of this call."""
    function = known.get(call.func.id) if isinstance(call.func, ast.Name) else None
    if function is None:
        return
    parameters = [*function.args.posonlyargs, *function.args.args]
    for parameter, argument in zip(parameters, call.args, strict=False):
        yield parameter.arg, argument
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


def _asks_identity(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        parts = (node.func, *node.args, *(keyword.value for keyword in node.keywords))
        return any(_is_name(part, {"type"}) for part in parts)
    if not isinstance(node, ast.Compare) or not any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        return False
    # `is None` is about data, and the same in every process
    return not any(isinstance(operand, ast.Constant) for operand in (node.left, *node.comparators))


def _asked_for_truth(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        if isinstance(node, ast.Expression):
            yield node.body
        elif isinstance(node, ast.Assert | ast.If | ast.While | ast.IfExp):
            yield node.test
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.Call) and _is_name(node.func, {"bool", "all", "any"}):
            for argument in _arguments(node):
                yield argument.elt if isinstance(argument, ast.GeneratorExp | ast.ListComp) else argument


def _possible_exceptions(nodes: Sequence[ast.AST], names: Sequence[str]) -> tuple[str, ...]:
    """The names that may be exception classes: a name that the test calls is a function, unless it also catches it."""
    raised = {id(node.exc) for node in nodes if isinstance(node, ast.Raise)}
    called = {
        node.func.id
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and id(node) not in raised
    }
    caught: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            caught |= {inner.id for inner in ast.walk(node.type) if isinstance(inner, ast.Name)}
        elif isinstance(node, ast.Call) and _tells_classes(node.func):
            caught |= {inner.id for argument in node.args for inner in _listed(argument) if isinstance(inner, ast.Name)}
    return tuple(name for name in names if name in caught or name not in called)


def _tells_classes(function: ast.AST) -> bool:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in ("isinstance", "issubclass") or "raises" in name.lower()


def _listed(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Tuple):
        return node.elts
    return [node] if isinstance(node, ast.expr) else []
