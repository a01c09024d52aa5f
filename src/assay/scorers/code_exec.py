"""Model-written code, scored by running it in the sandbox: the score is the share of checks that hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Annotated, Any, Literal

import msgspec

from assay import catalog
from assay.core.describe import ScorerInfo, Value, describes, mean_of, share
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext, Scorer
from assay.core.task import REFUSED_HERE
from assay.core.types import Failure, Sample, Score, Trace
from assay.metrics.post_process import nothing_extracted
from assay.part_options import Doc, InFiles, TemplateOption, Words, part
from assay.sandbox import (
    Expressions,
    Imports,
    IoPairs,
    Limits,
    Outcome,
    Program,
    SandboxRefusedError,
    SandboxReport,
    Stdout,
    TestProgram,
    read_imports,
)
from assay.sandbox.asked_for import undefined_name
from assay.sandbox.judge import plan_of
from assay.sandbox.programs import BROKEN_TEST
from assay.sandbox.seam import RunsPrograms
from assay.scorers.judging.rehearsed import TestProblem
from assay.scorers.over_row import LookedAt, over_row
from assay.scorers.shared_sandbox import SHARED, WantedSandbox, wanted_sandbox

MAX_CPU_SECONDS = 3600
SHAPES = ("expressions", "io_pairs", "stdout", "tests")
_SHAPE_OF = {"tests": "tests", "io_pairs": "io_pairs", "targets": "expressions", "target": "stdout"}
"""The shape of a program's checks by the template that gives them."""
CHECKS_KEPT = 50
"""Checks of one program that are written to the journal; the others count in the share only."""


