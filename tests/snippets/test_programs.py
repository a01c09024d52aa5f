"""Programs: in processes of their own, with leave, in bounded time."""

from __future__ import annotations

import asyncio
import shutil
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
