"""The verifier's side: run the dataset's tests, with handles in place of the candidate's objects.

No candidate code ever runs in this process. Tests are rewritten where Python would ask a handle about itself and the
test means the candidate's object. Whatever the candidate sends, this process reports a verdict for every check:
breaking it must not be a way to escape judgement.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from . import frames, imports
from .agreeing import AgreeingRun, is_instance
from .candidate import last_line_in
from .handles import (
    CLASSES,
    CLOSED,
    EXCEPTIONS,
    NOT_ASKED,
    OWN,
    CandidateError,
    CannotTravelError,
    Handle,
    ask,
    incoming,
    own_exception,
)

Compile = Callable[[str, str, str], types.CodeType]
PROGRAM = "<tests>"


def serve() -> None:
    """Receive the tests, run them, and exit."""
    conduct(frames.receive())
    os._exit(0)


def conduct(request: dict[str, Any]) -> None:
    """Bind the candidate's names, run the checks in order, and report the result of each."""
    namespace = new_namespace()
    compiled = compile_with_identities if request["identities"] else compile_plainly
    unit = "expression" if request["mode"] == "expression" else "line"
    if lacking := first_lacking(request["needs"], unit):
        frames.send({"op": "broken", "message": lacking})
        return
    try:
        exec(compiled(request["prelude"], "<prelude>", "exec"), namespace)  # noqa: S102 -- dataset code
    except BaseException as error:
        frames.send({"op": "broken", "message": f"the prelude does not run: {message_of(error)}"})
        return
    if undefined := first_undefined(request["needs"], namespace, unit):
        frames.send({"op": "broken", "message": undefined})
        return
    if request["agreeing"]:
        conduct_agreeing(request, namespace)
        return
    trouble = trouble_with_names(request["names"], namespace)
    for index, source in enumerate(request["checks"]):
        OWN.clear()
        verdict = trouble or run_check(source, request["mode"], namespace, compiled)
        noted = {"own": OWN.reason, "operator": OWN.operator, "used": OWN.used}
        frames.send({"op": "verdict", "check": index, **verdict, **noted})
    frames.send({"op": "done"})


def conduct_agreeing(request: dict[str, Any], namespace: dict[str, Any]) -> None:
    """Run the checks without any candidate, and report where they break for every program that answers right."""
    namespace["__builtins__"]["isinstance"] = is_instance
    for index, source in enumerate(request["checks"]):
        check = AgreeingRun(source, request["mode"], PROGRAM, request["names"], namespace)
        check.run()
        report = {"outcome": "pass", "detail": ""} if check.fault is None else explain(check.fault, source)
        frames.send({"op": "verdict", "check": index, **report})
    frames.send({"op": "done"})


def first_lacking(needs: dict[str, Any] | None, unit: str) -> str:
    """The first module or file that the test needs and that is not here; looked for before any real candidate."""
    lacking: list[tuple[int, str]] = []
    for line, source in needs["imports"] if needs else ():
        try:
            exec(source, {})  # noqa: S102 -- dataset code, which the test would run itself
        except BaseException as error:
            lacking.append((line, f"{source}: {message_of(error)}"))
    for line, path in needs["files"] if needs else ():
        if not os.path.exists(path):
            lacking.append((line, f"the file {path!r} is not in the sandbox, which has no files"))
    return f"{unit} {min(lacking)[0]}: {min(lacking)[1]}" if lacking else ""


def first_undefined(needs: dict[str, Any] | None, namespace: dict[str, Any], unit: str) -> str:
    """The first name that the test reads and that neither it nor the prelude nor the candidate defines."""
    for line, name in needs["names"] if needs else ():
        if name not in namespace:
            return f"{unit} {line}: the name `{name}` is defined neither by the tests nor before them"
    return ""


def new_namespace() -> dict[str, Any]:
    module = types.ModuleType("tests")
    sys.modules["tests"] = module
    namespace = module.__dict__
    own = {"callable": is_callable, "hasattr": has_attribute, "id": identity}
    namespace.update(__builtins__={**vars(builtins), **own})
    namespace[SAME_OBJECT], namespace[TYPE_OF] = same_object, type_of
    return namespace


def is_callable(value: Any) -> bool:
    """The test's `callable`, which proves nothing about an object of the candidate."""
    OWN.used |= isinstance(value, Handle)
    if isinstance(value, Handle) and not value._is_name:
        OWN.note_weak("checks whether an object of the candidate is callable")
    return callable(value)


def has_attribute(value: Any, name: str) -> bool:
    """The test's `hasattr`: the candidate may claim any attribute."""
    if isinstance(value, Handle):
        OWN.note_weak("checks which attributes an object of the candidate has")
    return hasattr(value, name)


def identity(value: Any) -> int:
    """The test's `id`, which uses the same numbers as `is`."""
    OWN.used |= isinstance(value, Handle)
    return -1 - int(value._number) if isinstance(value, Handle) else id(value)


SAME_OBJECT, TYPE_OF = "__assay_same_object__", "__assay_type_of__"


