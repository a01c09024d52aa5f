"""A made-up program that agrees with every test, so that the test runs on after its first answer.

Its answers are equal to everything, true and larger and smaller than everything. What breaks all the same, without
having depended on an answer, is the test's own fault: it breaks for every program that answers right.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

NOTE, CLEAR = "__assay_note__", "__assay_clear__"
_HAS_FIXED_CAUSE = (ZeroDivisionError, IndexError, KeyError, ImportError, OSError)
"""What only plain values and places raise, never an answer itself; other errors may complain about its type."""
_CONDITIONAL = (ast.If, ast.IfExp, ast.BoolOp, ast.While, ast.For, ast.Try, ast.With, ast.Match, ast.comprehension)
_BRANCHES = (ast.If, ast.While, ast.Match)


class Taint:
    """Whether an answer had to give a plain value, which is a guess: what follows from it says nothing."""

    seen = False


def _agrees(self: Any, *args: Any, **kwargs: Any) -> Any:
    return AgreeingAnswer()


def _holds(self: Any, *args: Any) -> bool:
    return True


class AgreeingAnswer:
    """What the made-up program has under its names, and whatever comes of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return AgreeingAnswer()

    def __setattr__(self, name: str, value: Any) -> None:
        pass

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __delitem__(self, key: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __hash__(self) -> int:
        Taint.seen = True
        return 0

    def __iter__(self) -> Iterator[Any]:
        Taint.seen = True
        return iter(())

    def __next__(self) -> Any:
        Taint.seen = True
        raise StopIteration

    def __len__(self) -> int:
        Taint.seen = True
        return 0

    __int__ = __index__ = __len__

    def __float__(self) -> float:
        Taint.seen = True
        return 0.0

    def __complex__(self) -> complex:
        Taint.seen = True
        return 0j

    def __str__(self) -> str:
        Taint.seen = True
        return ""

    __repr__ = __str__

    def __format__(self, _: str) -> str:
        return str(self)

    __call__ = __getitem__ = __neg__ = __pos__ = __invert__ = __abs__ = __round__ = _agrees
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _agrees
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _agrees
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __divmod__ = __rdivmod__ = _agrees
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _agrees
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = _holds


def is_instance(value: Any, kinds: Any) -> bool:
    return True if isinstance(value, AgreeingAnswer) else isinstance(value, kinds)


class _Onward(ast.NodeTransformer):
    """An assertion that does not hold, or breaks, is noted, and the test runs on."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        def call(name: str) -> ast.stmt:
            return ast.Expr(ast.Call(ast.Name(name, ast.Load()), [], []))

        binds = any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node))
        handlers = [ast.ExceptHandler(None, None, [call(NOTE)])]
        onward = ast.Try([ast.Expr(node.test)], handlers, [], [] if binds else [call(CLEAR)])
        return ast.copy_location(onward, node)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """What is caught here is the test's own business."""
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        return node


class AgreeingRun:
    """One check, run with a program that agrees; `fault` is why it breaks for every right program, or None."""

    def __init__(self, source: str, mode: str, program: str, names: Sequence[str], namespace: dict[str, Any]) -> None:
        self._program, self._names, self._namespace = program, names, namespace
        kind = "eval" if mode == "expression" else "exec"
        self._tree: ast.AST = ast.parse(source, program, kind)
        onward = ast.fix_missing_locations(_Onward().visit(ast.parse(source, program, kind)))
        self._code: types.CodeType = compile(onward, program, kind, dont_inherit=True)
        self.fault: BaseException | None = None

    def run(self) -> None:
        Taint.seen = False
        self._namespace.update({name: AgreeingAnswer() for name in self._names})
        self._namespace.update({NOTE: self._note, CLEAR: self._clear})
        try:
            eval(self._code, self._namespace)  # noqa: S307 -- dataset code
        except BaseException:
            self._note()

    def _clear(self) -> None:
        Taint.seen = False

    def _note(self) -> None:
        error = sys.exc_info()[1]
        if self.fault is None and error is not None and self._is_own(error):
            self.fault = error

    def _is_own(self, error: BaseException) -> bool:
        nodes = list(self._nodes_of(error))
        if not nodes or isinstance(error, AssertionError | RecursionError | MemoryError | KeyboardInterrupt):
            return False
        if isinstance(error, SystemExit):
            return error.code in (None, 0) or self._always_comes_to(nodes)
        if isinstance(nodes[-1], ast.Raise):
            return not Taint.seen and self._always_comes_to(nodes)
        if not self._always_comes_to(nodes, _BRANCHES):
            return False  # a right answer may never lead there
        if isinstance(error, NameError):
            return not isinstance(error, UnboundLocalError) and error.name not in self._bound()
        return (isinstance(error, _HAS_FIXED_CAUSE) and not Taint.seen) or self._is_closed(nodes[-1])

    def _nodes_of(self, error: BaseException) -> Iterator[ast.AST]:
        """The places in the test that the error came through, the innermost last."""
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename == self._program:
                place = list(code.co_positions())[trace.tb_lasti // 2]
                node = next((node for node in ast.walk(self._tree) if _place_of(node) == place), None)
                if node is not None:
                    yield node
            trace = trace.tb_next

    def _is_closed(self, node: ast.AST) -> bool:
        """Whether it reads nothing but what Python and modules define: then no answer was part of it."""
        names = [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]
        bound = self._bound()
        return all(
            isinstance(self._namespace.get(name), types.ModuleType) or (hasattr(builtins, name) and name not in bound)
            for name in names
        )

    def _always_comes_to(self, nodes: list[ast.AST], kinds: tuple[type, ...] = _CONDITIONAL) -> bool:
        conditional = (outer for outer in ast.walk(self._tree) if isinstance(outer, kinds))
        inside = {id(inner) for outer in conditional for inner in ast.walk(outer)}
        return not any(id(node) in inside for node in nodes)

    def _bound(self) -> set[str]:
        """The names that the test itself binds somewhere; one of the program is bound too."""
        bound = set(self._names)
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                bound.add(node.id)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                bound.add(node.name)
            elif isinstance(node, ast.alias):
                bound.add((node.asname or node.name).partition(".")[0])
            elif isinstance(node, ast.ExceptHandler) and node.name:
                bound.add(node.name)
        return bound


def _place_of(node: ast.AST) -> tuple[int | None, int | None, int | None, int | None] | None:
    if not isinstance(node, ast.expr | ast.stmt):
        return None
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
