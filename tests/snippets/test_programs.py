"""Programs: in processes of their own, with leave, in bounded time."""

from __future__ import annotations

import asyncio
import importlib.util
import py_compile
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.snippets.programs import Programs

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="JavaScript needs node")


def run(program: dict[str, Any], *arguments: Any, **context: Any) -> Any:
    async def result() -> Any:
        programs = Programs("p", BuildContext(**{"own_code": True, **context}))
        try:
            return await programs.run(program, *arguments)
        finally:
            await programs.aclose()

    return asyncio.run(result())


@needs_node
@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("output + context.n", "x1"),
        ("const a = ';'; a + output", ";x"),
        ("let b = output\nreturn b + '!'", "x!"),
        ("Promise.resolve(output)", "x"),
        ("console.log('noise') || 3", 3),
        ("undefined", None),
    ],
)
def test_javascript_gives_its_value(code: str, value: Any) -> None:
    assert run({"language": "javascript", "code": code}, "x", {"n": 1}) == value


@needs_node
def test_endless_javascript_is_killed() -> None:
    with pytest.raises(FailureError) as late:
        run({"language": "javascript", "code": "while (true) {}\nreturn 1"}, "x", {}, timeout_seconds=0.5)
    assert late.value.failure.kind == "timeout"


@pytest.mark.parametrize("language", ["javascript", "python"])
def test_nothing_runs_without_leave(language: str) -> None:
    with pytest.raises(FailureError) as refused:
        run({"language": language, "code": "1"}, "x", {}, own_code=False)
    assert refused.value.failure.kind == "untrusted"


@needs_node
def test_a_program_sees_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert run({"language": "javascript", "code": "process.env.OPENAI_API_KEY ?? 'none'"}, "x", {}) == "none"


def test_no_compiled_file_that_came_along_is_run(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "main.py").write_text(
        "import near\nfrom far import off\nWHO = 'source'\ndef f(*_): return [WHO, near.WHO, off.WHO]\n"
    )
    (tmp_path / "near.py").write_text("WHO = 'source'\n")
    (tmp_path / "far" / "off.py").write_text("WHO = 'source'\n")
    lie = tmp_path / "lie.txt"
    lie.write_text("WHO = 'compiled'\ndef f(*_): return ['compiled']\n")
    for source in ("main.py", "near.py", "far/off.py"):
        cached = importlib.util.cache_from_source(str(tmp_path / source))
        py_compile.compile(str(lie), cached, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    program = {"language": "python", "file": str(tmp_path / "main.py"), "name": "f"}
    assert run(program, "x", {}) == ["source", "source", "source"]
