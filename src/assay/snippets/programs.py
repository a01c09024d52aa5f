"""Programs of a test file: JavaScript in a node process of its own, Python in the process that snippets run in.

They run only where the user wrote the file, or trusts it. What a program raises is a failure, never a score.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Failure, Stage
from assay.processes.child import Child, OnLine
from assay.processes.environment import child_environment
from assay.processes.service import EndedError, Service
from assay.snippets.process import TIME_LIMIT_SECONDS, Snippet

_WORKER = Path(__file__).with_name("javascript_worker.mjs")
_PYTHON = '''
import contextlib
import io
import json
import os
import runpy
import sys
import types
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader

_loaded = {}
_folders = []


class _FromSource(SourceFileLoader):
    """Takes no compiled file that came along: what was allowed is the source."""

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)


def _finder(path):
    if not any((path + os.sep).startswith(folder + os.sep) for folder in _folders):
        raise ImportError
    return FileFinder(path, (ExtensionFileLoader, EXTENSION_SUFFIXES), (_FromSource, [".py"]))


sys.path_hooks.insert(0, _finder)


def run(order):
    """The value of a function in a file, or of code whose lines are the body of one."""
    if order.get("file"):
        if not order.get("name"):
            return _script(order["file"], order["arguments"][0])
        function = _of_file(order["file"])
        for step in order["name"].split("."):
            function = function[step] if isinstance(function, dict) else getattr(function, step)
        return function(*order["arguments"])
    code = order["code"]
    body = "\\n".join("    " + line for line in code.split("\\n")) if "\\n" in code else "    return " + code.strip()
    names = {"json": json}
    exec(compile("def main(output, context):\\n" + body + "\\n", "<python assertion>", "exec"), names)
    return names["main"](*order["arguments"])


def _script(path, context):
    """The output of a script, which is given its context as JSON."""
    before, printed = sys.argv, io.StringIO()
    sys.argv = [path, json.dumps(context)]
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = before
    return printed.getvalue().rstrip("\\n")


def _of_file(path):
    path = os.path.abspath(path)
    if path not in _loaded:
        _folders.append(os.path.dirname(path))
        sys.path.insert(0, _folders[-1])
        sys.path_importer_cache.pop(_folders[-1], None)
        module = types.ModuleType("promptfoo_file_" + str(len(_loaded)))
        loader = _FromSource(module.__name__, path)
        module.__file__ = path
        exec(loader.get_code(module.__name__), vars(module))
        _loaded[path] = vars(module)
    return _loaded[path]
'''


_OF_A_PROGRAM = ("code", "file", "name", "parameters")


class Programs:
    """Runs what a test names, each language in its own process, started when first needed."""

    def __init__(self, part: str, context: BuildContext, *, stage: Stage = "scorer") -> None:
        self._part = part
        self._stage: Stage = stage
        self._allowed = context.own_code
        self._limit = context.timeout_seconds or TIME_LIMIT_SECONDS
        self._javascript: Service[dict[str, Any]] = Service(_start_node, _read_line)
        own = replace(context, loading=[])  # started when first needed
        self._python = Snippet(_PYTHON, function="run", stage=stage, part=part, context=own)

    async def run(self, program: Mapping[str, Any], *arguments: Any) -> Any:
        """What the program returns; `program` says its language and its `code`, or `file` and `name`.

        Code is the body of a function of `output` and `context`, unless it names other `parameters`.
        """
        if not self._allowed:
            raise self._failure("untrusted", "its programs lie outside this project; run with --trust to allow them")
        order: dict[str, Any] = {name: program[name] for name in _OF_A_PROGRAM if program.get(name) is not None}
        order["arguments"] = list(arguments)
        if program["language"] == "python":
            return await self._python.call({"value": order})
        return await self._in_node(order)

    async def _in_node(self, order: Mapping[str, Any]) -> Any:
        def line(number: int) -> bytes:
            return msgspec.json.encode({**order, "number": number}) + b"\n"

        try:
            answer = await self._javascript.ask(line, self._limit)
        except FileNotFoundError as error:
            raise self._failure("unsupported", "JavaScript needs `node`, which is not installed") from error
        except TimeoutError as error:
            raise self._failure("timeout", f"the JavaScript took longer than {self._limit:g} s") from error
        except (EndedError, asyncio.IncompleteReadError) as error:
            raise self._failure("exception", "node ended by itself") from error
        if "error" in answer:
            raise self._failure("exception", f"the JavaScript raised {answer['error']}")
        return answer["value"]

    async def aclose(self) -> None:
        await self._javascript.aclose()
        await self._python.aclose()

    def _failure(self, kind: str, message: str) -> FailureError:
        return FailureError(Failure(stage=self._stage, part=self._part, kind=kind, message=message))


def _start_node(on_line: OnLine) -> Child:
    node = shutil.which("node")
    if node is None:
        raise FileNotFoundError("node")
    return Child([node, str(_WORKER)], env=child_environment(), on_line=on_line, stderr="dropped")


def _read_line(_: Child, line: bytes) -> tuple[int, dict[str, Any]] | None:
    try:
        answer = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return None  # a program wrote to the pipe itself
    return (int(answer["number"]), answer) if "number" in answer else None