def same_object(left: Any, right: Any) -> bool:
    """The test's `is`: the one comparison that uses the candidate's own numbering of its objects."""
    OWN.used |= isinstance(left, Handle) or isinstance(right, Handle)
    if isinstance(left, Handle) and isinstance(right, Handle):
        return bool(left._number == right._number)
    if Handle is left or Handle is right:
        OWN.note_weak(NOT_ASKED)
    return left is right


def type_of(meant: Any) -> Any:
    """The test's `type`: Python's own, which notes when it is called on a handle, because all handles have one type."""
    if meant is not type:
        return meant

    def kind(*args: Any, **kwargs: Any) -> Any:
        if isinstance(args[0] if args else None, Handle):
            OWN.note_weak(NOT_ASKED)
        return type(*args, **kwargs)

    return kind


class Identities(ast.NodeTransformer):
    """Two answers with the same object are two handles here: `a is b` has to compare the objects they stand for."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Is | ast.IsNot):
            return node
        call = ast.Call(ast.Name(SAME_OBJECT, ast.Load()), [node.left, node.comparators[0]], [])
        return call if isinstance(node.ops[0], ast.Is) else ast.UnaryOp(ast.Not(), call)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """In `type(a) in [type(b)]` the comparison cannot be noted, but asking for the type can."""
        self.generic_visit(node)
        if is_type(node.func):
            node.func = noted(node.func)
        elif not isinstance(node.func, ast.Name) or node.func.id not in ("isinstance", "issubclass"):
            node.args = [noted(argument) if is_type(argument) else argument for argument in node.args]
            for keyword in node.keywords:
                keyword.value = noted(keyword.value) if is_type(keyword.value) else keyword.value
        return node


def noted(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(TYPE_OF, ast.Load()), [node], [])


def is_type(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "type"


def compile_plainly(source: str, name: str, mode: str) -> types.CodeType:
    code: types.CodeType = compile(source, name, mode, dont_inherit=True)
    return code


def compile_with_identities(source: str, name: str, mode: str) -> types.CodeType:
    tree = ast.fix_missing_locations(Identities().visit(ast.parse(source, name, mode)))
    code: types.CodeType = compile(tree, name, mode, dont_inherit=True)
    return code


def trouble_with_names(names: list[str], namespace: dict[str, Any]) -> dict[str, Any] | None:
    """Bind the names; return a verdict for every check if they cannot be bound to what the candidate sent."""
    try:
        bind_names(names, namespace)
    except BaseException as error:
        return {"outcome": "runtime_error", "detail": f"its names cannot be used: {message_of(error)}"}
    return None


def bind_names(names: list[str], namespace: dict[str, Any]) -> None:
    reply = ask({"op": "names", "args": names}) if names else {"values": []}
    for name, entry in zip(names, reply["values"], strict=True):
        if entry.get("missing"):
            namespace.pop(name, None)
            continue
        namespace[name] = incoming(entry["tree"])
        if isinstance(namespace[name], Handle):
            object.__setattr__(namespace[name], "_is_name", True)
        if "exception" in entry:
            EXCEPTIONS[name] = namespace[name] = own_exception(name, entry["exception"])
            CLASSES[EXCEPTIONS[name]] = entry["tree"]


def run_check(source: str, mode: str, namespace: dict[str, Any], compiled: Compile) -> dict[str, Any]:
    try:
        if mode == "expression":
            held = bool(eval(compiled(source, PROGRAM, "eval"), namespace))  # noqa: S307 -- dataset code
        else:
            exec(compiled(source, PROGRAM, "exec"), namespace)  # noqa: S102 -- dataset code
            held = True
    except CannotTravelError as error:
        return {"outcome": "unsupported", "detail": str(error)}
    except BaseException as error:
        return explain(error, source)
    return {"outcome": "pass" if held else "wrong", "detail": "" if held else "the expression is not true"}


def explain(error: BaseException, source: str) -> dict[str, Any]:
    outcome = "runtime_error" if _from_candidate(error) else "wrong"
    message = "" if isinstance(error, AssertionError) and not error.args else message_of(error)
    if isinstance(error, ImportError) and imports.REFUSAL in message:
        outcome = "wrong"
    if outcome == "runtime_error" and isinstance(error, MemoryError):
        outcome = "memory"
    line = last_line_in(PROGRAM, error)
    where = f"line {line}: {_source_line(source, line)}: " if line else ""
    return {"outcome": outcome, "detail": (where + message)[:500]}


def message_of(error: BaseException) -> str:
    """The error's message. It may contain the candidate's objects: they are named, without calling the candidate."""
    CLOSED.append("the candidate is not asked what its objects look like")
    try:
        return f"{type(error).__name__}: {error}"[:1_000]
    except BaseException:
        return f"{type(error).__name__}, whose message cannot be read"
    finally:
        CLOSED.clear()


def _from_candidate(error: BaseException) -> bool:
    return isinstance(error, CandidateError) or bool(getattr(error, "__dict__", {}).get("from_candidate"))


def _source_line(source: str, line: int) -> str:
    lines = source.splitlines()
    return lines[line - 1].strip()[:120] if line <= len(lines) else ""
