"""Prompts that programs make."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.seams import BuildContext
from assay.core.types import Sample, Trace
from assay.models.adapters.stub import EchoModel
from assay.solvers.prompt_template import PromptProgram, prompt_template


@pytest.mark.parametrize(
    ("code", "name", "asked"),
    [
        ("def make(context):\n    return 'say {{w}} ' + context['vars']['w']\n", "make", "say x x"),
        ("class P:\n    def make(context):\n        return [{'role': 'user', 'content': 'x'}]\n", "P.make", "x"),
        ("import json, sys\nprint(json.loads(sys.argv[1])['vars']['w'] * 3)\n", None, "xxx"),
    ],
)
def test_a_function_or_a_script_makes_the_prompt(tmp_path: Path, code: str, name: str | None, asked: str) -> None:
    (tmp_path / "p.py").write_text(code)
    program = {"language": "python", "file": str(tmp_path / "p.py"), **({"name": name} if name else {})}

    async def answer() -> Trace:
        solver = prompt_template(program=program, python_snippet="p.py", context=BuildContext(own_code=True))
        assert isinstance(solver, PromptProgram)
        try:
            return await solver(Sample(id="1", row={"w": "x"}), EchoModel())
        finally:
            await solver.aclose()

    assert asyncio.run(answer()).prediction == asked


def test_a_program_must_be_named_as_one() -> None:
    with pytest.raises(UsageError, match="python_snippet"):
        prompt_template(program={"language": "python", "file": "p.py"})
