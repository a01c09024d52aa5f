"""Real benchmarks through the split verifier: every reference solution passes, no stub does."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from assay.sandbox import Limits, Outcome, Rehearsal, Sandbox, TestProgram

DATA = Path(os.environ.get("ASSAY_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
LIMITS = Limits(cpu_seconds=10)

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only"),
    pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not here"),
]

Problem = tuple[str, TestProgram, str]
"""Name, the program with its reference solution, and a stub that returns None."""


def human_eval() -> Iterator[Problem]:
    with gzip.open(DATA / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            program = TestProgram(
                code=row["canonical_solution"],
                prelude=row["prompt"],
                tests=row["test"],
                entry_points=(row["entry_point"],),
            )
            yield row["task_id"], program, "    return None\n"


def mbpp() -> Iterator[Problem]:
    for row in json.loads((DATA / "mbpp" / "sanitized-mbpp.json").read_text(encoding="utf-8")):
        defined = re.findall(r"^(?:def|class) (\w+)", row["code"], flags=re.MULTILINE)
        stub = "\n".join(f"def {name}(*a, **k): return None" for name in defined)
        yield (
            str(row["task_id"]),
            TestProgram(code=row["code"], tests="\n".join(row["test_imports"] + row["test_list"])),
            stub,
        )


def full_mbpp() -> Iterator[Problem]:
    for line in (DATA / "mbpp" / "mbpp.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        tests = "\n".join([row["test_setup_code"], *row["test_list"]])
        yield str(row["task_id"]), TestProgram(code=row["code"], tests=tests), ""


def run_all(programs: Sequence[TestProgram]) -> list[Outcome]:
    async def use() -> list[Outcome]:
        async with Sandbox() as sandbox:
            return await asyncio.gather(*[sandbox.run(program, LIMITS) for program in programs])

    return asyncio.run(use())


Problems = Callable[[], Iterator[Problem]]
EVERY = 6
"""The suite runs one problem in so many, `make prove` all of them."""


@pytest.mark.parametrize("problems", [human_eval, mbpp])
def test_some_references_pass_and_their_stubs_do_not(problems: Problems) -> None:
    of_references_and_stubs(list(problems())[::EVERY])


@pytest.mark.prove
@pytest.mark.parametrize(("problems", "count", "kept"), [(human_eval, 164, (0, 0)), (mbpp, 427, (19, 14))])
def test_references_pass_and_stubs_do_not(problems: Problems, count: int, kept: tuple[int, int]) -> None:
    listed = list(problems())
    assert len(listed) == count
    of_stubs = of_references_and_stubs(listed)
    passed = [check for out in of_stubs for check in out.checks if check.outcome == "pass"]
    assert (len(passed), sum(out.share > 0 for out in of_stubs)) == kept  # `assert f(x) == None`


def of_references_and_stubs(listed: Sequence[Problem]) -> Sequence[Outcome]:
    """What became of the stubs, after a look at whether every reference passes and no stub does."""
    stubs = [
        TestProgram(code=stub, prelude=program.prelude, tests=program.tests, entry_points=program.entry_points)
        for _, program, stub in listed
    ]
    outcomes = run_all([program for _, program, _ in listed] + stubs)
    failed = [(name, out.checks) for (name, _, _), out in zip(listed, outcomes, strict=False) if out.outcome != "pass"]
    of_stubs = outcomes[len(listed) :]
    forged = [name for (name, _, _), out in zip(listed, of_stubs, strict=True) if out.outcome == "pass"]
    assert failed == []
    assert forged == []
    return of_stubs


@pytest.mark.parametrize(("problems", "count"), [(human_eval, 164), (mbpp, 427), (full_mbpp, 974)])
def test_no_published_test_is_broken_or_proves_nothing(problems: Problems, count: int) -> None:
    listed = list(problems())
    assert len(listed) == count

    async def use() -> list[Rehearsal]:
        async with Sandbox() as sandbox:
            bare = [msgspec.structs.replace(program, code="") for _, program, _ in listed]
            return await asyncio.gather(*[sandbox.rehearse(program, LIMITS) for program in bare])

    found = zip(listed, asyncio.run(use()), strict=True)
    assert [(name, rehearsal) for (name, _, _), rehearsal in found if rehearsal.problem] == []