class CodeExec:
    """Runs the prediction against its sample's checks; scores `score` (the share that hold) and `outcome` (a word)."""

    def __init__(
        self,
        name: str,
        *,
        rule: str,
        shape: str | None,
        wanted: WantedSandbox,
        limits: Limits,
        unsplittable: Literal["refuse", "weak"],
        all_or_nothing: bool = False,
        imports: Imports = (),
        star: bool = False,
    ) -> None:
        self.name = name
        self._star = star
        self._all_or_nothing = all_or_nothing
        self._rule = rule
        self._shape = shape
        self._wanted = wanted
        self._limits = limits
        self._unsplittable = unsplittable
        self._imports = imports
        self._holds_sandbox = False
        self._problems: dict[str, TestProblem | None] = {}
        """What is wrong with the tests seen so far, by their content; None: nothing."""
        self._all_rehearsed = False

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        code = catalog.resolve("post_process", self._rule)(trace.prediction)
        code = code.encode("utf-8", "backslashreplace").decode()  # a lone surrogate would break the journal
        program = self._program(code, sample)
        problem = await self.rehearse_test(sample)
        if problem is not None and problem.refused:
            raise FailureError(
                Failure(stage="sandbox", part=self.name, kind=problem.problem, message=f"the test: {problem.detail}")
            )
        try:
            outcome = await self._sandbox().run(program, self._limits_of(sample))
        except SandboxRefusedError as error:
            raise self._refused(error) from None
        return Score(
            name=self.name,
            values={"score": self._score(outcome), "outcome": outcome.outcome},
            answer=code,
            extracted=not nothing_extracted(trace.prediction, self._rule, code),
            reason=_reason(outcome),
            metadata=_metadata(outcome),
        )

    async def rehearse_test(self, sample: Sample) -> TestProblem | None:
        """Try the test on made-up programs, once: whether it can judge is never decided by an answer."""
        if self._all_rehearsed and not self._problems:
            return None
        program, limits = self._program("", sample), self._limits_of(sample)
        test = blake2b(
            repr((program, limits, sample.prompt, sample.extras.get("solution"))).encode("utf-8", "surrogatepass"),
            digest_size=16,
        ).hexdigest()
        if test not in self._problems and not self._all_rehearsed:
            found = await self._rehearse(program, limits, test)
            if not (found and found.refused) and (detail := _undefined(program, sample)):
                found = TestProblem(problem=BROKEN_TEST, detail=detail, refused=True, test=test)
            self._problems[test] = found
        return self._problems.get(test)

    def recall_tests(self, problems: Iterable[TestProblem]) -> None:
        self._problems, self._all_rehearsed = {problem.test: problem for problem in problems}, True

    async def _rehearse(self, program: Program, limits: Limits, test: str) -> TestProblem | None:
        try:
            found = await self._sandbox().rehearse(program, limits)
        except SandboxRefusedError as error:
            raise self._refused(error) from None
        if not found.problem:
            return None
        return TestProblem(problem=found.problem, detail=found.detail, refused=found.refused, test=test)

    def _score(self, outcome: Outcome) -> float:
        return float(outcome.share == 1.0) if self._all_or_nothing else outcome.share

    def start_here(self) -> SandboxReport:
        """Start the sandbox before the first attempt: a host without confinement is reported before any model call."""
        sandbox = self._sandbox()
        try:
            sandbox.start_here()
        except SandboxRefusedError as error:
            raise self._refused(error) from None
        return sandbox.report

    async def aclose(self) -> None:
        """Release the shared sandbox; the last scorer to release it closes it."""
        if self._holds_sandbox:
            self._holds_sandbox = False
            await SHARED.release(self._wanted)

    def _sandbox(self) -> RunsPrograms:
        if not self._holds_sandbox:
            self._holds_sandbox = True
            SHARED.hold(self._wanted)
        return SHARED.sandbox(self._wanted)

    def _program(self, code: str, sample: Sample) -> Program:
        shape = self._shape or _shape_of(sample)
        try:
            return _BUILDERS[shape](self, code, sample)
        except KeyError as missing:
            raise self._unusable(f"sample `{sample.id}` has no extras.{missing.args[0]}, which {shape} needs") from None
        except (TypeError, ValueError) as error:
            raise self._unusable(f"sample `{sample.id}`: {error}") from None

    def _refused(self, error: SandboxRefusedError) -> FailureError:
        return FailureError(Failure(stage="sandbox", part=self.name, kind=REFUSED_HERE, message=str(error)))

    def _unusable(self, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind="bad_request", message=message))

    def _imports_of(self, sample: Sample) -> Imports:
        if "imports" not in sample.extras:
            return self._imports
        try:
            return read_imports(sample.extras["imports"])
        except ValueError as error:
            raise ValueError(f"extras.imports: {error}") from None

    def _limits_of(self, sample: Sample) -> Limits:
        seconds = sample.extras.get("cpu_seconds")
        return self._limits if seconds is None else msgspec.structs.replace(self._limits, cpu_seconds=float(seconds))

    def _expressions(self, code: str, sample: Sample) -> Program:
        prelude = str(sample.extras.get("prelude", ""))
        return Expressions(code=code, targets=sample.targets, prelude=prelude, imports=self._imports_of(sample))

    def _io_pairs(self, code: str, sample: Sample) -> Program:
        extras = sample.extras
        tolerance = extras.get("tolerance")
        function = str(extras.get("function", "f"))
        return IoPairs(
            code=_of_class(f"{extras.get('prelude', '')}{code}", extras.get("class_name"), function),
            pairs=tuple((given, expected) for given, expected in extras["io_pairs"]),
            function=function,
            star=bool(extras.get("star", self._star)),
            tolerance=None if tolerance is None else float(tolerance),
            imports=self._imports_of(sample),
        )

    def _stdout(self, code: str, sample: Sample) -> Program:
        stdin = sample.extras.get("stdin", "")
        given = tuple(map(str, stdin)) if isinstance(stdin, list | tuple) else str(stdin)
        return Stdout(
            code=f"{sample.extras.get('prelude', '')}{code}",
            stdin=given,
            expected=sample.targets,
            imports=self._imports_of(sample),
            lenient=bool(sample.extras.get("lenient_output", False)),
            all_or_nothing=self._all_or_nothing,
        )

    def _tests(self, code: str, sample: Sample) -> Program:
        extras = sample.extras
        tests = extras["tests"]
        entry = extras.get("entry_point", ())
        return TestProgram(
            code=code,
            tests="\n".join(map(str, tests)) if isinstance(tests, list | tuple) else str(tests),
            prelude=str(extras.get("prelude", "")),
            entry_points=(entry,) if isinstance(entry, str) else tuple(map(str, entry)),
            unsplittable=self._unsplittable,
            imports=self._imports_of(sample),
        )


