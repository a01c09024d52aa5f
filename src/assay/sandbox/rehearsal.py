"""Tries a test on made-up programs before any candidate is judged by it: can it run, and does it prove anything?

Three programs stand for all: functions that return None, functions that raise, and none at all. A test that breaks
before it has used the program cannot run; one that passes for all three proves nothing. Both are facts about the test,
and are decided here and only here: whatever a real candidate does to a test afterwards is that candidate's outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.core.errors import FailureError
from assay.sandbox.assertions import Plan, completed
from assay.sandbox.clean_text import clean
from assay.sandbox.inside.imports import REFUSAL
from assay.sandbox.judge import allowed_imports
from assay.sandbox.programs import BROKEN_TEST, Expressions, IoPairs, Limits, Program, Stdout, TestProgram
from assay.sandbox.relay import ENDED_ITSELF, start_relay
from assay.sandbox.script import judge_stdout, prints_nothing, runs_of
from assay.sandbox.session import Session
from assay.sandbox.trial import ProgramVerdict, Trial, attributed
from assay.sandbox.zygote import Zygote, ZygoteError

PROVES_NOTHING = "test_proves_nothing"
ACCEPTS_NONE = "test_accepts_none"
IDLE_CHECK = "check_without_program"
MOST_CPU_SECONDS = 1.0
"""For a made-up program, which does nothing; a test that runs out of time by itself gets what a real one gets."""
CALLED = "assay: a made-up program was called"
_OWN_FAULTS = {"ImportError", "ModuleNotFoundError", "NameError", "OSError", "FileNotFoundError", "PermissionError"}
"""What a test raises for its own faults where it shares a process with the program, which cannot be watched there."""


_BEFORE_A_CALL = "before it had called the program"


class Rehearsal(Struct, frozen=True, kw_only=True):
    """What the made-up programs show about one test."""

    problem: str = ""
    """Empty for none, one of two kinds of remarks, otherwise why the test cannot judge: a failure kind."""
    detail: str = ""

    @property
    def refused(self) -> bool:
        """Whether the test judges no program: every attempt at it is a failure, whatever the program does."""
        return self.problem not in ("", ACCEPTS_NONE, IDLE_CHECK)


SOUND = Rehearsal()
_ACCEPTS_NONE = Rehearsal(problem=ACCEPTS_NONE, detail="a function that does nothing and returns None passes")
_PROVES_NOTHING = Rehearsal(
    problem=PROVES_NOTHING, detail="passes whether the function returns None, raises or does not exist"
)
_PRINTS_NOTHING = Rehearsal(problem=ACCEPTS_NONE, detail="a program that prints nothing passes")


def rehearse(program: Program, plan: Plan | None, limits: Limits, zygote: Zygote, wake: int) -> Rehearsal:
    """Try the test of a program whose own code is empty, apart from what the task puts before every program."""
    little = msgspec.structs.replace(limits, cpu_seconds=min(limits.cpu_seconds, MOST_CPU_SECONDS))
    try:
        if isinstance(program, Stdout):
            return _rehearse_output(program, little, zygote, wake)
        if plan is None:
            raise TypeError("only a program judged by its output goes without a plan")
        found = _Rehearsing(program, plan, little, zygote, wake).result()
        if found.detail.endswith(_BEFORE_A_CALL) and little != limits:
            found = _Rehearsing(program, plan, limits, zygote, wake).result()
        return found
    except FailureError as error:
        return refusal(error)


def version_of_rules() -> str:
    """Identifies the code that rehearses: what another version found has to be found out again."""
    here = Path(__file__).parent
    content = b"\0".join(path.read_bytes() for path in sorted([*here.glob("*.py"), *here.glob("inside/*.py")]))
    return blake2b(content, digest_size=16).hexdigest()


def refusal(error: FailureError) -> Rehearsal:
    """What it means that the harness refuses a test itself; a sandbox that broke says nothing about the test."""
    failure = error.failure
    return SOUND if failure.retryable else Rehearsal(problem=failure.kind, detail=failure.message)


def _rehearse_output(program: Stdout, limits: Limits, zygote: Zygote, wake: int) -> Rehearsal:
    runs = runs_of(program)
    if not program.code.strip():
        return _PRINTS_NOTHING if all(any(map(prints_nothing, expected)) for _, expected in runs) else SOUND
    try:
        code = completed(program.code)
    except FailureError:
        return SOUND  # a text that only the program completes
    outcome = judge_stdout(msgspec.structs.replace(program, code=code, all_or_nothing=True), limits, zygote, wake)
    if outcome.outcome == "pass":
        return _PRINTS_NOTHING
    return _prelude_fault((outcome.outcome, outcome.checks[0].detail)) or SOUND


def _prelude_fault(trouble: ProgramVerdict | None) -> Rehearsal | None:
    if trouble is None or not (trouble[0] in ("runtime_error", "syntax_error") or REFUSAL in trouble[1]):
        return None
    return Rehearsal(problem=BROKEN_TEST, detail=f"the prelude does not run: {trouble[1]}")


def _ended_early(why: str) -> Rehearsal:
    return Rehearsal(problem=BROKEN_TEST, detail=f"{why} {_BEFORE_A_CALL}")


def _broken_check(report: dict[str, Any], lines: Sequence[int]) -> Rehearsal:
    """The first of `lines`, if there are any, is where the check begins."""
    detail = str(report["detail"])
    where = f"line {lines[0]}: " if lines else ""
    detail = detail.removeprefix("line 1: ") if where else detail
    return Rehearsal(problem=BROKEN_TEST, detail=clean(f"{where}{detail}", 500))


class _Rehearsing:
    """One test that calls functions, and the made-up programs it is tried on."""

    def __init__(
        self, program: Expressions | IoPairs | TestProgram, plan: Plan, limits: Limits, zygote: Zygote, wake: int
    ) -> None:
        self.program, self.plan, self.limits = program, plan, limits
        self.zygote, self.wake = zygote, wake
        given = program.code if isinstance(program, IoPairs) else program.prelude
        self.prelude = given if not given.strip() else completed(given)

    def result(self) -> Rehearsal:
        """What is wrong with the test, else the remark on what it checks without the program."""
        found = (self.fault_of_guards() if self.plan.guards else None) or self.fault()
        if found.problem or not self.plan.guards:
            return found
        first = self.plan.guards[0]
        more = f" (and {len(self.plan.guards) - 1} more)" if len(self.plan.guards) > 1 else ""
        return Rehearsal(
            problem=IDLE_CHECK, detail=clean(f"`{first}`{more} does not use the program: it counts for no marks", 500)
        )

    def fault_of_guards(self) -> Rehearsal | None:
        """Checks that name nothing of the program have to hold without one."""
        plan = msgspec.structs.replace(
            self.plan, names=(), sources=self.plan.guards, guards=(), mode="statements", lines=self.plan.lines_of_guards
        )
        with self.trial() as trial:
            relay = start_relay(trial, plan)
            try:
                relay.run()
            except ZygoteError:
                if not relay.gone:
                    raise
        if relay.gone:
            return _ended_early(relay.gone)
        failed = (number for number, report in enumerate(relay.reports) if report["outcome"] != "pass")
        number = next(failed, None)
        return None if number is None else _broken_check(relay.reports[number], plan.lines[number:])

    def fault(self) -> Rehearsal:
        if self.plan.calls is not None and not self.plan.run_together():
            return self.plain_calls()
        passes, found = self.attempt(self.returning_none(), first=True)
        found = found or self.fault_after_answers()
        if found is not None:
            return found
        # a test that does not pass for None can neither pass for all three nor for None alone
        if not passes:
            return SOUND
        others = [self.attempt(made_up, first=False)[0] for made_up in (self.raising(), self.missing())]
        if all(others):
            return _PROVES_NOTHING
        return _ACCEPTS_NONE if not any(others) else SOUND

    def fault_after_answers(self) -> Rehearsal | None:
        """What breaks in the test even when every answer is right: judging by it would fail every program."""
        with self.trial() as trial:
            relay = start_relay(trial, self.plan, agreeing=True)
            try:
                relay.run()
            except ZygoteError:
                if not relay.gone.startswith(ENDED_ITSELF):
                    raise
                return Rehearsal(problem=BROKEN_TEST, detail=f"{relay.gone}, which is no verdict")
            except FailureError:
                return None  # its prelude, which the made-up program that returns None has shown
        failed = (number for number, report in enumerate(relay.reports) if report["outcome"] != "pass")
        number = next(failed, None)
        return None if number is None else _broken_check(relay.reports[number], self.plan.lines[number:])

    def plain_calls(self) -> Rehearsal:
        """Calls with values are made by the harness: imports and the prelude can break, and only None equals None."""
        if self.plan.needs.imports:
            self.look_for_imports()
        calls = self.plan.calls or ()
        if self.prelude.strip():
            with self.trial() as trial:
                fault = _prelude_fault(trial.load(self.prelude, self.returning_none()))
            if fault is not None:
                return fault
        return _ACCEPTS_NONE if all(call.expected is None for call in calls) else SOUND

    def look_for_imports(self) -> None:
        """`FailureError` for an import that fails: no call uses it, and yet the test does not run as it is written."""
        plan = msgspec.structs.replace(self.plan, names=(), setup="", sources=(), guards=())
        with self.trial() as trial:
            start_relay(trial, plan, self.plan.needs).run()

    def returning_none(self) -> str:
        return self.functions("return None")

    def raising(self) -> str:
        return self.functions("raise Exception('made up')")

    def missing(self) -> str:
        """No such names; where the test hands the function on, one that is missing when it is used."""
        if self.plan.hands_over:
            return self.functions("raise NameError('made up')")
        return f"for name in {list(self.plan.names)!r}:\n    globals().pop(name, None)\n"

    def functions(self, body: str) -> str:
        watched = f"print({CALLED!r}, flush=True); " if self.plan.run_together() else ""
        return "".join(f"def {name}(*args, **kwargs): {watched}{body}\n" for name in self.plan.names)

    def attempt(self, made_up: str, *, first: bool) -> tuple[bool, Rehearsal | None]:
        """Whether the test passes for this program; for the first one, also what that shows about the test."""
        with self.trial() as trial:
            trouble = trial.load(self.prelude, made_up)
            if trouble is not None:
                return False, _prelude_fault(trouble)
            if self.plan.run_together():
                return self.together(trial)
            relay = start_relay(trial, self.plan, self.plan.needs if first else None)
            try:
                relay.run()
            except FailureError as error:
                if error.failure.kind != "unsupported" or not self.plan.may_run_together:
                    raise
                return False, None  # it will be run together with the program, and is not decided here
            except ZygoteError:
                if relay.asked or not relay.gone:
                    raise
        if relay.gone and not relay.asked:
            return False, _ended_early(relay.gone)
        passes = len(relay.reports) == relay.count and all(report["outcome"] == "pass" for report in relay.reports)
        return passes, self.first_fault(relay.reports) if first else None

    def first_fault(self, reports: Sequence[dict[str, Any]]) -> Rehearsal | None:
        """A check that ended without having used the program ends so for every program."""
        for number, report in enumerate(reports):
            detail = str(report["detail"])
            if report["used"] or "Handle" in detail or self.is_about_data(number):
                continue
            if report["outcome"] == "pass":
                return self.never_asks(number)
            return _broken_check(report, self.plan.lines[number:])
        return None

    def never_asks(self, check: int) -> Rehearsal:
        if self.plan.whole and self.plan.uncalled:
            what = f"defines tests that nothing calls: {', '.join(self.plan.uncalled)}"
            return Rehearsal(problem=PROVES_NOTHING, detail=clean(what, 500))
        which = "" if self.plan.whole else f"`{self.plan.labels[check]}` "
        what = f"{which}never uses the program: what it checks holds for every program"
        return Rehearsal(problem=PROVES_NOTHING, detail=clean(what, 500))

    def is_about_data(self, check: int) -> bool:
        """Whether a check reads a name without calling it: a constant of the program, which no function stands for."""
        return not self.plan.hands_over and self.plan.mentions(check, self.plan.names, called=False)

    def together(self, trial: Trial) -> tuple[bool, Rehearsal | None]:
        """The test and the made-up program in one process, where only the test's own kinds of faults tell."""
        passes, fault = True, ""
        for source in self.plan.sources:
            wrapped = f"{self.plan.setup}\n{source}" if self.plan.mode == "statements" else f"assert ({source})"
            reply = trial.ask({"op": "together", "source": wrapped})
            if isinstance(reply, tuple):
                called = CALLED.encode() in trial.candidate.output["stdout"]
                return False, None if called else _ended_early(f"the test ended: {reply[1]},")
            passes = passes and reply.get("ran") is True
            types = [] if reply.get("ran") is True else reply.get("error", {}).get("types", [])
            fault = fault or (trial.trouble(reply)[1] if set(types) & _OWN_FAULTS else "")
        trial.close()
        called = CALLED.encode() in trial.candidate.output["stdout"]
        return passes, Rehearsal(problem=BROKEN_TEST, detail=fault) if fault and not called else None

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        session = Session(self.zygote, self.limits, self.wake)
        with attributed(session), session:
            yield Trial(session, self.limits, allowed_imports(self.program, self.plan))
