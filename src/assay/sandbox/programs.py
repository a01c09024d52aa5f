"""The kinds of programs, their limits, and the outcome."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from msgspec import Struct

OutcomeName = Literal[
    "pass",
    "syntax_error",
    "violation",
    "crash",
    "memory",
    "timeout",
    "output_limit",
    "runtime_error",
    "wrong",
]
"""After `pass` from the gravest on: when checks differ, the outcome of the whole is the first that occurred."""
Grade = Literal["strong", "weak"]
BROKEN_TEST = "broken_test"
"""The failure kind of a test that cannot run, whatever the candidate does."""


class Limits(Struct, frozen=True, kw_only=True):
    """How much one program may use before it is ended."""

    cpu_seconds: float = 4.0
    """CPU time of the candidate. The verdict depends on this one, so that a busy machine changes no score."""
    memory_mb: int = 512
    """Address space of the candidate's process."""
    output_bytes: int = 1 << 20
    """For standard output and standard error, each."""
    wall_seconds: float | None = None
    """A guard against sleeping; None: four times the CPU time, and a second."""
    calls: int = 20_000
    """How often a test may call into the candidate."""

    def wall(self) -> float:
        return self.wall_seconds if self.wall_seconds is not None else 4 * self.cpu_seconds + 1


Imports = tuple[str, ...] | None
"""Modules that a program may import, apart from the pure ones of `inside/imports.py`; None: any. It stays confined."""


ANY_IMPORT = "any"
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def read_imports(value: object) -> Imports:
    """The `imports` of a task: `any`, or modules, apart from the pure ones; `ValueError` with a message otherwise."""
    if value == ANY_IMPORT:
        return None
    if not isinstance(value, list | tuple):
        raise ValueError('must be "any" or a list of module names such as ["threading"]')
    for name in value:
        if not isinstance(name, str) or not _MODULE.fullmatch(name):
            raise ValueError(f'has {str(name)[:60]!r}, which is not a module name; write "any" or names like "os.path"')
    return tuple(value)


class Expressions(Struct, frozen=True, kw_only=True, tag=True):
    """Code, and Python expressions over its names that should be true; each expression is a check."""

    code: str
    targets: tuple[str, ...]
    prelude: str = ""
    imports: Imports = None


class IoPairs(Struct, frozen=True, kw_only=True, tag=True):
    """A function, and (input, expected output) pairs; each pair is a check."""

    code: str
    pairs: tuple[tuple[Any, Any], ...]
    function: str = "f"
    star: bool = False
    """Call `f(*input)` instead of `f(input)`."""
    tolerance: float | None = None
    """Floats may differ by this much, relative or absolute; None: they must be equal."""
    strict: bool = False
    """Distinguish tuples from lists. Off by default: pairs come from JSON, which has no tuples."""
    imports: Imports = None


class Stdout(Struct, frozen=True, kw_only=True, tag=True):
    """A whole program, judged by what it prints.

    Trailing whitespace of every line and trailing newlines of the whole are ignored; everything else counts.
    With one input the expected outputs are alternatives; with a tuple of inputs each has its own and is a check.
    """

    code: str
    expected: tuple[str, ...]
    stdin: str | tuple[str, ...] = ""
    imports: Imports = None
    lenient: bool = False
    """Ignore blanks around lines, blank lines around the whole, and how a number is written (2 and 2.0)."""
    all_or_nothing: bool = False
    """Stop at the first wrong output: the inputs after it are not tried."""


class TestProgram(Struct, frozen=True, kw_only=True, tag=True):
    """Code, and a test program with assertions, as in HumanEval and MBPP.

    Tests that consist of imports and top-level assertions are separable: each assertion is a check. Any other test
    is one check, all or nothing. Tests that define `check` and never call it get it called with the first entry point.
    """

    __test__ = False  # pytest must not collect it

    code: str
    tests: str
    prelude: str = ""
    """Runs before the candidate's code (so that a bare continuation of it works), and before the tests in the verifier
    (so that the helpers there are the dataset's own)."""
    entry_points: tuple[str, ...] = ()
    """The candidate's names that the tests use; read from the tests when empty."""
    unsplittable: Literal["refuse", "weak"] = "refuse"
    """What to do with tests that cannot be separated from the candidate: refuse them, or run them in its process,
    where the result can be forged, and grade the outcome weak."""
    imports: Imports = None


Program = Expressions | IoPairs | Stdout | TestProgram


class Check(Struct, frozen=True, kw_only=True):
    """One thing that should hold, and whether it does."""

    label: str
    outcome: OutcomeName
    detail: str = ""


class Outcome(Struct, frozen=True, kw_only=True):
    """The outcome of one program. All its text comes from the program: capped and cleaned, but untrusted."""

    outcome: OutcomeName
    checks: tuple[Check, ...]
    share: float
    """The share of checks that hold."""
    stdout: str = ""
    stderr: str = ""
    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    grade: Grade = "strong"
    """`weak` when the verdict depends on something that the candidate could have forged."""
    tier: str = ""
    """The sandbox tier it ran under."""


def summarize(checks: tuple[Check, ...]) -> tuple[OutcomeName, float]:
    """The outcome of the whole, and the share of its checks that hold."""
    seen = {check.outcome for check in checks}
    share = sum(check.outcome == "pass" for check in checks) / len(checks)
    if seen == {"pass"}:
        return "pass", 1.0
    return next(name for name in get_args(OutcomeName)[1:] if name in seen), share
