"""`import assay` gives the same names to programs, type checkers and editors."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parents[1]


def test_type_checkers_see_the_names_that_programs_get() -> None:
    tree = ast.parse(Path(assay.__file__).read_text(encoding="utf-8"))
    [checked] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.asname: each.module for each in checked.body if isinstance(each, ast.ImportFrom) for alias in each.names
    }
    assert seen == assay._HOME


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_refuses_wrong_arguments_and_unknown_names(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from assay import Example, Nothing, evaluate\n"
        "Example(id='a', prompt='p', targets=('x',), metric='contains')\n"
        "Example(id=3, nonsense=True)\n"
        "evaluate('tasks', temperature=0.5, concurrency=None, stop=('x',))\n"
        "evaluate('tasks', nonsense=1)\n"
        "evaluate('tasks', temperature='hot')\n"
    )
    # from the root and by the same paths: what `make lint` has just checked is not checked again
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": "src"},
        capture_output=True,
        text=True,
    )
    said = [line.partition("program.py:")[2] for line in done.stdout.splitlines() if " error: " in line]
    assert sorted({line.partition(":")[0] for line in said}) == ["1", "3", "5", "6"], done.stdout + done.stderr
    assert 'Module "assay" has no attribute "Nothing"' in said[0]
    assert 'Unexpected keyword argument "nonsense" for "Example"' in "".join(said)
    assert 'Argument "id" to "Example" has incompatible type "int"' in "".join(said)
    assert 'Unexpected keyword argument "nonsense" for overloaded function "evaluate"' in "".join(said)
    assert 'No overload variant of "evaluate" matches argument types' in said[-1]
