"""Which tests hold a source file: `make coverage` measures it once, `make test-for FILE=src/assay/…` looks it up.

A file is held by a test file that runs lines inside its functions, in the test's process or in one that it started;
what an import runs does not count. The map stays in build/coverage, outside of git. As a plugin of pytest
(`-p tests.coverage_map`) this module tells the measurement which test file is running.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "coverage"
MAP = FOLDER / "map.json"
SETTINGS = f"""\
[run]
source = {ROOT}/src/assay
data_file = {FOLDER}/data
parallel = true
sigterm = true
context = ${{TEST_FILE-}}
patch = subprocess, fork, _exit
disable_warnings = no-data-collected, module-not-measured, module-not-imported, already-imported, trace-changed
"""
SHOWN = 12


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Names the running test file to the measurement of this process, and to those of its children."""
    import coverage

    os.environ["TEST_FILE"] = name = str(item.path.relative_to(ROOT))
    if current := coverage.Coverage.current():
        current.switch_context(name)
    return (yield)


def measure(arguments: list[str]) -> int:
    """Runs the tests under coverage, and writes the map and the figure."""
    import coverage

    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("data*"):
        old.unlink()
    settings = FOLDER / "settings"
    settings.write_text(SETTINGS)
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest"]
    # measuring slows everything down and shows in what programs print of themselves: a failing test is no news here
    subprocess.run([*command, "-p", "tests.coverage_map", "--timeout=0", *arguments], cwd=ROOT)
    measured = coverage.Coverage(config_file=str(settings))
    measured.combine([str(path) for path in FOLDER.glob("data.*")])
    write_map(measured.get_data())
    print(f"coverage: {figure(json.loads(MAP.read_text()).values())}; `make test-for FILE=…` shows who holds a file")
    return 0


def write_map(data: Any) -> None:
    """Writes for every source file its lines in functions, how many of them ran, and how many in each test file."""
    held = {}
    for path in sorted((ROOT / "src" / "assay").rglob("*.py")):
        wanted = lines_in_functions(path.read_text(encoding="utf-8"))
        tests: Counter[str] = Counter()
        ran = set()
        for line, contexts in data.contexts_by_lineno(str(path)).items():
            if line in wanted:
                ran.add(line)
                # the context of a process and that of the test in it are joined by a bar
                tests.update({name for context in contexts for name in context.split("|") if name})
        held[str(path.relative_to(ROOT))] = {"lines": len(wanted), "ran": len(ran), "tests": dict(tests.most_common())}
    MAP.write_text(json.dumps(held, indent=1))


def lines_in_functions(text: str) -> set[int]:
    """The numbers of the lines on which a statement inside a function begins, docstrings aside."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    statements = [inner for function in functions for part in function.body for inner in ast.walk(part)]
    return {
        node.lineno
        for node in statements
        if isinstance(node, ast.stmt) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    }


def figure(files: Any) -> str:
    ran, lines = (sum(file[key] for file in files) for key in ("ran", "lines"))
    return f"{ran / max(lines, 1):.1%} of {lines} statements in functions"


def show(name: str) -> int:
    """Prints the test files that run most of a source file, and how to run them."""
    if not MAP.exists():
        print("there is no map yet: `make coverage` makes it, in about half an hour", file=sys.stderr)
        return 2
    held = json.loads(MAP.read_text())
    path = str(Path(name).resolve().relative_to(ROOT))
    if path not in held:
        print(
            f"{path} is not in the map: no source file, or newer than it (`make coverage` measures again)",
            file=sys.stderr,
        )
        return 2
    tests = held[path]["tests"]
    for test, lines in list(tests.items())[:SHOWN]:
        print(f"{lines:5}  {test}")
    if len(tests) > SHOWN:
        print(f"       and {len(tests) - SHOWN} more with fewer lines")
    print(f"{path}: {figure([held[path]])}; the program: {figure(held.values())}")
    print(f"{Path(sys.executable).relative_to(ROOT)} -m pytest {' '.join(list(tests)[:SHOWN])}")
    return 0


if __name__ == "__main__":
    sys.exit(measure(sys.argv[2:]) if sys.argv[1] == "measure" else show(sys.argv[1]))