def _undefined(program: Program, sample: Sample) -> str:
    """The name that no program knows that it has to define, in words; empty where the task declares the names."""
    declared = isinstance(program, TestProgram) and program.entry_points
    plan = None if declared else plan_of(program)
    return "" if plan is None else undefined_name(plan, sample.prompt, str(sample.extras.get("solution", "")))


def _of_class(code: str, class_name: object, function: str) -> str:
    """The code with a method of this class also available as a function of the same name."""
    if not isinstance(class_name, str) or f"class {class_name}" not in code:
        return code
    return f"{code}\n\n{function} = {class_name}().{function}\n"


_BUILDERS: dict[str, Callable[[CodeExec, str, Sample], Program]] = {
    "expressions": CodeExec._expressions,
    "io_pairs": CodeExec._io_pairs,
    "stdout": CodeExec._stdout,
    "tests": CodeExec._tests,
}


@describes(
    ScorerInfo(
        values=(share("score"), Value(name="outcome", kind="label", lower_is_better=None)),
        aggregates=(mean_of("score", name="code_exec"),),
        runs="sandbox",
    )
)
@part(
    "Runs the answer in the sandbox; the share of checks that hold.",
    example="""\
type: code_exec
function: double
io_pairs: "[[2, 4], [5, 10]]"
""",
    one_of=(("tests", "io_pairs", "expressions", "expected_stdout"),),
)
def code_exec(
    key: str,
    *,
    tests: Annotated[str | None, TemplateOption("Template of a test program.")] = None,
    entry_point: Annotated[
        str | None, TemplateOption("Template of the name of the function that `tests` calls.")
    ] = None,
    prelude: Annotated[str | None, TemplateOption("Template of code placed before the answer.")] = None,
    io_pairs: Annotated[str | None, TemplateOption("Template of a list of [input, result].")] = None,
    function: Annotated[
        str | None, TemplateOption("Template of the function that `io_pairs` call; `f` when absent.")
    ] = None,
    star: Annotated[bool, Doc("Whether each input is a list of arguments."), InFiles(None)] = False,
    expressions: Annotated[str | None, TemplateOption("Template of a list of expressions that must be true.")] = None,
    expected_stdout: Annotated[str | None, TemplateOption("Template of what the program must print.")] = None,
    stdin: Annotated[str | None, TemplateOption("Template of what it reads.")] = None,
    solution: Annotated[
        str | None, TemplateOption("Template of a program that passes, which `assay check` tries.")
    ] = None,
    value: LookedAt = None,
    post_process: Annotated[
        str,
        Words(tuple(catalog.CATALOG["post_process"]), kind="post_process"),
        Doc("What is extracted from the answer."),
        InFiles("extract_code_block"),
    ] = "none",
    cpu_seconds: Annotated[
        float, msgspec.Meta(gt=0), Doc("Seconds of CPU for one program."), InFiles(None)
    ] = Limits().cpu_seconds,
    memory_mb: Annotated[int, msgspec.Meta(ge=64), Doc("Memory for one program."), InFiles(None)] = Limits().memory_mb,
    min_tier: Annotated[str | None, Doc("The weakest sandbox that may run it.")] = None,
    all_or_nothing: Annotated[bool, Doc("1.0 when all checks hold, else 0.0, as pass@k wants.")] = False,
    imports: Annotated[
        Literal["any"] | Sequence[str], Doc("Modules to allow beyond the pure ones."), InFiles(None)
    ] = (),
    shape: str | None = None,
    unsplittable: Literal["refuse", "weak"] = "refuse",
    has_solver: bool = True,
    context: BuildContext = NO_CONTEXT,
) -> Scorer:
    """The catalog's `code_exec` scorer. Without a `shape` each sample's extras say which it is.

    The score is the share of checks that hold; with `all_or_nothing` it is 1.0 when all do, else 0.0, as pass@k wants.
    A program may import pure modules of the standard library (math, re, collections, …); `imports`, or a sample's
    `extras.imports`, is `any` or a list of further modules to allow. The sandbox confines it either way.
    A sample's `extras.cpu_seconds` is its own limit, `extras.prelude` stands before its program, `extras.class_name` is
    the class whose method `extras.function` is, and `extras.lenient_output` compares numbers in an output by value.

    For samples that are rows, templates say what is checked: `tests` (with `entry_point` and `prelude`), `io_pairs` (a
    list of [input, result], with `function`; with `star` each input is a list of arguments), `expressions` (a list), or
    `expected_stdout` (with `stdin`). `solution` is a program that passes, which `assay check` tries.
    """
    _refuse_unknown(post_process, shape, unsplittable)
    templates = {
        "tests": tests,
        "entry_point": entry_point,
        "prelude": prelude,
        "io_pairs": io_pairs,
        "function": function,
        "targets": expressions,
        "target": expected_stdout,
        "stdin": stdin,
    }
    scorer = CodeExec(
        key,
        rule=post_process,
        shape=shape or next((implied for name, implied in _SHAPE_OF.items() if templates[name] is not None), None),
        wanted=wanted_sandbox(context.sandbox, min_tier, context.min_sandbox),
        limits=_limits(cpu_seconds, memory_mb),
        unsplittable=unsplittable,
        all_or_nothing=all_or_nothing,
        imports=_allowed(imports),
        star=star,
    )
    return over_row(
        scorer, templates, context=context, value=value, lists=("io_pairs",), has_solver=has_solver, solution=solution
    )


