"""The code_exec scorer: which shape a sample has, what its score says, and that the sandbox is shared and let go."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from assay import Example, run_leaderboard
from assay.core.errors import FailureError, UsageError
from assay.core.types import Sample, Score, Trace
from assay.pages.documents.more_tables import outcome_table
from assay.pages.markdown import markdown
from assay.scorers import code_exec as module
from assay.scorers.code_exec import code_exec
from assay.scorers.shared_sandbox import SharedSandboxes

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

DOUBLE = "def f(x):\n    return x * 2"


def score(prediction: str, sample: Sample, **options: Any) -> Score:
    async def use() -> Score:
        scorer = code_exec("code_exec", **options)
        try:
            return await scorer(sample, Trace(prediction=prediction))
        finally:
            await scorer.aclose()

    return asyncio.run(use())


@pytest.fixture(scope="module")
def shared_sandbox() -> Iterator[None]:
    """Keeps one sandbox for the tests that only run programs: to start one takes longer than a program does."""
    holder = code_exec("holder")
    holder.start_here()
    yield
    asyncio.run(holder.aclose())


def sample(targets: tuple[str, ...] = (), **extras: Any) -> Sample:
    return Sample(id="s1", targets=targets, extras=extras)


SHAPES = [
    (DOUBLE, sample(("f(2) == 4", "f(3) == 7")), {"shape": "expressions"}, 0.5, "wrong"),
    (DOUBLE, sample(("f(2) == 4",)), {}, 1.0, "pass"),
    (DOUBLE, sample(io_pairs=[[1, 2], [3, 6]]), {}, 1.0, "pass"),
    ("def g(a, b): return a + b", sample(io_pairs=[[[1, 2], 3]], function="g", star=True), {}, 1.0, "pass"),
    ("def f(x): return x / 3", sample(io_pairs=[[1, 0.333]], tolerance=0.01), {}, 1.0, "pass"),
    ("print(int(input()) + 1)", sample(("42",), stdout=True, stdin="41"), {}, 1.0, "pass"),
    ("print(input())", sample(("a", "c"), stdin=["a", "b"]), {}, 0.5, "wrong"),
    (DOUBLE, sample(tests=["assert f(1) == 2", "assert f(2) == 5"]), {}, 0.5, "wrong"),
    (
        "    return n",
        sample(tests="def check(c):\n    assert c(1) == 1", prelude="def g(n):\n", entry_point="g"),
        {},
        1.0,
        "pass",
    ),
    (
        f"Sure!\n```python\n{DOUBLE}\n```",
        sample(io_pairs=[[1, 2]]),
        {"post_process": "extract_code_block"},
        1.0,
        "pass",
    ),
    ("import os\ndef f(x): return x * 2", sample(io_pairs=[[1, 2]]), {}, 0.0, "wrong"),
    ("import os\ndef f(x): return x * 2", sample(io_pairs=[[1, 2]], imports="any"), {}, 1.0, "pass"),
    ("import os\ndef f(x): return x * 2", sample(io_pairs=[[1, 2]], imports=["os"]), {}, 1.0, "pass"),
    ("import os\ndef f(x): return x * 2", sample(io_pairs=[[1, 2]]), {"imports": "any"}, 1.0, "pass"),
    ("import os\ndef f(x): return x * 2", sample(io_pairs=[[1, 2]], imports=[]), {"imports": "any"}, 0.0, "wrong"),
    ("import os\ndef f(x): return x * 2", sample(("f(1) == 2",)), {"imports": ["os"]}, 1.0, "pass"),
    ("import os\nprint(1)", sample(("1",), stdout=True), {}, 0.0, "wrong"),
    ("import os\nprint(1)", sample(("1",), stdout=True, imports="any"), {}, 1.0, "pass"),
    ("import os\ndef f(x): return x * 2", sample(tests="assert f(1) == 2"), {}, 0.0, "wrong"),
    ("import os\ndef f(x): return x * 2", sample(tests="assert f(1) == 2", imports="any"), {}, 1.0, "pass"),
    (
        "def f(x): return x * 2",
        sample(tests="assert f(1) == 2", prelude="import os", imports=["threading"]),
        {},
        1.0,
        "pass",
    ),
    (
        "import os\ndef f(x): return os.listdir('/root')",
        sample(io_pairs=[[1, 2]], imports="any"),
        {},
        0.0,
        "runtime_error",
    ),
    ("I cannot help with that.", sample(io_pairs=[[1, 2]]), {}, 0.0, "syntax_error"),
]


@linux
@pytest.mark.parametrize(("prediction", "given", "options", "share", "outcome"), SHAPES, ids=range(len(SHAPES)))
@pytest.mark.usefixtures("shared_sandbox")
def test_the_score_is_the_share_that_holds(
    prediction: str, given: Sample, options: dict[str, Any], share: float, outcome: str
) -> None:
    found = score(prediction, given, **options)
    assert found.values == {"score": share, "outcome": outcome}
    assert found.metadata is not None
    assert found.metadata["tier"] in ("A", "B", "C")
    assert (found.reason is None) == (outcome == "pass")


@linux
@pytest.mark.usefixtures("shared_sandbox")
def test_the_answer_is_the_code_that_ran() -> None:
    found = score("```\ndef f(x): return 1\n```", sample(io_pairs=[[1, 1]]), post_process="extract_code_block")
    assert found.answer is not None
    assert found.answer.strip() == "def f(x): return 1"


@linux
@pytest.mark.usefixtures("shared_sandbox")
def test_only_so_many_checks_are_recorded() -> None:
    found = score("def f(x): return x", sample(io_pairs=[[n, n] for n in range(60)]))
    assert found.metadata is not None
    assert len(found.metadata["checks"]) == module.CHECKS_KEPT
    assert found.metadata["checks_omitted"] == 10


@linux
def test_scorers_share_a_sandbox_and_the_last_one_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = SharedSandboxes()
    monkeypatch.setattr(module, "SHARED", shared)

    async def use() -> None:
        one, other = code_exec("a"), code_exec("b")
        report = one.start_here()
        assert other.start_here() == report
        assert one._sandbox() is other._sandbox()
        await one.aclose()
        assert shared._sandboxes
        await other.aclose()
        await other.aclose()
        assert not shared._sandboxes

    asyncio.run(use())


BAD_OPTIONS = [
    {"post_process": "shout"},
    {"shape": "guess"},
    {"cpu_seconds": 0},
    {"memory_mb": 1},
    {"unsplittable": "maybe"},
    {"imports": "all"},
    {"imports": ["not a module"]},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
def test_bad_options_are_reported(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        code_exec("code_exec", **options)


@pytest.mark.parametrize(
    ("given", "shape", "words"),
    [
        (sample(), "io_pairs", "extras.io_pairs"),
        (sample(), "tests", "extras.tests"),
        (sample(io_pairs=[[1, 2, 3]]), "io_pairs", "s1"),
        (sample(io_pairs=[5]), "io_pairs", "s1"),
        (sample(io_pairs=[[1, 2]], imports="all"), "io_pairs", 'extras.imports: must be "any"'),
    ],
)
def test_a_sample_that_lacks_its_checks_is_a_failure(given: Sample, shape: str, words: str) -> None:
    with pytest.raises(FailureError, match=words):
        score("x = 1", given, shape=shape)


@linux
def test_a_host_that_cannot_confine_refuses_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_ALLOW_UNSANDBOXED", raising=False)
    scorer = code_exec("code_exec", min_tier="U")
    with pytest.raises(FailureError) as caught:
        scorer.start_here()
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("sandbox", "refused_here")
    with pytest.raises(FailureError, match="ASSAY_ALLOW_UNSANDBOXED"):
        asyncio.run(scorer(sample(("f(1) == 1",)), Trace(prediction="x = 1")))
    asyncio.run(scorer.aclose())


def test_of_the_minimum_tiers_of_run_and_task_the_stricter_one_holds() -> None:
    class Context:
        min_sandbox = "c"
        sandbox = None

    assert code_exec("k", context=Context())._wanted.min_tier == "C"
    assert code_exec("k", context=Context(), min_tier="A")._wanted.min_tier == "A"
    assert code_exec("k", context=Context(), min_tier="D")._wanted.min_tier == "C"
    assert code_exec("k", min_tier="A")._wanted.min_tier == "A"
    assert code_exec("k")._wanted.min_tier == "B"


@linux
def test_the_leaderboard_counts_how_code_ended() -> None:
    answers = {"right": "def f(x): return x + 1", "wrong": "def f(x): return x", "broken": "def f(x) return x"}

    class Coder:
        name = "coder"

        def generate(self, prompts: list[str]) -> list[str]:
            return [answers[prompt] for prompt in prompts]

    extras = {"io_pairs": [[1, 2], [3, 4]]}
    examples = [Example(id=key, prompt=key, targets=(), metric="code_exec", extras=extras) for key in answers]
    board = run_leaderboard({"code": examples}, Coder())
    assert board.tasks[0].outcomes == {"pass": 1, "syntax_error": 1, "wrong": 1}
    assert "| code    |    1 |            1 |     1 |" in str(markdown(outcome_table(board)))


NEEDS_NUMPY = "import numpy\ndef check(candidate):\n    assert numpy.isclose(candidate(1), 2)"
BROKEN = [
    sample(tests=NEEDS_NUMPY, entry_point="f"),
    sample(tests="def check(candidate):\n    assert candidate(1) == expectd", entry_point="f"),
    sample(tests="def check(candidate):\n    assert candidate(open('x').read()) == 2", entry_point="f"),
    sample(tests="def check(candidate):\n    x = 1 / 0\n    assert candidate(1) == 2", entry_point="f"),
    sample(tests=["assert f(1) == 2", "assert f([1][3]) == 2"]),
    sample(("f(1) == 2", "f([1][3]) == 2")),
    sample(io_pairs=[[1, 2]], prelude="import numpy\n"),
    sample(("2",), stdout=True, prelude="1 / 0\n"),
]


@linux
@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("code", ["def f(x): return 2", "def f(x): return None", "", "import sys; sys.exit(0)"])
@pytest.mark.usefixtures("shared_sandbox")
def test_a_test_that_cannot_run_is_a_failure_whatever_the_program_does(broken: Sample, code: str) -> None:
    with pytest.raises(FailureError) as caught:
        score(code, broken)
    failure = caught.value.failure
    assert (failure.stage, failure.kind, failure.retryable) == ("sandbox", "broken_test", False)


@linux
@pytest.mark.usefixtures("shared_sandbox")
def test_a_test_that_every_program_passes_is_a_failure() -> None:
    tests = "def check(candidate):\n    try:\n        assert candidate(1) == 2\n    except Exception:\n        pass"
    with pytest.raises(FailureError) as caught:
        score(DOUBLE, sample(tests=tests, entry_point="f"))
    assert caught.value.failure.kind == "test_proves_nothing"


SPOILERS = {
    "raises what a broken test raises": "def f(x): raise ModuleNotFoundError(\"No module named 'numpy'\")",
    "raises a name error": "def f(x): return expected",
    "raises when it is loaded": "import numpy",
    "a name error from a method": "class R:\n    def __len__(s): raise NameError('expected')\ndef f(x): return R()",
    "an import error from a method": "class R:\n    def __iter__(s): raise ImportError('math')\ndef f(x): return R()",
    "an error for every attribute": "class R:\n    def __getattr__(s, n): raise ImportError(n)\ndef f(x): return R()",
    "nothing where something is needed": "def f(x): return None",
    "removes the names of the test": (
        "import sys\nfor name in list(sys.modules):\n    sys.modules.pop(name, None)\ndef f(x): return [0]"
    ),
    "says that the test is broken": (
        "import sys\nF = sys.modules['_assay_inside.frames']\nsend = F.send\n"
        "F.send = lambda m: send({'op': 'broken', 'message': 'the test'})\ndef f(x): return [0]"
    ),
    "replies that nothing was used": (
        "import sys\nF = sys.modules['_assay_inside.frames']\nsend = F.send\n"
        "F.send = lambda m: send({**m, 'used': False, 'outcome': 'wrong'})\ndef f(x): return [0]"
    ),
    "is not there": "",
    "exits": "import sys\nsys.exit(0)",
}


@linux
@pytest.mark.parametrize("name", SPOILERS)
@pytest.mark.usefixtures("shared_sandbox")
def test_no_program_makes_its_own_wrong_answer_a_broken_test(name: str) -> None:
    tests = "import math\ndef check(candidate):\n    r = candidate(1)\n    assert len(r) == 2\n"
    tests += "    assert [math.floor(x) for x in r] == [1, 2]\n    assert r.index(2) == 1"
    result = score(SPOILERS[name], sample(tests=tests, entry_point="f", imports="any"))
    assert result.values["score"] == 0.0
    assert result.values["outcome"] in ("wrong", "runtime_error", "violation", "crash")


@pytest.mark.parametrize(
    ("prompt", "fails"), [("Write `foo(x)`.", True), ("Write `foo` and fooo.", False), ("", False)]
)
@pytest.mark.usefixtures("shared_sandbox")
def test_a_test_that_misspells_the_function_of_its_prompt_is_a_failure(prompt: str, fails: bool) -> None:
    given = Sample(id="1", prompt=prompt, targets=("fooo(1) == 1",))
    if not fails:
        assert score("def foo(x): return 1", given).values["outcome"] != "pass"
        return
    with pytest.raises(FailureError, match="uses `fooo`, and the prompt asks for `foo`"):
        score("def foo(x): return 1", given)


UNASKED = {
    "a call": "f_one(1) == wanted(1)",
    "around the answer": "sortd([f_one(1)]) == [2]",
    "behind `and`": "f_one(1) == 2 and wanted > 3",
    "behind `or`": "f_one(1) == 3 or wanted",
}


@pytest.mark.parametrize("target", UNASKED.values(), ids=UNASKED)
@pytest.mark.usefixtures("shared_sandbox")
def test_a_name_that_neither_test_nor_prompt_has_is_a_failure_beside_one_that_it_has(target: str) -> None:
    given = Sample(id="1", prompt="Write a function `f_one(x)` that adds 1.", targets=(target,))
    with pytest.raises(FailureError, match="which neither the test nor the prompt has, beside `f_one`"):
        score("def f_one(x): return x + 1", given)


@linux
@pytest.mark.parametrize(
    ("prompt", "target"),
    [
        ("Write a function that adds 1.", "f_one(1) == helper(1)"),
        ("Write `f_one(x)` and a helper.", "f_one(1) == helper(1)"),
        ("Write `f_one(x)`.", "f_one(1) == 2"),
        ("Write `f_one(x)`.", "f_one(1) == Helper(1)"),
    ],
    ids=["no name is in the prompt", "every name is in the prompt", "only what the prompt asks for", "a class"],
)
@pytest.mark.usefixtures("shared_sandbox")
def test_names_that_the_prompt_has_or_does_not_decide_about_are_the_programs(prompt: str, target: str) -> None:
    given = Sample(id="1", prompt=prompt, targets=(target,))
    assert score("def f_one(x): return x + 1\nhelper = Helper = f_one", given).values["outcome"] == "pass"


@linux
@pytest.mark.usefixtures("shared_sandbox")
def test_what_a_star_import_of_the_test_defines_is_not_a_missing_name() -> None:
    given = Sample(
        id="1",
        prompt="Write `f_one(x)`.",
        targets=(),
        extras={"tests": "from math import *\nassert f_one(1) == sqrt(4)"},
    )
    assert score("def f_one(x): return x + 1", given).values["outcome"] == "pass"


@linux
@pytest.mark.usefixtures("shared_sandbox")
def test_a_name_that_the_reference_solution_defines_is_the_programs() -> None:
    solution = "def f_one(x): return x + 1\ndef helper(x): return x + 1"
    given = Sample(
        id="1", prompt="Write `f_one(x)`.", targets=("f_one(1) == helper(1)",), extras={"solution": solution}
    )
    assert score(solution, given).values["outcome"] == "pass"
