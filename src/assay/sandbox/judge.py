"""Runs a program in its processes and decides, outside of them, which checks hold.

The trust rule: a pass needs a value that only the right computation yields, compared where no candidate code ran.
Exit codes, printed text and anything the candidate says about itself prove nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.errors import FailureError
from assay.sandbox import assertions
from assay.sandbox.assertions import Call, Plan
from assay.sandbox.clean_text import clean
from assay.sandbox.compare import same, show
from assay.sandbox.inside.values import MalformedError, ValueTooLargeError, encode
from assay.sandbox.programs import Check, Expressions, IoPairs, Limits, Outcome, Program, Stdout, TestProgram, summarize
from assay.sandbox.relay import verify
from assay.sandbox.script import judge_stdout
from assay.sandbox.session import CancelledRunError, ExhaustedError, Session
from assay.sandbox.trial import ProgramVerdict, Trial, attributed, malformed, unreadable, unusable
from assay.sandbox.zygote import Zygote, ZygoteError


def plan_of(program: Program) -> Plan | None:
    """Read the tests of a program, outside of any sandbox; `FailureError` when they are unusable.

    Call it in the caller's thread: silencing the parser's warnings changes a setting that threads share.
    """
    if isinstance(program, IoPairs):
        return _plan_of_pairs(program)
    if isinstance(program, Stdout):
        return None
    if isinstance(program, Expressions):
        plan, together = assertions.plan_expressions(program.targets, program.prelude), False
    else:
        together = program.unsplittable == "weak"
        plan = assertions.plan_tests(program.tests, program.prelude, program.entry_points)
    if not plan.sources and not plan.guards:
        raise unusable("there is nothing to check")
    if not plan.names:
        raise unusable(f"the tests never use a name of the candidate: {[*plan.labels, *plan.guards][0]}")
    plan = msgspec.structs.replace(plan, may_run_together=together)
    if plan.unsplittable() and not plan.may_run_together:
        raise unusable(
            f"{plan.unsplittable()}, so they cannot be separated from the candidate; "
            "`unsplittable: weak` runs them together and grades the outcome weak",
            kind="unsupported",
        )
    return plan


def _plan_of_pairs(program: IoPairs) -> Plan:
    if not program.pairs:
        raise unusable("io_pairs: there is no pair to check")
    calls = []
    for value, expected in program.pairs:
        if program.star and not isinstance(value, list | tuple):
            raise unusable("io_pairs: with star each input must be a list of arguments")
        arguments = tuple(value) if program.star else (value,)
        calls.append(Call(function=program.function, arguments=arguments, named={}, expected=expected))
    labels = tuple(f"{call.function}({', '.join(map(repr, call.arguments))})"[:120] for call in calls)
    return Plan(labels=labels, calls=tuple(calls), names=(program.function,))


def judge(program: Program, plan: Plan | None, limits: Limits, zygote: Zygote, wake: int) -> Outcome:
    """Run one program by its plan; `ZygoteError` when the sandbox broke, `BrokenUnderCandidateError` when it broke
    after the candidate had received its source."""
    if isinstance(program, Stdout) or plan is None:
        if not isinstance(program, Stdout):
            raise TypeError("only a program judged by its output goes without a plan")
        return judge_stdout(program, limits, zygote, wake)
    session = Session(zygote, limits, wake)
    with attributed(session), session:
        trial = Trial(session, limits, allowed_imports(program, plan))
        checks = _judge_plan(program, plan, trial)
        trial.close()
        return _outcome(checks, trial)


def allowed_imports(program: Program, plan: Plan) -> tuple[str, ...] | None:
    """Modules that the program may import, pure ones apart, including the imports of the author's prelude, which runs
    as part of it."""
    return None if program.imports is None else (*program.imports, *plan.prelude_imports)


def _judge_plan(program: Expressions | IoPairs | TestProgram, plan: Plan, trial: Trial) -> tuple[Check, ...]:
    """The checks of a plan. An error of our own code caused by a candidate's data is the candidate's outcome.

    A `FailureError` is raised again: the test alone causes it, never what a candidate sent.
    """
    try:
        return _judge_checks(program, plan, trial)
    except (ZygoteError, OSError, FailureError, CancelledRunError, ExhaustedError):
        raise
    except Exception as error:
        if not trial.session.exposed:
            raise
        verdict = unreadable(error)
        return tuple(Check(label=label, outcome=verdict[0], detail=verdict[1]) for label in plan.labels)


def _judge_checks(program: Expressions | IoPairs | TestProgram, plan: Plan, trial: Trial) -> tuple[Check, ...]:
    prelude = "" if isinstance(program, IoPairs) else program.prelude
    if plan.run_together():
        return _run_together(prelude, program.code, plan, trial)
    trouble = trial.load(prelude, program.code)
    if trouble is not None and trouble[0] == "runtime_error" and prelude.strip():
        verify(trial, msgspec.structs.replace(plan, names=(), sources=(), labels=()))  # is it the prelude's own fault?
    if plan.calls is not None:
        checks = _make_calls(trial, plan.calls, trouble, program)
        return _as_one(plan.labels[0], checks) if plan.whole else _relabel(checks, plan.labels)
    if trouble is not None:
        return tuple(Check(label=label, outcome=trouble[0], detail=trouble[1]) for label in plan.labels)
    try:
        return verify(trial, plan)
    except FailureError as unsplit:
        if not plan.may_run_together or unsplit.failure.kind != "unsupported":
            raise
        return _run_together(prelude, program.code, plan, trial)


def _relabel(checks: tuple[Check, ...], labels: Sequence[str]) -> tuple[Check, ...]:
    return tuple(
        Check(label=label, outcome=check.outcome, detail=check.detail)
        for label, check in zip(labels, checks, strict=True)
    )


def _as_one(label: str, checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """All or nothing: the first check that does not hold decides."""
    failed = next((check for check in checks if check.outcome != "pass"), None)
    if failed is None:
        return (Check(label=label, outcome="pass"),)
    return (Check(label=label, outcome=failed.outcome, detail=f"{failed.label}: {failed.detail}"),)


def _make_calls(
    trial: Trial, calls: Sequence[Call], trouble: ProgramVerdict | None, program: Program
) -> tuple[Check, ...]:
    """One call at a time; a call that ends the process ends the remaining checks too."""
    tolerance, strict = (program.tolerance, program.strict) if isinstance(program, IoPairs) else (None, True)
    checks = []
    for call in calls:
        label = f"{call.function}({', '.join(map(repr, call.arguments))})"[:120]
        if trouble is not None:
            checks.append(Check(label=label, outcome=trouble[0], detail=trouble[1]))
            continue
        verdict, ends = _make_call(trial, call, tolerance, strict)
        checks.append(Check(label=label, outcome=verdict[0], detail=verdict[1]))
        trouble = (verdict[0], f"not reached: {verdict[1]}") if ends else None
    if trial.candidate.replies and trouble is None:
        detail = "the reply pipe carried a surplus reply"
        return tuple(Check(label=check.label, outcome="violation", detail=detail) for check in checks)
    return tuple(checks)


def _make_call(trial: Trial, call: Call, tolerance: float | None, strict: bool) -> tuple[ProgramVerdict, bool]:
    """The verdict on one call, and whether the candidate can be called no more."""
    try:
        arguments = [encode(argument) for argument in call.arguments]
        named = {name: encode(value) for name, value in call.named.items()}
        expected = encode(call.expected)
    except ValueTooLargeError as error:
        raise unusable(f"{call.function}: an argument or expected value: {error}") from None
    reply = trial.ask({"op": "call", "name": call.function, "args": arguments, "kwargs": named})
    if isinstance(reply, tuple):
        return reply, True
    if "value" not in reply:
        return trial.trouble(reply), False
    try:
        actual = trial.read(reply["value"])
    except MalformedError as error:
        return malformed(error), True
    if same(expected, actual, tolerance=tolerance, strict=strict):
        return ("pass", ""), False
    return ("wrong", clean(f"expected {show(expected)}, got {show(actual)}", 500)), False


def _run_together(prelude: str, code: str, plan: Plan, trial: Trial) -> tuple[Check, ...]:
    """Run candidate and tests in one process, where the candidate can forge the result: graded weak."""
    trial.grade = "weak"
    trial.session.end(trial.candidate)
    trial.candidate = trial.session.start("candidate")
    trouble = trial.load(prelude, code)
    checks = []
    for label, source in zip(plan.labels, plan.sources, strict=True):
        if trouble is None:
            wrapped = f"{plan.setup}\n{source}" if plan.mode == "statements" else f"assert ({source})"
            reply = trial.ask({"op": "together", "source": wrapped})
            trouble = reply if isinstance(reply, tuple) else None
            verdict = reply if isinstance(reply, tuple) else _together_verdict(trial, reply)
        else:
            verdict = (trouble[0], f"not reached: {trouble[1]}")
        checks.append(Check(label=label, outcome=verdict[0], detail=verdict[1]))
    return tuple(checks)


def _together_verdict(trial: Trial, reply: dict[str, Any]) -> ProgramVerdict:
    if reply.get("ran") is True:
        return "pass", ""
    outcome, detail = trial.trouble(reply)
    types = reply.get("error", {}).get("types") if isinstance(reply.get("error"), dict) else None
    return ("wrong" if isinstance(types, list) and "AssertionError" in types else outcome), detail


def _outcome(checks: tuple[Check, ...], trial: Trial) -> Outcome:
    name, share = summarize(checks)
    children = trial.session.children
    return Outcome(
        outcome=name,
        checks=checks,
        share=share,
        stdout=clean(bytes(trial.candidate.output["stdout"])),
        stderr=clean(bytes(trial.candidate.output["stderr"])),
        cpu_ms=sum(child.ended.cpu_seconds for child in children if child.ended) * 1000,
        wall_ms=trial.wall_ms,
        grade=trial.grade,
        tier=trial.session.zygote.plan["name"],
    )