def _limits(cpu_seconds: float, memory_mb: int) -> Limits:
    if not 0 < cpu_seconds <= MAX_CPU_SECONDS or not 64 <= memory_mb <= 1 << 20:
        raise UsageError(f"cpu_seconds must lie between 0 and {MAX_CPU_SECONDS}, memory_mb between 64 and 1048576")
    return Limits(cpu_seconds=float(cpu_seconds), memory_mb=int(memory_mb))


def _allowed(imports: str | Sequence[str]) -> Imports:
    try:
        return read_imports(imports)
    except ValueError as error:
        raise UsageError(f"imports: {error}") from None


def _refuse_unknown(post_process: str, shape: str | None, unsplittable: str) -> None:
    if post_process not in (known := catalog.names("post_process")):
        raise UsageError(f"post_process: unknown rule `{post_process}`; known are {', '.join(known)}")
    if shape is not None and shape not in SHAPES:
        raise UsageError(f"shape: unknown shape `{shape}`; known are {', '.join(SHAPES)}")
    if unsplittable not in ("refuse", "weak"):
        raise UsageError(f"unsplittable: is `{unsplittable}`; must be refuse or weak")


def _shape_of(sample: Sample) -> str:
    for shape in ("io_pairs", "tests", "stdout"):
        if shape in sample.extras:
            return shape
    return "stdout" if "stdin" in sample.extras else "expressions"


def _reason(outcome: Outcome) -> str | None:
    """The first check that does not hold, in a line."""
    for check in outcome.checks:
        if check.outcome != "pass":
            return f"{check.label}: {check.outcome}{': ' if check.detail else ''}{check.detail}"[:500]
    return None


def _metadata(outcome: Outcome) -> dict[str, Any]:
    checks = [
        {"check": check.label, "outcome": check.outcome, **({"detail": check.detail} if check.detail else {})}
        for check in outcome.checks[:CHECKS_KEPT]
    ]
    metadata: dict[str, Any] = {
        "checks": checks,
        "cpu_ms": round(outcome.cpu_ms, 1),
        "grade": outcome.grade,
        "tier": outcome.tier,
    }
    if len(outcome.checks) > CHECKS_KEPT:
        metadata["checks_omitted"] = len(outcome.checks) - CHECKS_KEPT
    if outcome.stderr:
        metadata["stderr"] = outcome.stderr
    return metadata
